// What the request says reaches the container byte for byte: through planning's quoting, real bash and
// the argument list of docker run.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildStartupScript } from '#shared/plan/startup-script.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { INSTANCE, makeIntent, SCRIPTS } from '#test/guest/intent.ts';
import { runBash } from '#test/guest/run-bash.ts';
import { PIECES } from '#test/guest/sources.ts';

const LISTS_PER_BASH = 250;
const BASHES = 40;
const IMAGE = 'busybox';
const BLANKS = /# --- blanks: [\s\S]*?# --- end of blanks ---\n/.exec(SCRIPTS.startup)?.[0] ?? '';

const HOSTILE = [
  ...['', ' ', '-m', '--', '--x=-1', 'a,b', '"quoted"', "it's", "''", "'\\''", '$HOME', '$(id)'],
  ...[
    '`id`',
    '\\',
    '\\\\',
    '\\n',
    '\n',
    '\n\n',
    '\r\n',
    '\t',
    '*',
    '?',
    '[a]',
    '~',
    '#',
    '!',
    '!!',
  ],
  ...['&', ';', '|', '<', '>', '(', ')', '{a,b}', '%s', '%', '\u0001', '\u001b[31m', '\u007f', 'é'],
  ...['αβ "x" $y', '😀', '\u202e', '\ufeff', '\uffff', '"$(touch /tmp/x)"', 'a\u2028b', 'EOF'],
];

interface Words {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Runs the container's start with `docker` recording its arguments, many lists a bash process. */
function argumentLists(lists: readonly Words[]): string[][] {
  const starts = lists.map(({ args, env }) =>
    buildStartupScript(
      {
        ...makeIntent({ request: { image: IMAGE, args, env } }),
        // Real blanks, and in place of the rest the two functions that use them; nothing forks.
        scripts: { ...SCRIPTS, startup: `${BLANKS}make_environment\nrun_container\n` },
      },
      { instanceName: INSTANCE, threads: 1, gpuCount: 0, localSsdCount: 0 },
    ),
  );
  const script = [
    'set -euo pipefail',
    'DEADLINE= SECRET_EXPORTS= MOUNTS=(--mount x)',
    readFileSync(join(PIECES, 'container.sh'), 'utf8'),
    `docker() { printf '%s\\0' "$#" "$@"; }`,
    'bounded() { shift && "$@"; }',
    ...starts,
  ].join('\n');
  return splitCounted(runBash(script).split('\0'));
}

/** `3 a b c 1 d` → [[a, b, c], [d]]. */
function splitCounted(words: readonly string[]): string[][] {
  const lists: string[][] = [];
  for (let at = 0; at + 1 < words.length; ) {
    const count = Number(words[at]);
    lists.push(words.slice(at + 1, at + 1 + count));
    at += 1 + count;
  }
  return lists;
}

/** The request's own variables: they follow our thirteen. */
const pairsOf = (call: readonly string[]) =>
  call.flatMap((word, index) => (call[index - 1] === '--env' ? [word] : [])).slice(13);

function expectWords(call: readonly string[], { args, env }: Words): void {
  expect(call.slice(call.indexOf(IMAGE) + 1)).toEqual(args);
  expect(pairsOf(call)).toEqual(Object.entries(env).map(([name, value]) => `${name}=${value}`));
}

test('A37: 10,000 random hostile argument and environment lists reach docker byte for byte', {
  timeout: 180_000,
}, () => {
  const text = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ unit: 'binary', maxLength: 8 }).map((value) => value.replaceAll('\0', "'")),
    fc.array(fc.constantFrom(...HOSTILE), { maxLength: 4 }).map((parts) => parts.join('')),
  );
  const words = fc.record({
    args: fc.array(text, { maxLength: 6 }),
    env: fc.dictionary(fc.constantFrom('A', 'b', '_C', 'D1', 'PATH', 'IFS'), text, { maxKeys: 4 }),
  });
  const lists = fc.array(words, { minLength: LISTS_PER_BASH, maxLength: LISTS_PER_BASH });
  fc.assert(
    fc.property(lists, (batch) => {
      const calls = argumentLists(batch);
      expect(calls).toHaveLength(batch.length);
      for (const [index, call] of calls.entries()) {
        expectWords(call, batch[index] ?? { args: [], env: {} });
      }
    }),
    { numRuns: BASHES, seed: 20_261_201, endOnFailure: true },
  );
});

test('A37: every hostile argument reaches the container through the whole script', async () => {
  await using machine = await GuestMachine.create({ request: { image: IMAGE, args: HOSTILE } });
  await machine.run();
  const [call = []] = machine.dockerCalls('run');
  expect(call.slice(call.indexOf(IMAGE) + 1)).toEqual(HOSTILE);
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
});

test('P08: arguments that begin with a dash or carry quotes and commas arrive as these eight', () => {
  const args = ['-m', 'job.main', '--x=-1', 'a,b', '--', '"quoted"', '', "it's"];
  const [call = []] = argumentLists([{ args, env: {} }]);
  expect(call.slice(-9)).toEqual([IMAGE, ...args]);
});

test('P09: environment values that are empty or hold spaces, colons and equals signs arrive whole', () => {
  const env = { EMPTY: '', T: 'a b  c', URL: 'http://h:80/?a=b&c=d==', P: 'C:\\x' };
  const [call = []] = argumentLists([{ args: [], env }]);
  expect(pairsOf(call)).toEqual([
    ...['EMPTY=', 'T=a b  c', 'URL=http://h:80/?a=b&c=d==', 'P=C:\\x'],
  ]);
});
