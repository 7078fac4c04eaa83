// `mayfly logs`: the whole output from Cloud Logging, once each and in order, else what the machine kept.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import type { LogEntry } from '#scripts/mayfly/logs/entries.ts';
import { followLog, type LogSource } from '#scripts/mayfly/logs/follow-log.ts';
import { logObject, rejectedObject, resultObject } from '#shared/plan/objects.ts';
import * as fixtures from '#test/lifecycle/fixtures.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, PROJECT, put, putRecord, RUN } from '#test/scripts/mayfly/stored-run.ts';

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await startLocalCloud({ world: { storage: { objectWriteGapMs: 0 } } });
});
afterEach(() => cloud[Symbol.asyncDispose]());

const logs = (...words: string[]) =>
  callMayfly(['logs', ...words], {
    environment: { ...environmentOf(cloud), MAYFLY_ENDPOINT_LOGGING: cloud.baseUrl },
  });

const START = Date.UTC(2026, 11, 1, 12, 0, 0);
/** As the machine sends them. */
function say(attempt: number, lines: readonly string[]): void {
  const entries = lines.map((textPayload, index) => ({
    textPayload,
    timestamp: new Date(START + index * 1000).toISOString(),
    insertId: `${attempt}-${index}`,
  }));
  const reply = cloud.call(
    'logging.entries.write',
    {},
    {
      logName: `projects/${PROJECT}/logs/mayfly-container`,
      resource: { type: 'gce_instance', labels: {} },
      labels: { run_id: RUN, attempt: String(attempt) },
      entries,
    },
  );
  expect(reply.status).toBe(200);
}

const twoAttempts = () =>
  putRecord(cloud.call, {
    state: 'RUNNING',
    attempts: [fixtures.attempt(), fixtures.attempt({ number: 2 })],
  });

test('more than a page, in order, of the last attempt; another one by its number', async () => {
  twoAttempts();
  const lines = Array.from({ length: 2500 }, (_, index) => `line ${index}`);
  say(1, ['of the first']);
  say(2, lines);
  const ended = await logs(RUN);
  expect(ended).toMatchObject({ code: 0, stdout: `${lines.join('\n')}\n` });
  expect(cloud.world.calls.count({ method: 'logging.entries.list' })).toBe(3);
  expect(await logs(RUN, '--attempt', '1')).toMatchObject({ code: 0, stdout: 'of the first\n' });
  const json = await logs(RUN, '--attempt', '1', '--json');
  expect(JSON.parse(json.stdout)).toEqual({ at: '2026-12-01T12:00:00.000Z', text: 'of the first' });
});

test('without Cloud Logging: what the machine stored, else what the result kept', async () => {
  twoAttempts();
  const result = {
    ...{ runId: RUN, status: 'FAILED', cause: 'exit', log: { tail: 'the end', query: null } },
    attempts: [],
  };
  put(cloud.call, resultObject(RUN), JSON.stringify(result));
  expect(await logs(RUN)).toMatchObject({ code: 0, stdout: 'the end\n' });
  put(cloud.call, logObject(RUN, 2), 'more\nthe end\n');
  expect(await logs(RUN)).toMatchObject({ code: 0, stdout: 'more\nthe end\n' });
  expect(cloud.world.calls.count({ method: 'logging.entries.list' })).toBe(0);
});

test('what is not there is said: no run, a rejected one, no such attempt, no output', async () => {
  const nobody = await logs('nobody');
  expect(nobody).toMatchObject({ code: 4, stdout: '' });
  expect(nobody.stderr).toContain('nothing is known of a run nobody');
  put(
    cloud.call,
    rejectedObject('bad', 'm'),
    JSON.stringify({ runId: 'bad', status: 'REJECTED', cause: 'invalid' }),
  );
  const rejected = await logs('bad');
  expect(rejected.code).toBe(4);
  expect(rejected.stderr).toContain('was rejected');
  twoAttempts();
  const third = await logs(RUN, '--attempt', '3');
  expect(third.code).toBe(4);
  expect(third.stderr).toContain('no attempt 3');
  const silent = await logs(RUN);
  expect(silent).toMatchObject({ code: 0, stdout: '' });
  expect(silent.stderr).toBe(`${RUN}: no output yet\n`);
  expect((await logs(RUN, '--attempt', '1')).stderr).toBe(`${RUN}: no output\n`);
  const result = { runId: RUN, status: 'FAILED', cause: 'exit' };
  put(cloud.call, resultObject(RUN), JSON.stringify(result));
  expect((await logs(RUN)).stderr).toBe(`${RUN}: no output\n`);
  expect((await logs(RUN, '--attempt', 'x')).code).toBe(2);
});

test('an earlier attempt of an ended run has its own words, not the last ones of the run', async () => {
  twoAttempts();
  const attempt = { instance: null, zone: null, machineType: null, provisioningModel: null };
  const attempts = [1, 2].map((number) => ({
    ...attempt,
    ...{ attempt: number, status: 'FAILED', cause: 'exit' },
  }));
  const result = {
    runId: RUN,
    status: 'FAILED',
    cause: 'exit',
    attempts,
    log: { tail: 'second', query: null },
  };
  put(cloud.call, resultObject(RUN), JSON.stringify(result));
  expect((await logs(RUN)).stdout).toBe('second\n');
  expect((await logs(RUN, '--attempt', '1')).stdout).toBe('');
  put(cloud.call, logObject(RUN, 1), 'first\n');
  expect((await logs(RUN, '--attempt', '1')).stdout).toBe('first\n');
});

test('--follow waits for an attempt that is not there yet; of an ended run it is refused', async () => {
  putRecord(cloud.call, { state: 'RUNNING' });
  const controller = new AbortController();
  const waiting = callMayfly(['logs', RUN, '--attempt', '2', '--follow'], {
    environment: { ...environmentOf(cloud), MAYFLY_ENDPOINT_LOGGING: cloud.baseUrl },
    interruption: controller.signal,
    onNote: () => {},
  });
  while (cloud.world.calls.count({ method: 'logging.entries.list' }) === 0) {
    await new Promise(setImmediate);
  }
  controller.abort();
  expect(await waiting).toMatchObject({ code: 130 });
  const result = { runId: RUN, status: 'FAILED', cause: 'exit', attempts: [] };
  put(cloud.call, resultObject(RUN), JSON.stringify(result));
  expect(await logs(RUN, '--attempt', '2', '--follow')).toMatchObject({ code: 4 });
});

test('a line that is JSON is shown by its message, else as it is', async () => {
  putRecord(cloud.call, { state: 'RUNNING' });
  const entries = [{ message: 'loss 0.2', step: 3 }, { step: 4 }].map((jsonPayload, index) => ({
    jsonPayload,
    timestamp: new Date(START + index * 1000).toISOString(),
    insertId: `json-${index}`,
  }));
  const labels = { run_id: RUN, attempt: '1' };
  const logName = `projects/${PROJECT}/logs/mayfly-container`;
  const resource = { type: 'gce_instance', labels: {} };
  cloud.call('logging.entries.write', {}, { logName, resource, labels, entries });
  expect((await logs(RUN)).stdout).toBe('loss 0.2\n{"step":4}\n');
});

/** A run whose output grows while it is followed; every sleep is a step. */
function growing(steps: readonly (readonly LogEntry[])[]) {
  let step = 0;
  const filters: string[] = [];
  const source: LogSource = {
    async *read(filter) {
      filters.push(filter);
      yield steps.slice(0, step + 1).flat();
    },
    look: async () => ({ query: 'q', number: 1, ended: step >= steps.length - 1, tail: null }),
    readTail: async () => 'never',
  };
  const controller = new AbortController();
  const clock = {
    nowMs: () => START,
    sleep: async () => {
      step += 1;
    },
  };
  return { source, clock, filters, controller };
}

const entry = (text: string, second: number): LogEntry => ({
  ...{ key: text, at: new Date(START + second * 1000).toISOString(), text },
});

test('--follow prints each entry once, late ones too, and what came with the end', async () => {
  const { source, clock, filters, controller } = growing([
    [entry('a', 50), entry('b', 60)],
    [entry('late', 45)],
    [entry('last', 90)],
  ]);
  const texts: string[] = [];
  const options = { clock, follow: true, interruption: controller.signal };
  const write = ({ text }: LogEntry) => texts.push(text);
  expect(await followLog(source, { ...options, write })).toBe(4);
  expect(texts).toEqual(['a', 'b', 'late', 'last']);
  expect(filters[1]).toBe('q AND timestamp>="2026-12-01T12:00:30.000Z"');
});

test('Ctrl-C ends --follow', async () => {
  const { source, clock, controller } = growing([[entry('a', 1)], [], [], []]);
  const texts: string[] = [];
  const sleep = async () => controller.abort();
  const shown = await followLog(source, {
    ...{ clock: { ...clock, sleep }, follow: true, interruption: controller.signal },
    write: ({ text }) => texts.push(text),
  });
  expect(shown).toBe(1);
  expect(texts).toEqual(['a']);
});
