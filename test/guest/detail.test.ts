// The detail of a report: the true last words of the container or of the step, as valid JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { runBash } from '#test/guest/run-bash.ts';
import { PIECES } from '#test/guest/sources.ts';

const HOSTILE = '\\x1b\\x5b\\x33\\x31\\x6d\\xff\\xfe\\xc3\\x22\\x5c\\x09\\x00';
const HOSTILE_TEXT = new TextDecoder().decode(
  Uint8Array.of(0x1b, 0x5b, 0x33, 0x31, 0x6d, 0xff, 0xfe, 0xc3, 0x22, 0x5c, 0x09, 0x00),
);
const CHARACTERS_MAX = 800;

/** Runs bash with the pieces that make details. */
function runPieces(script: string): string {
  const pieces = ['text.sh', 'end.sh'].map((name) => readFileSync(join(PIECES, name), 'utf8'));
  return runBash(`export LC_ALL=C\n${pieces.join('\n')}\n${script}`).trimEnd();
}

/** What the script makes of each input; `od` is played, so that many inputs go through one bash. */
function textsOf(inputs: readonly Uint8Array[]): string[] {
  const calls = inputs.map(
    (bytes) => `LIST='${[...bytes].join(' ')}'; bytes_to_json ${CHARACTERS_MAX}; echo "$JSON"`,
  );
  return runPieces(`od() { echo "$LIST"; }\n${calls.join('\n')}`)
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The same by the platform's own decoder. */
function expectedText(bytes: Uint8Array): string {
  const kept = Buffer.from(Buffer.from(bytes).toString('latin1').replace(/\n+$/, ''), 'latin1');
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(kept);
  // Half a surrogate pair is no character.
  return text.slice(-CHARACTERS_MAX).replace(/^[\udc00-\udfff]/, '');
}

test('D5: a detail is what the platform decodes from its bytes, whatever they are', () => {
  const fragment = fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc
      .constantFrom('\t', '\u001b[31m', '\u0007', '"', '\\', '\n', 'é', '€', '😀', '\uffff')
      .map((text) => Buffer.from(text)),
    fc
      .constantFrom(
        [0xed, 0xa0, 0x80],
        [0xf0, 0x8f],
        [0xe0, 0x9f, 0x80],
        [0xf4, 0x90],
        [0xc0, 0x80],
        [0xf1, 0x80, 0x80],
      )
      .map((bytes) => Uint8Array.from(bytes)),
    fc.constantFrom('plain words ').map((text) => Buffer.from(text)),
  );
  const bytes = fc.array(fragment, { maxLength: 40 }).map((parts) => Buffer.concat(parts));
  fc.assert(
    fc.property(fc.array(bytes, { minLength: 50, maxLength: 50 }), (inputs) => {
      expect(textsOf(inputs)).toEqual(inputs.map(expectedText));
    }),
    { numRuns: 5, seed: 20_261_201, endOnFailure: true },
  );
});

test('A51: the detail is the last 25 lines and at most 800 characters, the last ones', () => {
  const printLast = 'last_of; echo "$JSON"';
  const lines = runPieces(`seq 40 | { ${printLast}; }`);
  const end = runPieces(
    `{ head -c 3000 /dev/zero | tr '\\0' x; echo 'the end'; } | { ${printLast}; }`,
  );
  const last25 = Array.from({ length: 25 }, (_, index) => String(16 + index));
  expect(JSON.parse(lines)).toBe(last25.join('\n'));
  expect(JSON.parse(end)).toBe(`${'x'.repeat(793)}the end`);
});

test.each([
  { name: 'ends with 3', container: 'exit 3', request: {}, cause: 'exit' },
  {
    name: 'is over its time',
    container: 'while :; do sleep 0.05; done',
    request: { timeoutSeconds: 2 },
    cause: 'timeout',
  },
])(
  'A51: a container that $name without a word has an empty detail, not the words of our steps',
  async ({ container, request, cause }) => {
    await using machine = await GuestMachine.create({
      container,
      request,
      guest: { stopGraceSeconds: 1 },
    });
    await machine.run();
    expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause, detail: '' });
  },
);

test('D33: quotes, backslashes, tabs and line ends survive in the detail', async () => {
  await using machine = await GuestMachine.create({
    container: `printf '%s\\n' 'say "x"' 'C:\\dir' $'tab\\there\\r'; exit 1`,
  });
  await machine.run();
  expect(machine.lastMarker().detail).toBe('say "x"\nC:\\dir\ntab\there\r');
});

for (const [code, status] of [
  [0, 'SUCCEEDED'],
  [3, 'FAILED'],
] as const) {
  test(`P57: colour codes, stray bytes and NUL in the last line leave a valid marker at exit ${code}`, async () => {
    await using machine = await GuestMachine.create({
      container: `echo before; printf '${HOSTILE}'; exit ${code}`,
    });
    await machine.run();
    const marker = machine.lastMarker();
    expect(marker).toMatchObject({ status, exit_code: code });
    expect(marker.detail).toBe(`before\n${HOSTILE_TEXT}`);
  });
}

test('P57: an emoji that the length limit would cut is left out whole', async () => {
  await using machine = await GuestMachine.create({
    container: `printf '😀%.0s' {1..500}; printf 'y'; exit 1`,
  });
  await machine.run();
  expect(machine.lastMarker().detail).toBe(`${'😀'.repeat(399)}y`);
});

test('D6: of long lines the end is kept, where the cause stands', async () => {
  await using machine = await GuestMachine.create({
    container: `for i in {1..40}; do printf 'progress %d %0200d\\n' "$i" 0; done; echo 'ValueError: the cause' >&2; exit 1`,
  });
  await machine.run();
  const { detail } = machine.lastMarker();
  expect(detail.endsWith('ValueError: the cause')).toBe(true);
  expect(detail).toHaveLength(CHARACTERS_MAX);
});

test('D6: not a word of log-in and pull stands in the detail of a container that ended', async () => {
  await using machine = await GuestMachine.create({
    container: "echo 'ValueError: the cause' >&2; exit 1",
  });
  machine.plan('login.sh', 'echo "Login Succeeded noise"');
  machine.plan('pull.sh', 'echo "pull noise"');
  await machine.run();
  expect(machine.lastMarker().detail).toBe('ValueError: the cause');
});

test('A59: standard output and standard error of the container are both in its log', async () => {
  await using machine = await GuestMachine.create({ container: 'echo out; echo err >&2' });
  await machine.run();
  expect(machine.google.objects.get(machine.log)?.bytes.toString()).toBe('out\nerr\n');
});

test('P41: a line of 200,000 characters neither reaches the runner nor ends the script', async () => {
  await using machine = await GuestMachine.create({
    container: `head -c 200000 /dev/zero | tr '\\0' x; echo; exit 0`,
  });
  machine.plan('pull.sh', 'printf "progress\\r%.0s" {1..20000}');
  const { output } = await machine.run();
  expect(output).toHaveLength(0);
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', detail: 'x'.repeat(800) });
  expect(machine.google.objects.get(machine.log)?.bytes).toHaveLength(65_536);
});

test('D31: the log object is rewritten while the container runs, and holds the end when it is over', async () => {
  await using machine = await GuestMachine.create({
    guest: { heartbeatSeconds: 1 },
    container: 'echo early; until [[ -e "$STUB/go" ]]; do sleep 0.02; done; echo late',
  });
  const started = machine.start();
  const logs = () => machine.google.written.filter(({ name }) => name === machine.log);
  await machine.until(() => logs().filter(({ bytes }) => `${bytes}` === 'early\n').length >= 2);
  machine.plan('go', '');
  await started.exit;
  expect(logs().at(-1)?.bytes.toString()).toBe('early\nlate\n');
});
