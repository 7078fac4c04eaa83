// Planning's part of the guest scripts: which blanks exist, how they are quoted, and what goes in.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { GUEST_DEFAULTS } from '#shared/plan/guest-settings.ts';
import { fillBlanks } from '#shared/plan/script-blanks.ts';
import { buildShutdownScript, buildStartupScript } from '#shared/plan/startup-script.ts';
import { everything, INSTANCE, type IntentChoices, makeIntent } from '#test/guest/intent.ts';

const BEGIN = '# --- blanks: planning fills these in ---\n';
const END = '# --- end of blanks ---\n';
const TEMPLATE = `#!/bin/bash\n${BEGIN}NAME='default'\nLIST=()\n${END}echo "$NAME" "\${#LIST[@]}"\n`;

const MACHINE = { instanceName: INSTANCE, gpuCount: 0, localSsdCount: 0 };
const build = (choices: IntentChoices = {}, threads: number | null = 4) =>
  buildStartupScript(makeIntent(choices), { ...MACHINE, threads });

/** The values of blanks as real bash reads them, one word a line. */
function blankOf(script: string, name: string): string[] {
  const block = script.slice(0, script.indexOf(END));
  const print = `printf '%s\\n' \${${name}[@]+"\${${name}[@]}"}`;
  const { stdout } = spawnSync('bash', ['-c', `${block}\n${print}`], { encoding: 'utf8' });
  return stdout.split('\n').slice(0, -1);
}

test('exactly the block of blanks is replaced', () => {
  expect(fillBlanks(TEMPLATE, { NAME: "it's", LIST: ['a', '', "'"] })).toBe(
    `#!/bin/bash\n${BEGIN}NAME='it'\\''s'\nLIST=('a' '' ''\\''')\n${END}echo "$NAME" "\${#LIST[@]}"\n`,
  );
});

test('a value without a blank, or a blank without a value, is an error that names it', () => {
  expect(() => fillBlanks(TEMPLATE, { NAME: 'x' })).toThrow('no value for [LIST]');
  const more = { NAME: 'x', LIST: [], OTHER: 'y' };
  expect(() => fillBlanks(TEMPLATE, more)).toThrow('no blank for [OTHER]');
  expect(() => fillBlanks('echo', { NAME: 'x' })).toThrow('no block of blanks');
});

test('equal input gives equal bytes', () => {
  expect(build()).toBe(build());
});

for (const name of ["it's a project", 'a"b', '$(id)', 'a b']) {
  test(`A41: names reach the script as shell literals: ${name}`, () => {
    const script = build({ settings: { project: name, bucket: name }, zone: name });
    for (const blank of ['PROJECT', 'BUCKET', 'ZONE']) {
      expect(blankOf(script, blank)).toEqual([name]);
    }
    expect(blankOf(script, 'INSTANCE')).toEqual([INSTANCE]);
  });
}

test("A31: threads are the container's cores, and the machine counts them when planning cannot", () => {
  expect(blankOf(build({}, 8), 'THREADS')).toEqual(['8']);
  expect(blankOf(build({}, null), 'THREADS')).toEqual(['']);
});

test('A47: a deployment without a bucket gets no script', () => {
  expect(() => build({ settings: { bucket: '' } })).toThrow('bucket');
});

for (const [image, host] of [
  ['europe-docker.pkg.dev/p/r/a:v1', 'europe-docker.pkg.dev'],
  ['gcr.io/p/a', 'gcr.io'],
  ['eu.gcr.io/p/a', 'eu.gcr.io'],
  ['ghcr.io/acme/app', ''],
  ['busybox', ''],
  ['library/busybox', ''],
  ['docker.io/a/b', ''],
  ['pkg.dev/p/r/a', ''],
  ['a.b.gcr.io/p/a', ''],
  ['gcr.io.evil.example/p/a', ''],
  ['gcr.io:8443/p/a', ''],
] as const) {
  test(`D14: the token of the machine goes to ${host || 'no registry'} for ${image}`, () => {
    expect(blankOf(build({ request: { image } }), 'LOGIN_HOST')).toEqual([host]);
  });
}

for (const [name, pinnedImage] of [
  ['a digest', `sha256:${'ab'.repeat(32)}`],
  ['a whole reference', `host:5000/p/a@sha256:${'ab'.repeat(32)}`],
] as const) {
  test(`a later attempt pulls what the first one pulled, given as ${name}`, () => {
    const script = build({ request: { image: 'host:5000/p/a:v1' }, pinnedImage });
    expect(blankOf(script, 'IMAGE')).toEqual([`host:5000/p/a@sha256:${'ab'.repeat(32)}`]);
  });
}

test('A99: a command replaces the entrypoint, and its other words come before the arguments', () => {
  const script = build({ request: { command: ['sh', '-c', 'x'], args: ['y'] } });
  expect(blankOf(script, 'DOCKER_FLAGS').slice(-2)).toEqual(['--entrypoint', 'sh']);
  expect(blankOf(script, 'CONTAINER_ARGS')).toEqual(['-c', 'x', 'y']);
});

test('inputs belong to the entry of the request that names them, the longest prefix first', () => {
  const at = (path: string) => ({ path, bucket: 'b', object: 'o', generation: '1', bytes: 1 });
  const script = build({
    request: { inputs: { '/d/': 'gs://b/d/', '/d/e': 'gs://b/e/', '/d/x': 'gs://b/x' } },
    inputs: [at('/d/a'), at('/d/e/f'), at('/d/x'), at('/d/ee')],
  });
  expect(blankOf(script, 'INPUT_FILES')).toEqual(['0/a', '1/f', '2', '0/ee']);
});

test('the periods are the defaults unless the settings name others', () => {
  const script = build({ guest: { callSeconds: 2, workDir: 'here' } });
  expect(blankOf(script, 'CALL_SECONDS')).toEqual(['2']);
  expect(blankOf(script, 'WORK_DIR')).toEqual(['here']);
  expect(blankOf(script, 'HEARTBEAT_SECONDS')).toEqual([String(GUEST_DEFAULTS.heartbeatSeconds)]);
});

test("the scripts' own default values are those of planning", () => {
  const intent = makeIntent(everything('cos'));
  const machine = { ...MACHINE, threads: 4, gpuCount: 1, localSsdCount: 1 };
  const filled = buildStartupScript(intent, machine).split('\n');
  const own = intent.scripts.startup
    .split('\n')
    .filter(
      (line) =>
        /_(SECONDS|MS|TRIES|BYTES|FILE|DIR|SIZE)=/.test(line) &&
        !/^(TTL|TIMEOUT|KEEP|GPU_IDLE)/.test(line) &&
        /^[A-Z_]+='/.test(line),
    );
  expect(own.length).toBeGreaterThan(15);
  expect(own.filter((line) => !filled.includes(line))).toEqual([]);
});

test('the shutdown script speaks for the same attempt', () => {
  const facts = { ...MACHINE, threads: null };
  const script = buildShutdownScript(makeIntent({ attempt: 3 }), facts);
  expect(blankOf(script, 'ATTEMPT')).toEqual(['3']);
  expect(blankOf(script, 'MARKER_OBJECT')).toEqual([`runs/gce-status/${INSTANCE}.json`]);
});
