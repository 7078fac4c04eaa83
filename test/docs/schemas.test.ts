// The published schemas, judged by a validator that is not ours: what the code takes they take, and what
// they can say they refuse as the code does.
import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventAttributes } from '#functions/notify/handler.ts';
import { requestSchema, SCHEMA_PAGES } from '#scripts/docs/schemas.ts';
import { readMessage } from '#shared/plan/message.ts';
import { MARKER_PREFIX } from '#shared/plan/objects.ts';
import { parseRequest } from '#shared/plan/request.ts';
import { faultsOf } from '#test/docs/published-schemas.ts';
import { JOBS, makeSettings, WORKER } from '#test/plan/fixtures.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const ajv = new Ajv2020({ allErrors: true, strict: false, formats: { 'date-time': true } });
const request = ajv.compile(requestSchema());
const settings = makeSettings({ jobs: { ...JOBS, gpuJobs: true }, ttlSecondsMax: 604_800 });

/** Whether the code takes a message: its kind, and each rule of a request. */
function accepts(message: unknown): boolean {
  const read = readMessage(message);
  if (read.kind !== 'request') return read.kind === 'cancel';
  return parseRequest(read.value, { defaultRunId: 'run-1', settings }).kind === 'valid';
}

test.each(SCHEMA_PAGES)('$path is what its sources say', async ({ path, make }) => {
  expect(await readFile(path, 'utf8'), 'run: npm run docs').toBe(await make());
});

describe('a request', () => {
  const image = 'alpine:3.20';
  const version = 'projects/p/secrets/s/versions/3';
  const sha256 = 'a'.repeat(64);
  const right: readonly object[] = [
    { image },
    { runId: 'A.b_c~d-1', image: `localhost:5000/a/b__c:v1@sha256:${sha256}`, runtime: 'gce' },
    { image: 'europe-docker.pkg.dev/p/r/app', args: ['αβ "x"', '', '\n'], command: ['a'] },
    { image, env: { A: 'x', _b2: '' }, secrets: { B: version, '/etc/key': version } },
    { image, inputs: { '/data/..in/.x': 'gs://bucket/a b' }, outputs: { '/out': 'gs://bucket/' } },
    { image, package: { uri: `gs://bucket/a-${sha256}.tar.gz` }, workingDir: '/w' },
    { image, resources: { gpu: { type: 'l4', count: 2 }, bootImage: 'cos', diskType: 'pd-ssd' } },
    { image, resources: { machineTypes: ['n2-standard-8'] }, place: { zones: ['us-east1-b'] } },
    { image, place: { regions: ['us-east1'], subnetworks: { 'us-east1': 's' } } },
    { image, serviceAccount: WORKER, capabilities: ['SYS_PTRACE'], metadataAccess: true },
    { image, ttlSeconds: 600, timeoutSeconds: 300, retry: { failed: 9 }, budgetUsd: 0.5 },
    { image, labels: { Team: 'Fore cast' }, annotations: { 'any key': 'x' }, tasks: 1 },
    { runtime: 'cloudrun-jobs', command: ['fit'], tasks: 10_000, resources: { class: 'M' } },
    { runtime: 'cloudrun-jobs', command: ['fit'], checkpoint: { '/c': 'gs://bucket/c/' } },
    { cancel: 'run-1' },
    { cancel: 'run-1', reason: 'no longer needed' },
  ];

  test.each(right.map((message) => [JSON.stringify(message), message]))(
    'is taken: %s',
    (_, given) => {
      expect(accepts(given)).toBe(true);
      expect(request(given), JSON.stringify(request.errors)).toBe(true);
    },
  );

  const wrong: readonly unknown[] = [
    null,
    [],
    'text',
    { image: 'UPPER' },
    { image, imagee: 'x' },
    { image, resources: { disk: 1 } },
    { image, runId: '-a' },
    { image, runId: 'a'.repeat(129) },
    { image, args: ['a\u0000'] },
    { image, args: Array.from({ length: 513 }, () => 'a') },
    { image, command: [] },
    { image, env: { MAYFLY_X: '' } },
    { image, env: { '1A': '' } },
    { image, env: { A: 1 } },
    { image, secrets: { A: 'projects/p/secrets/s/versions/0' } },
    { image, secrets: { '/dev/x': version } },
    { image, outputs: { '/mayfly/x': 'gs://bucket/o/' } },
    { image, outputs: { '/a/../b': 'gs://bucket/o/' } },
    { image, outputs: { '/o/': 'gs://bucket/o/' } },
    { image, outputs: { '/o': 'gs://bucket/o' } },
    { image, inputs: { '/i': 's3://bucket/o' } },
    { image, package: { sha256 } },
    { image, package: { uri: 'gs://bucket/a.zip', sha256 } },
    { image, workingDir: 'relative' },
    { image, resources: { gpu: { count: 1 } } },
    { image, resources: { cpus: 0 } },
    { image, resources: { bootImage: 'debian' } },
    { image, resources: { architecture: 'x86' } },
    { image, place: { zones: ['us-east1'] } },
    { image, place: { subnetworks: { nowhere: 's' } } },
    { image, provisioning: 'flex-start' },
    { image, ttlSeconds: 599 },
    { image, ttlSeconds: 604_801 },
    { image, ttlSeconds: '600' },
    { image, retry: { preempted: 10 } },
    { image, budgetUsd: 0 },
    { image, service: { port: 80 } },
    { runtime: 'gce', command: ['a'] },
    { runtime: 'gce', image, tasks: 2 },
    { runtime: 'gce', image, checkpoint: { '/c': 'gs://bucket/c/' } },
    { runtime: 'gce', image, resources: { class: 'M' } },
    { runtime: 'cloudrun-jobs' },
    { runtime: 'cloudrun-jobs', command: ['a'], image },
    { runtime: 'cloudrun-jobs', command: ['a'], resources: { gpu: { type: 'L4' } } },
    { runtime: 'cloudrun-jobs', command: ['a'], place: { zones: ['us-east1-b'] } },
    { cancel: 'run-1', image },
    { cancel: '' },
    { cancel: 'run-1', reason: 3 },
  ];

  test.each(wrong.map((message) => [JSON.stringify(message).slice(0, 80), message]))(
    'is refused: %s',
    (_, given) => {
      expect(accepts(given)).toBe(false);
      expect(request(given)).toBe(false);
    },
  );

  test('whatever the code takes, the schema takes: parts of right requests, mixed and spoilt', () => {
    const fields = fc.constantFrom(
      ...right.flatMap((message) => ('cancel' in message ? [] : Object.entries(message))),
    );
    const value = fc.oneof(
      { weight: 1, arbitrary: fc.jsonValue() },
      { weight: 1, arbitrary: fc.string() },
    );
    const spoilt = fc.tuple(fields, fc.option(value, { freq: 3 })).map(([[name, given], other]) => {
      return [name, other ?? given] as const;
    });
    let taken = 0;
    fc.assert(
      fc.property(
        fc.uniqueArray(spoilt, { selector: ([name]) => name, maxLength: 3 }),
        (entries) => {
          const message = { image, ...Object.fromEntries(entries) };
          if (!accepts(message)) return;
          taken += 1;
          expect(request(message), JSON.stringify(request.errors)).toBe(true);
        },
      ),
      { seed: 6, numRuns: 3000 },
    );
    expect(taken).toBeGreaterThan(200);
  });

  test('texts at the edge of their rules: code and schema say the same', () => {
    const piece = fc.constantFrom(
      'a',
      'A',
      '1',
      '/',
      '.',
      '..',
      '-',
      '_',
      ':',
      '@',
      'mayfly',
      '\n',
    );
    const text = fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, (given) => {
        for (const change of [
          { runId: given },
          { workingDir: given },
          { env: { [given]: 'x' } },
          { outputs: { [given]: 'gs://bucket/o/' } },
          { inputs: { '/i': `gs://bucket${given}` } },
          { outputs: { '/o': `gs://bucket/${given}` } },
          { image: given },
        ]) {
          const message = { image, ...change };
          expect(request(message), JSON.stringify(message)).toBe(accepts(message));
        }
      }),
      { seed: 6, numRuns: 4000 },
    );
  });
});

describe('what comes back', () => {
  test.each([
    ['succeeds', REQUEST, 'SUCCEEDED'],
    ['is refused', { ...REQUEST, imagee: 'x' }, 'REJECTED'],
    ['has no place', { ...REQUEST, place: { regions: ['europe-west1'] } }, null],
  ])(
    'of a run that %s: result and event have no field that is not published',
    async (_, given, status) => {
      const kernel = new Kernel();
      const request = { ...given, runId: 'run-s', labels: { team: 'a' } };
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      kernel.publish('run-requests', JSON.stringify(request), { traceparent });
      await kernel.run(3 * 3_600_000);
      const names = [...kernel.objects('runs/results/'), ...kernel.objects('runs/rejected/')];
      expect(names).toHaveLength(1);
      const [name = ''] = names;
      const data = JSON.parse(kernel.object(name) ?? 'null');
      if (status !== null) expect(data.status).toBe(status);
      expect(faultsOf('result', data)).toEqual([]);
      const attributes = eventAttributes(name, data, { project: 'p', deployment: 'mayfly' });
      expect(attributes).toMatchObject({ 'ce-traceparent': traceparent });
      expect(faultsOf('event', { attributes, data })).toEqual([]);
      const wrong = { ...data, status: 'SUCCEEDED', cause: 'preempted' };
      expect(faultsOf('result', wrong)).not.toEqual([]);
    },
  );

  test.each([
    ['a machine', {}, {}, ['PROVISIONING', 'RUNNING', 'SUCCEEDED']],
    ['a machine that fails', {}, { exitCode: 3 }, ['PROVISIONING', 'RUNNING', 'FAILED']],
    ['a machine that never speaks', {}, { silentFrom: 'boot' }, ['PROVISIONING', 'FAILED']],
    // The attempt's own marker is closed when its tasks have reported.
    ['tasks', { runtime: 'cloudrun-jobs', tasks: 2 }, {}, ['SUCCEEDED', 'FAILED']],
  ] as const)('each marker of %s in the simulation is as published', async (...row) => {
    const [, change, guest, statuses] = row;
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, ...guest }) });
    const { image, resources, ...rest } = REQUEST;
    const machine = 'runtime' in change ? { command: ['fit'] } : { image, resources };
    kernel.request({ ...rest, ...machine, ...change, retry: {}, runId: 'run-m' });
    const seen = new Map<string, string>();
    // Short looks while it boots and works, then long enough ones for sweeps.
    for (let look = 0; look < 60 && kernel.result('run-m') === null; look += 1) {
      await kernel.run(look < 24 ? 5000 : 150_000);
      for (const name of kernel.objects(MARKER_PREFIX)) {
        const text = kernel.object(name) ?? '';
        seen.set(text, JSON.parse(text).status);
        expect(faultsOf('marker', JSON.parse(text))).toEqual([]);
      }
    }
    expect([...new Set(seen.values())]).toEqual(statuses);
  });
});
