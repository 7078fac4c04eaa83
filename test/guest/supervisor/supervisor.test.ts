// The supervisor's way through a task, as a real process against a real HTTP server.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { hashNonce, readMarker, speaksFor } from '#shared/lifecycle/marker.ts';
import { faultsOf } from '#test/docs/published-schemas.ts';
import { EXECUTION, INSTANCE, NONCE, TaskMachine } from '#test/guest/supervisor/task-machine.ts';

test('C57, C58: a task reads and deletes its bootstrap, claims, runs, reports, and signs its events', async () => {
  await using machine = await TaskMachine.start();
  const end = await machine.run({ bootstrap: { args: ['echo hello; echo oh >&2'] } });
  expect(end).toMatchObject({ code: 0, signal: null });
  expect(machine.server.requests).toEqual([
    'GET /computeMetadata/v1/instance/service-accounts/default/token',
    `GET /b1/runs/bootstrap/${NONCE}`,
    'PUT /b1/runs/work/fit-9/1/claim.json',
    'GET /computeMetadata/v1/instance/service-accounts/default/token',
    `DELETE /b1/runs/bootstrap/${NONCE}`,
    'POST /b1',
  ]);
  expect(JSON.parse(machine.server.text('runs/work/fit-9/1/claim.json') ?? '')).toEqual({
    by: 'machine',
    instanceId: EXECUTION,
    zone: 'europe-west1',
    bootId: 'task-0',
    nonceSha256: hashNonce(NONCE),
  });
  expect(machine.server.objects.has(`runs/bootstrap/${NONCE}`)).toBe(false);
  expect(end.stdout).toContain('hello\n');
  expect(end.stderr).toBe('oh\n');
  expect(end.events.map(({ kind, seq }) => [kind, seq])).toEqual([
    ['claimed', 0],
    ['running', 1],
    ['ended', 2],
  ]);
  expect(end.events.at(-1)).toMatchObject({
    runId: 'fit-9',
    attempt: 1,
    task: 0,
    data: { status: 'SUCCEEDED', cause: 'exit', exitCode: 0 },
  });
  const marker = machine.marker();
  expect(marker).toMatchObject({
    status: 'SUCCEEDED',
    exit_code: 0,
    instance: INSTANCE,
    zone: 'europe-west1',
    schema: 1,
    run_id: 'fit-9',
    attempt: 1,
    step: 'report',
    cause: 'exit',
    boot_id: EXECUTION,
    outputs: [],
    nonce: NONCE,
  });
  expect(faultsOf('marker', marker)).toEqual([]);
  expect(String(marker.detail).split('\n').sort()).toEqual(['', 'hello', 'oh']);
  const reading = readMarker(Buffer.from(JSON.stringify(marker)));
  expect(reading.kind === 'marker' && speaksFor(reading.marker, { number: 1, nonce: NONCE })).toBe(
    true,
  );
});

test('C7: the exit code of the command is the task’s own, and no outputs are sent then', async () => {
  await using machine = await TaskMachine.start();
  const outputs = [
    { path: '/out', form: machine.server.form('res/'), bucket: 'b1', prefix: 'res/' },
  ];
  const args = [`echo x >${machine.root}/out/x; exit 7`];
  const end = await machine.run({ bootstrap: { args, outputs } });
  expect(end.code).toBe(7);
  expect(machine.marker()).toMatchObject({
    status: 'FAILED',
    cause: 'exit',
    exit_code: 7,
    step: 'run',
  });
  expect([...machine.server.objects.keys()].filter((name) => name.startsWith('res/'))).toEqual([]);
});

test('C74: a duplicate that starts finds no bootstrap object and stops without work', async () => {
  await using machine = await TaskMachine.start();
  const proof = `${machine.root}/worked`;
  const choices = { bootstrap: { args: [`echo once >>${proof}`] } };
  expect((await machine.run(choices)).code).toBe(0);
  const claim = machine.server.text('runs/work/fit-9/1/claim.json');
  const duplicate = { ...choices, variables: { CLOUD_RUN_EXECUTION: 'mayfly-base-ml-m-other' } };
  const end = await machine.run(duplicate, 'keep');
  expect(end).toMatchObject({ code: 18, events: [] });
  expect(machine.server.text('runs/work/fit-9/1/claim.json')).toBe(claim);
  expect(machine.server.requests.filter((line) => line === 'POST /b1')).toHaveLength(1);
});

test('C74: a duplicate that has read the bootstrap in time still stops at the claim', async () => {
  await using machine = await TaskMachine.start();
  const proof = `${machine.root}/worked`;
  const held = {
    by: 'machine',
    instanceId: 'mayfly-base-ml-m-first',
    zone: 'europe-west1',
    bootId: 'task-0',
  };
  machine.server.put('runs/work/fit-9/1/claim.json', JSON.stringify(held));
  const end = await machine.run({ bootstrap: { args: [`touch ${proof}`] } });
  expect(end).toMatchObject({ code: 18, events: [] });
  expect(existsSync(proof)).toBe(false);
  expect(machine.server.objects.has(`runs/bootstrap/${NONCE}`)).toBe(true);
});

test.each<[string, object]>([
  ['version', { schema: 2 }],
  ['run', { runId: 'fit-8' }],
  ['attempt', { attempt: 2 }],
  ['nonce', { nonce: 'f'.repeat(32) }],
  ['number of tasks', { taskCount: 2 }],
])('C48: a bootstrap of another %s is not worked on', async (_name, change) => {
  await using machine = await TaskMachine.start();
  const bootstrap = { ...machine.bootstrap(), ...change };
  machine.server.put(`runs/bootstrap/${NONCE}`, JSON.stringify(bootstrap));
  const end = await machine.run({}, 'keep');
  expect(end).toMatchObject({ code: 18, events: [] });
  expect(machine.server.requests.filter((line) => line.startsWith('PUT'))).toEqual([]);
});

test.each([403, 404])(
  'C74: without access to the bootstrap (%i) there is no work',
  async (kind) => {
    await using machine = await TaskMachine.start();
    machine.server.plant({ at: 'GET /b1/runs/bootstrap/', times: 1, kind });
    expect(await machine.run()).toMatchObject({ code: 18, events: [] });
  },
);

test('a bootstrap that cannot be deleted is told, and stops nothing: the claim is the fence', async () => {
  await using machine = await TaskMachine.start();
  machine.server.plant({ at: 'DELETE /b1/runs/bootstrap/', times: 1, kind: 403 });
  const end = await machine.run();
  expect(end.code).toBe(0);
  expect(end.stdout).toContain('"severity":"WARNING"');
});

test('a claim of the control plane stops a task before its work', async () => {
  await using machine = await TaskMachine.start();
  machine.server.put('runs/work/fit-9/1/claim.json', JSON.stringify({ by: 'control' }));
  expect(await machine.run()).toMatchObject({ code: 18, events: [] });
});

test('a claim whose reply was lost is ours', async () => {
  await using machine = await TaskMachine.start();
  machine.server.plant({ at: 'PUT /b1/runs/work', times: 1, kind: 'lose-reply' });
  expect((await machine.run()).code).toBe(0);
});

test('C149: a claim that was not stored as it was sent is asked for again', async () => {
  await using machine = await TaskMachine.start();
  machine.server.plant({ at: 'PUT /b1/runs/work', times: 1, kind: 'wrong-md5' });
  expect((await machine.run()).code).toBe(0);
  const about = machine.server.requests.filter((line) => line.endsWith('/claim.json'));
  expect(about.map((line) => line.split(' ')[0])).toEqual(['PUT', 'PUT', 'GET']);
});

test('the second life of a task does nothing: Jobs are made without retries', async () => {
  await using machine = await TaskMachine.start();
  const end = await machine.run({ variables: { CLOUD_RUN_TASK_ATTEMPT: '1' } });
  expect(end).toMatchObject({ code: 18, events: [] });
  expect(machine.server.requests).toEqual([]);
});

test('C101: tasks of one execution share the claim, and no event number comes twice', async () => {
  await using machine = await TaskMachine.start();
  const bootstrap = { taskCount: 2 };
  const first = await machine.run({ bootstrap, variables: { CLOUD_RUN_TASK_INDEX: '0' } });
  const second = await machine.run({ bootstrap, variables: { CLOUD_RUN_TASK_INDEX: '1' } }, 'keep');
  expect([first.code, second.code]).toEqual([0, 0]);
  const numbers = [...first.events, ...second.events].map(({ seq }) => seq);
  expect(numbers).toEqual([0, 1, 2, 1_000_000, 1_000_001, 1_000_002]);
  expect(machine.marker(0)).toMatchObject({ status: 'SUCCEEDED', task: 0 });
  expect(machine.marker(1)).toMatchObject({ status: 'SUCCEEDED', task: 1 });
  expect(machine.server.objects.has(`runs/bootstrap/${NONCE}`)).toBe(true);
});
