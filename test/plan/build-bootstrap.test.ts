import { expect, test } from 'vitest';
import { taskSequence } from '#shared/lifecycle/task-event.ts';
import type { FormRequest, SignedUrlRequest } from '#shared/plan/bootstrap.ts';
import {
  type BootstrapInput,
  bootstrapAccess,
  buildBootstrap,
} from '#shared/plan/build-bootstrap.ts';
import {
  bootstrapObject,
  markerObject,
  progressObject,
  taskMarkerObject,
} from '#shared/plan/objects.ts';
import { type Fields, makeRequest, makeSettings } from '#test/plan/fixtures.ts';

const NONCE = 'c0ffee'.padEnd(32, '0');
const SHA = 'ab'.repeat(32);

function input(fields: Fields = {}, changes: Partial<BootstrapInput> = {}): BootstrapInput {
  const request = makeRequest(
    { image: undefined, runtime: 'cloudrun-jobs', command: ['fit', '--all'], ...fields },
    makeSettings(),
  );
  return {
    request,
    deployment: 'mayfly',
    bucket: 'p-mayfly',
    inputs: [],
    attempt: 2,
    nonce: NONCE,
    region: 'europe-west1',
    deadline: '2026-12-01T12:00:00Z',
    eventKey: 'e'.repeat(64),
    checkpoints: {},
    ...changes,
  };
}

/** Tells what was asked for instead of signing it. */
const signed = (request: SignedUrlRequest) => ({ url: JSON.stringify(request), headers: {} });
const form = ({ bucket, prefix }: FormRequest) => ({ url: bucket, fields: { prefix } });

function build(from: BootstrapInput) {
  const access = bootstrapAccess(from);
  return buildBootstrap(from, {
    claim: { put: signed(access.claim.put), get: signed(access.claim.get) },
    marker: form(access.marker),
    package: access.package === null ? null : signed(access.package),
    inputs: access.inputs.map(signed),
    outputs: access.outputs.map(form),
    checkpoints: access.checkpoints.map(({ form: upload, restore }) => ({
      form: form(upload),
      restore: Object.fromEntries(
        Object.entries(restore).map(([task, files]) => [task, files.map(signed)]),
      ),
    })),
  });
}

const asked = ({ url }: { readonly url: string }): unknown => JSON.parse(url);

test('C48: a bootstrap holds what the run asked for, and who it is', () => {
  const fields = { args: ['-m', 'a b'], env: { EMPTY: '' }, workingDir: '/work', tasks: 8 };
  expect(build(input({ ...fields, timeoutSeconds: 900 }))).toMatchObject({
    schema: 1,
    runId: 'run-1',
    attempt: 2,
    nonce: NONCE,
    instance: 'mayfly-run-1-7b3bc4fa677d-2',
    region: 'europe-west1',
    taskCount: 8,
    command: ['fit', '--all'],
    args: ['-m', 'a b'],
    env: { EMPTY: '' },
    workingDir: '/work',
    timeoutSeconds: 900,
    deadline: '2026-12-01T12:00:00Z',
    eventKey: 'e'.repeat(64),
    package: null,
    inputs: [],
    outputs: [],
    checkpoints: [],
  });
});

test('C48: the claim is made once, and can be read back', () => {
  const { claim } = build(input());
  const object = 'runs/work/run-1/2/claim.json';
  expect(asked(claim.put)).toEqual({
    method: 'PUT',
    bucket: 'p-mayfly',
    object,
    contentType: 'application/json',
  });
  expect(asked(claim.get)).toEqual({ method: 'GET', bucket: 'p-mayfly', object });
});

test('C48: the form of markers takes this attempt’s alone', () => {
  const { marker, instance } = build(input());
  expect(marker.prefix).toBe(`runs/gce-status/${instance}`);
  expect(marker.form).toEqual({ url: 'p-mayfly', fields: { prefix: `${marker.prefix}.` } });
  for (const name of [markerObject(instance), taskMarkerObject(instance, 3)]) {
    expect(name.startsWith(`${marker.prefix}.`)).toBe(true);
  }
  expect(taskMarkerObject(instance, 3)).toBe(`${marker.prefix}.3.json`);
});

test('C48: package and inputs are read by addresses, inputs at the generations that were resolved', () => {
  const resolved = [
    { path: '/in/a b', bucket: 'data', object: 'a b', generation: '17', bytes: 3 },
    { path: '/in/c', bucket: 'data', object: 'c', generation: '18', bytes: 0 },
  ];
  const bootstrap = build(
    input({ package: { uri: `gs://code/app-${SHA}.tar.gz` } }, { inputs: resolved }),
  );
  expect(bootstrap.package?.sha256).toBe(SHA);
  expect(bootstrap.package && asked(bootstrap.package.get)).toEqual({
    method: 'GET',
    bucket: 'code',
    object: `app-${SHA}.tar.gz`,
  });
  expect(bootstrap.inputs.map(({ path, get, bytes }) => [path, asked(get), bytes])).toEqual([
    ['/in/a b', { method: 'GET', bucket: 'data', object: 'a b', generation: '17' }, 3],
    ['/in/c', { method: 'GET', bucket: 'data', object: 'c', generation: '18' }, 0],
  ]);
});

test('C48: outputs and checkpoints have a form each', () => {
  const bootstrap = build(
    input({
      outputs: { '/out': 'gs://out/x/', '/plots': 'gs://out/y/' },
      checkpoint: { '/ckpt': 'gs://keep/z/' },
    }),
  );
  expect(bootstrap.outputs).toEqual([
    { path: '/out', bucket: 'out', prefix: 'x/', form: { url: 'out', fields: { prefix: 'x/' } } },
    { path: '/plots', bucket: 'out', prefix: 'y/', form: { url: 'out', fields: { prefix: 'y/' } } },
  ]);
  expect(bootstrap.checkpoints).toEqual([
    {
      path: '/ckpt',
      bucket: 'keep',
      prefix: 'z/',
      form: { url: 'keep', fields: { prefix: 'z/' } },
      restore: {},
    },
  ]);
});

test.each([
  { tasks: 1, task: '0', folder: 'z/files' },
  { tasks: 4, task: '3', folder: 'z/tasks/3/files' },
])('C160: of $tasks tasks, task $task restores from $folder', ({ tasks, task, folder }) => {
  const files = [{ path: 'model/w', sha256: SHA, bytes: 5 }];
  const from = input(
    { tasks, checkpoint: { '/ckpt': 'gs://keep/z/' } },
    { checkpoints: { '/ckpt': { [task]: files } } },
  );
  const restore = build(from).checkpoints[0]?.restore[task];
  expect(restore).toMatchObject(files);
  expect(restore?.map(({ get }) => asked(get))).toEqual([
    { method: 'GET', bucket: 'keep', object: `${folder}/${SHA}` },
  ]);
});

test('what was not signed is a mistake, not a gap', () => {
  const from = input({ package: { uri: `gs://code/app-${SHA}.tar.gz` } });
  const access = bootstrapAccess(from);
  expect(() =>
    buildBootstrap(from, {
      claim: { put: signed(access.claim.put), get: signed(access.claim.get) },
      marker: form(access.marker),
      package: null,
      inputs: [],
      outputs: [],
      checkpoints: [],
    }),
  ).toThrow('not signed');
});

test('C48, C101: names by nonce, by attempt and task; events of tasks never meet', () => {
  expect(bootstrapObject(NONCE)).toBe(`runs/bootstrap/${NONCE}`);
  expect(progressObject('run-1', 2, 7)).toBe('runs/work/run-1/2/progress/7.json');
  expect(taskSequence(3, 0)).toBeGreaterThan(taskSequence(2, 999_999));
});

test('the trace of the request is a variable of the task, unless the request sets it itself', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  expect(build(input({}, { traceparent })).env).toEqual({ TRACEPARENT: traceparent });
  const own = { TRACEPARENT: 'mine' };
  expect(build(input({ env: own }, { traceparent })).env).toEqual(own);
  expect(build(input()).env).toEqual({});
});
