// The assembled scripts as text: bash, clean for ShellCheck, small, and nothing of a request runs in them.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildShutdownScript, buildStartupScript } from '#shared/plan/startup-script.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { INSTANCE, makeIntent } from '#test/guest/intent.ts';

const SCRIPT_BYTES_MAX = 24 * 1024;
const FACTS = { instanceName: INSTANCE, threads: 4, gpuCount: 0, localSsdCount: 0 };
const GUEST_FOLDER = join(import.meta.dirname, '../../shared/guest');
const HOSTILE = {
  args: ["'; id; '", '$(id)', '`id`'],
  inputs: { "/a'$(id)": 'gs://b/`id`.csv' },
  outputs: { '/o': 'gs://b/$(id)/' },
  package: { uri: 'gs://b/`id`.tar.gz', sha256: 'ab'.repeat(32) },
};
const input = { path: "/a'$(id)", bucket: 'b', object: '`id`.csv', generation: '1', bytes: 1 };
const intents = [makeIntent(), makeIntent({ request: HOSTILE, inputs: [input] })];
const scripts = intents.flatMap((intent) => [
  buildStartupScript(intent, FACTS),
  buildShutdownScript(intent, FACTS),
]);

const hasShellCheck = spawnSync('shellcheck', ['--version']).status === 0;
const isRequired = (process.env.MAYFLY_TEST_REQUIRE ?? '').split(',').includes('shellcheck');

test.skipIf(!hasShellCheck && !isRequired)(
  `ShellCheck finds nothing in the scripts and their sources${hasShellCheck ? '' : ' (skipped: no shellcheck)'}`,
  () => {
    // With user text in them ShellCheck would remark on that text.
    for (const script of scripts.slice(0, 2)) {
      const { stdout, status } = spawnSync('shellcheck', ['-'], {
        input: script,
        encoding: 'utf8',
      });
      expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
    }
    const files = ['startup.sh', 'shutdown.sh'];
    const options = ['--external-sources', '--source-path=SCRIPTDIR'];
    const { stdout } = spawnSync('shellcheck', [...options, ...files], {
      cwd: GUEST_FOLDER,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  },
);

test('D36: the scripts are bash, say so, and bash parses them', () => {
  for (const script of scripts) {
    expect(script.startsWith('#!/bin/bash\n# bash, not plain sh.')).toBe(true);
    const { stderr, status } = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  }
});

test("a script without the user's arguments is below 24 KiB", () => {
  for (const script of scripts.slice(0, 2)) {
    expect(Buffer.byteLength(script)).toBeLessThan(SCRIPT_BYTES_MAX);
  }
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
