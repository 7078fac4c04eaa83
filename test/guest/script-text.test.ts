// The assembled scripts as text: bash, clean for ShellCheck, small, and nothing of a request runs in them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { buildShutdownScript, buildStartupScript } from '#shared/plan/startup-script.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { everything, INSTANCE, makeIntent } from '#test/guest/intent.ts';
import { GUEST_FOLDER, PIECES } from '#test/guest/sources.ts';
import { isRequired } from '#test/required.ts';

const SCRIPT_BYTES_MAX = 24 * 1024;
const FACTS = { instanceName: INSTANCE, threads: 4, gpuCount: 0, localSsdCount: 0 };
const HOSTILE = {
  args: ["'; id; '", '$(id)', '`id`'],
  inputs: { "/a'$(id)": 'gs://b/`id`.csv' },
  outputs: { '/o': 'gs://b/$(id)/' },
  package: { uri: 'gs://b/`id`.tar.gz', sha256: 'ab'.repeat(32) },
};
const input = { path: "/a'$(id)", bucket: 'b', object: '`id`.csv', generation: '1', bytes: 1 };
const VARIANTS = (['cos', 'deep-learning'] as const).flatMap((bootImage) =>
  [0, 2].map((gpuCount) => ({
    title: `${bootImage}, ${gpuCount} GPUs`,
    script: buildStartupScript(makeIntent(everything(bootImage)), { ...FACTS, gpuCount }),
  })),
);
const OTHERS = [
  { title: 'least', script: buildStartupScript(makeIntent(), FACTS) },
  {
    title: 'hostile',
    script: buildStartupScript(makeIntent({ request: HOSTILE, inputs: [input] }), FACTS),
  },
  { title: 'shutdown', script: buildShutdownScript(makeIntent(), FACTS) },
];

/** The script as bash gets to see it: what is packed in its place. By the way that its header tells. */
function unpack(script: string): string {
  const command = script.split('\n')[2]?.replace(/^# /, '').replace(' THIS ', ' ') ?? '';
  const { stdout } = spawnSync('bash', ['-c', command], { input: script, encoding: 'utf8' });
  return script.slice(0, script.indexOf('SCRIPT=$(')) + stdout;
}

const hasShellCheck = spawnSync('shellcheck', ['--version']).status === 0;

describe.skipIf(!hasShellCheck && !isRequired('shellcheck'))(
  `ShellCheck${hasShellCheck ? '' : ' (skipped: no shellcheck)'}`,
  () => {
    test('finds nothing in the sources', () => {
      const options = ['--external-sources', '--source-path=SCRIPTDIR'];
      const { stdout } = spawnSync('shellcheck', [...options, 'startup.sh', 'shutdown.sh'], {
        cwd: GUEST_FOLDER,
        encoding: 'utf8',
      });
      expect(stdout).toBe('');
    });

    test('B95: makes no exception in the sources', () => {
      const { stdout } = spawnSync('grep', ['-rn', 'shellcheck disable', GUEST_FOLDER]);
      expect(String(stdout)).toBe('');
    });

    test.for(VARIANTS)('finds nothing in the script for $title', ({ script }) => {
      const { stdout } = spawnSync('shellcheck', ['-'], {
        input: unpack(script),
        encoding: 'utf8',
      });
      expect(stdout).toBe('');
    });
  },
);

test.for([...VARIANTS, ...OTHERS])('B86: bash parses the script for $title', ({ script }) => {
  for (const text of [script, unpack(script)]) {
    const { stderr, status } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  }
});

test('the header tells how the packed part is read: it is the sources, without their comments', () => {
  const whole = unpack(buildStartupScript(makeIntent(), FACTS));
  const source = readFileSync(join(PIECES, 'end.sh'), 'utf8');
  const code = source.split('\n').filter((line) => !/^\s*(#|$)/.test(line));
  expect(code.length).toBeGreaterThan(50);
  expect(whole).toContain(code.join('\n'));
});

test('D36: the scripts are bash and say so', () => {
  for (const { script } of [...VARIANTS, ...OTHERS]) {
    expect(script.startsWith('#!/bin/bash\n# bash, not plain sh.')).toBe(true);
  }
});

test.for([...VARIANTS, ...OTHERS])('the script for $title is below 24 KiB', ({ script }) => {
  expect(Buffer.byteLength(script)).toBeLessThan(SCRIPT_BYTES_MAX);
});

test('P106: object names, paths and arguments are data in the script: nothing of them runs', async () => {
  await using machine = await GuestMachine.create({
    request: { ...HOSTILE, package: null },
    inputs: [{ ...input, generation: '1002' }],
    container: 'echo x >"$WORK/outputs/0/y"',
  });
  machine.installText('id', ': >"$STUB/id-was-run"');
  machine.google.put('b/`id`.csv', '1');
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(() => machine.read('id-was-run')).toThrow('ENOENT');
  expect(machine.google.objects.has('b/$(id)/y')).toBe(true);
});
