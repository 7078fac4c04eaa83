// Time-outs and signals: the command is told first, the supervisor has the last word, and in time.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TaskMachine } from '#test/guest/supervisor/task-machine.ts';

const POLITE = ['trap "echo told; exit 0" TERM; echo ready; while :; do sleep 0.05; done'];
const STUBBORN = ['trap "" TERM; echo ready; while :; do sleep 0.05; done'];

test.each([
  ['one that ends at TERM', POLITE],
  ['one that does not, by KILL', STUBBORN],
])('the command’s own time is up: %s; TIMED_OUT, exit 16', async (_name, args) => {
  await using machine = await TaskMachine.start();
  const end = await machine.run({ bootstrap: { args, timeoutSeconds: 1 } });
  expect(end.code).toBe(16);
  expect(machine.marker()).toMatchObject({
    status: 'FAILED',
    cause: 'timeout',
    exit_code: null,
    step: 'run',
  });
  expect(end.events.map(({ kind }) => kind)).toEqual(['claimed', 'running', 'stopping', 'ended']);
  expect(end.events[2]).toMatchObject({ data: { reason: 'timeout' } });
});

test.each([
  ['one that ends at TERM', POLITE],
  ['one that does not, by KILL', STUBBORN],
])('C53: TERM from the platform: %s; the report says interrupted, exit 16', async (_name, args) => {
  await using machine = await TaskMachine.start();
  const task = machine.launch({ bootstrap: { args } });
  await task.prints('ready');
  task.signal('SIGTERM');
  const end = await task.ended;
  expect(end.code).toBe(16);
  expect(machine.marker()).toMatchObject({
    status: 'FAILED',
    cause: 'interrupted',
    exit_code: null,
  });
  expect(end.events.at(-1)).toMatchObject({ kind: 'ended', data: { cause: 'interrupted' } });
});

test('an exit 0 after TERM is no success, and no outputs are sent', async () => {
  await using machine = await TaskMachine.start();
  const outputs = [
    { path: '/out', form: machine.server.form('res/'), bucket: 'b1', prefix: 'res/' },
  ];
  const args = [`echo x >${machine.root}/out/half; ${POLITE[0]}`];
  const task = machine.launch({ bootstrap: { args, outputs } });
  await task.prints('ready');
  task.signal('SIGTERM');
  expect((await task.ended).code).toBe(16);
  expect(machine.server.objects.has('res/half')).toBe(false);
});

test('TERM before the command has begun: nothing is begun, and the report says so', async () => {
  await using machine = await TaskMachine.start();
  machine.server.put('code/app.tar.gz', 'x');
  machine.server.plant({ at: 'GET /b1/code/', times: 1_000, kind: 503 });
  const asked = machine.server.next('GET /b1/code/');
  const get = machine.server.signed('code/app.tar.gz');
  const task = machine.launch({ bootstrap: { package: { get, sha256: '0'.repeat(64) } } });
  await asked;
  task.signal('SIGTERM');
  const end = await task.ended;
  expect(end.code).toBe(16);
  expect(machine.marker()).toMatchObject({
    cause: 'interrupted',
    step: 'package',
    exec_start_epoch: null,
  });
  expect(end.events.map(({ kind }) => kind)).toEqual(['claimed', 'ended']);
});

test('work that was done before TERM is still delivered', async () => {
  await using machine = await TaskMachine.start();
  machine.server.plant({ at: 'POST /b1', times: 3, kind: 503 });
  const outputs = [
    { path: '/out', form: machine.server.form('res/'), bucket: 'b1', prefix: 'res/' },
  ];
  const asked = machine.server.next('POST /b1');
  const task = machine.launch({
    bootstrap: { args: [`echo x >${machine.root}/out/all`], outputs },
  });
  await asked;
  task.signal('SIGTERM');
  expect((await task.ended).code).toBe(0);
  expect(machine.server.text('res/all')).toBe('x\n');
  expect(machine.marker()).toMatchObject({ status: 'SUCCEEDED' });
});

test('outputs that do not go up after TERM leave time for the report: interrupted, exit 16', async () => {
  await using machine = await TaskMachine.start();
  const form = { ...machine.server.form('res/'), url: `${machine.server.form('res/').url}?out` };
  const outputs = [{ path: '/out', form, bucket: 'b1', prefix: 'res/' }];
  machine.server.plant({ at: 'POST /b1?out', times: 9_999, kind: 503 });
  const asked = machine.server.next('POST /b1');
  const args = [`echo x >${machine.root}/out/all`];
  const periods = { flushMs: 1_500, reportMs: 1_000 };
  const task = machine.launch({ bootstrap: { args, outputs }, periods });
  await asked;
  task.signal('SIGTERM');
  expect((await task.ended).code).toBe(16);
  expect(machine.marker()).toMatchObject({ cause: 'interrupted', step: 'outputs', outputs: [] });
});

test('P115: stopped and continued, its next call reset: it goes on, no exit 16, no number twice', async () => {
  await using machine = await TaskMachine.start();
  const go = join(machine.root, 'go');
  const args = [
    `echo ready; while [ ! -e ${go} ]; do sleep 0.05; done; echo x >${machine.root}/out/x`,
  ];
  const outputs = [
    { path: '/out', form: machine.server.form('res/'), bucket: 'b1', prefix: 'res/' },
  ];
  machine.server.plant({ at: 'POST /b1', times: 1, kind: 'cut' });
  const task = machine.launch({
    bootstrap: { args, outputs },
    periods: { heartbeatMs: 20 },
    asJob: true,
  });
  await task.prints('ready');
  task.signal('SIGTSTP');
  await task.printsAgain('"kind\\":\\"heartbeat');
  await task.printsAgain('"kind\\":\\"heartbeat');
  task.signal('SIGCONT');
  writeFileSync(go, '');
  const end = await task.ended;
  expect(end.code).toBe(0);
  expect(machine.server.text('res/x')).toBe('x\n');
  const numbers = end.events.map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.map((_, index) => index));
  expect(machine.marker()).toMatchObject({ status: 'SUCCEEDED' });
});

test('P115: really stopped for a while, as SIGSTOP does it, it goes on all the same', async () => {
  await using machine = await TaskMachine.start();
  const go = join(machine.root, 'go');
  mkdirSync(join(machine.root, 'x'));
  const args = [`echo ready; while [ ! -e ${go} ]; do sleep 0.05; done`];
  const task = machine.launch({ bootstrap: { args }, periods: { heartbeatMs: 20 } });
  await task.prints('ready');
  task.signal('SIGSTOP');
  writeFileSync(go, '');
  task.signal('SIGCONT');
  const end = await task.ended;
  expect(end.code).toBe(0);
  const numbers = end.events.map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.map((_, index) => index));
});
