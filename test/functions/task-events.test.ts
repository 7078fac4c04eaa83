// What `signals` does with the event lines of tasks and with the platform's note of an execution's end.
import { describe, expect, test } from 'vitest';
import { handleSignals } from '#functions/signals/handler.ts';
import {
  completionFilter,
  readCompletionEntry,
  readEventEntry,
  taskEventFilter,
} from '#functions/signals/job-entry.ts';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { Execution, ExecutionReply, RunJobs } from '#shared/cloud/run-jobs.ts';
import { isStalled, readProgress, type TaskProgress } from '#shared/lifecycle/progress.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import {
  type SignedEvent,
  signEvent,
  type TaskEvent,
  taskSequence,
} from '#shared/lifecycle/task-event.ts';
import { instanceName } from '#shared/plan/names.ts';
import { activeObject, claimObject, progressObject, recordObject } from '#shared/plan/objects.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import {
  completionEntry,
  EXECUTION,
  eventEntry,
  JOB,
  type JobEntryChange,
  REGION,
} from '#test/functions/job-entries.ts';
import { attempt, candidate, intent, NOW_MS, record } from '#test/lifecycle/fixtures.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const KEY = '5a'.repeat(32);
const NONCE = '0123456789abcdef0123456789abcdef';
const place = candidate({ region: REGION, zone: REGION, machineType: JOB });

const runOf = (change: Partial<RunRecord> = {}): RunRecord =>
  record({
    runId: 'r1',
    runtime: 'cloudrun-jobs',
    attempts: [
      attempt({
        instance: instanceName('mayfly', 'r1', 1),
        nonce: NONCE,
        eventKey: KEY,
        intents: [intent({ candidate: place, instanceId: EXECUTION })],
      }),
    ],
    ...change,
  });

const running = (): Execution => ({
  name: EXECUTION,
  job: JOB,
  region: REGION,
  createdMs: NOW_MS,
  startedMs: NOW_MS,
  completedMs: null,
  taskCount: 1,
  runningCount: 1,
  succeededCount: 0,
  failedCount: 0,
  cancelledCount: 0,
  env: { MAYFLY_RUN_ID: 'r1', MAYFLY_NONCE: NONCE },
  conditions: [],
});

/** Answers for one execution, and nothing else. */
function jobsWith(reply: ExecutionReply, asked: string[]): RunJobs {
  const never = () => Promise.reject(new Error('not in this test'));
  return {
    runJob: never,
    cancelExecution: never,
    listExecutions: never,
    listTasks: never,
    listJobs: never,
    async getExecution({ execution }) {
      asked.push(execution);
      return reply;
    },
  };
}

interface Stage {
  readonly kernel: Kernel;
  readonly deps: RunDeps;
  readonly asked: string[];
  readonly deliver: (
    entry: object | string,
    messageId?: string,
  ) => ReturnType<typeof handleSignals>;
  /** Without letting time go on. */
  readonly handle: (entry: object | string, messageId: string) => ReturnType<typeof handleSignals>;
}

function stage(change: Partial<RunRecord> = {}, reply?: ExecutionReply): Stage {
  const kernel = new Kernel();
  kernel.put(recordObject('r1'), JSON.stringify(runOf(change)));
  kernel.put(activeObject('r1'), '');
  const asked: string[] = [];
  const jobs = jobsWith(reply ?? { kind: 'there', execution: running() }, asked);
  const deps: RunDeps = { ...kernel.deps('signals'), jobs };
  const handle = (entry: object | string, messageId: string) => {
    const text = typeof entry === 'string' ? entry : JSON.stringify(entry);
    const rest = { publishTimeMs: null, subscription: null, deliveryAttempt: null };
    const message: PushMessage = { messageId, data: Buffer.from(text), attributes: {}, ...rest };
    return handleSignals(message, deps);
  };
  const deliver: Stage['deliver'] = async (entry, messageId = '1') => {
    const outcome = handle(entry, messageId);
    // Time goes on while it waits, and no further than that.
    await kernel.run(60_000, { sweeps: false });
    return await outcome;
  };
  return { kernel, deps, asked, deliver, handle };
}

/** How often a row was really written. */
function countWrites(deps: RunDeps, whileWriting: () => void): { count: number } {
  const counted = { count: 0 };
  const { store } = deps;
  const write: RunDeps['store']['write'] = async (name, bytes, options) => {
    if (name.includes('/progress/')) whileWriting();
    const reply = await store.write(name, bytes, options);
    if (name.includes('/progress/') && reply.kind === 'written') counted.count += 1;
    return reply;
  };
  Object.assign(deps, { store: { ...store, write } });
  return counted;
}

const event = (change: Partial<TaskEvent> = {}): TaskEvent => ({
  runId: 'r1',
  attempt: 1,
  task: 0,
  seq: 0,
  kind: 'progress',
  atMs: 1_000,
  data: { done: 3 },
  ...change,
});
const signed = (change: Partial<TaskEvent> = {}, key = KEY) => signEvent(key, event(change));
const progressOf = (kernel: Kernel, task = 0): TaskProgress | null => {
  const text = kernel.object(progressObject('r1', 1, task));
  return text === null ? null : readProgress(new TextEncoder().encode(text));
};
/** All that a forged message could have changed. */
const stateOf = (kernel: Kernel) => kernel.objects('').map((name) => [name, kernel.object(name)]);
const refusals = (kernel: Kernel) =>
  kernel.logs.filter(({ event: name }) => name === 'task-event-refused');

describe('which entries are taken', () => {
  const matches = (filter: string, value: object) => {
    const matcher = compileFilter(filter);
    if (typeof matcher === 'string') throw new Error(matcher);
    return matcher(value as Record<string, unknown>);
  };

  test('C107: the sink takes lines with an event, of our Jobs alone', () => {
    const filter = taskEventFilter(SETTINGS.plan);
    expect(filter).toContain('jsonPayload.mayfly_event:*');
    expect(matches(filter, eventEntry(signed()))).toBe(true);
    expect(matches(filter, eventEntry(signed(), { job: 'mayfly-2-base-bayes-s' }))).toBe(false);
    const { jsonPayload: _, ...rest } = eventEntry(signed()) as { jsonPayload: object };
    expect(matches(filter, { ...rest, jsonPayload: { message: 'a line' } })).toBe(false);
    expect(matches(filter, { ...rest, textPayload: 'mayfly_event' })).toBe(false);
    expect(matches(filter, completionEntry())).toBe(false);
  });

  test('the sink takes the note of an execution’s end, not the call that began it', () => {
    const filter = completionFilter(SETTINGS.plan);
    expect(matches(filter, completionEntry())).toBe(true);
    const call = completionEntry({ methodName: 'google.cloud.run.v2.Jobs.RunJob' });
    expect(matches(filter, call)).toBe(false);
    expect(readCompletionEntry(call, SETTINGS.plan)).toBeNull();
    expect(matches(filter, completionEntry({ job: 'else' }))).toBe(false);
    expect(readCompletionEntry(completionEntry({ job: 'else' }), SETTINGS.plan)).toBeNull();
  });

  test('C124: an entry is decoded: event, execution, Job, region', () => {
    const line = signed();
    expect(readEventEntry(eventEntry(line))).toEqual({
      region: REGION,
      job: JOB,
      execution: EXECUTION,
      signed: line,
    });
    expect(readCompletionEntry(completionEntry(), SETTINGS.plan)).toEqual({
      region: REGION,
      job: JOB,
      execution: EXECUTION,
    });
  });

  test.each<[string, object]>([
    ['no label of the execution', { ...eventEntry(signed()), labels: {} }],
    ['a signature that is none', eventEntry({ payload: '{}', hmac: 'zz' })],
    ['a payload that is no text', eventEntry({ payload: {}, hmac: '' } as unknown as SignedEvent)],
    ['a service', { ...eventEntry(signed()), resource: { type: 'cloud_run_revision' } }],
  ])('C124: %s is no event', async (_name, value) => {
    expect(readEventEntry(value)).toBeNull();
    const { kernel, deliver } = stage();
    const before = stateOf(kernel);
    expect(await deliver(value)).toEqual({ kind: 'done' });
    expect(stateOf(kernel)).toEqual(before);
  });
});

describe('genuine events', () => {
  test('C59, C127: they come to the task’s progress, in whatever order', async () => {
    const rows = [];
    const line = [
      signed({ seq: 0, kind: 'claimed' }),
      signed({ seq: 1, kind: 'running' }),
      signed({ seq: 2 }),
    ];
    for (const order of [
      [0, 1, 2],
      [2, 0, 1],
      [1, 2, 0],
    ]) {
      const { kernel, deliver } = stage({ state: 'RUNNING' });
      for (const index of order) await deliver(eventEntry(line[index] as SignedEvent));
      rows.push(progressOf(kernel));
    }
    expect(rows[0]).toMatchObject({ phase: 'running', seen: [[0, 2]] });
    expect(rows[0]?.events.at(-1)).toMatchObject({ kind: 'progress', data: { done: 3 } });
    expect(rows[1]).toEqual(rows[0]);
    expect(rows[2]).toEqual(rows[0]);
  });

  test('C126: the same event delivered twice is one', async () => {
    const { kernel, deliver } = stage();
    await deliver(eventEntry(signed()), '1');
    const once = stateOf(kernel);
    expect(await deliver(eventEntry(signed()), '2')).toEqual({ kind: 'done' });
    expect(stateOf(kernel)).toEqual(once);
    expect(progressOf(kernel)?.events).toHaveLength(1);
  });

  test('events of several tasks have a row each', async () => {
    const { kernel, deliver } = stage({ terms: { ...runOf().terms, tasks: 2 } });
    await deliver(eventEntry(signed({ task: 0, seq: 0 })));
    await deliver(eventEntry(signed({ task: 1, seq: taskSequence(1, 0) })));
    expect(progressOf(kernel, 0)?.events).toHaveLength(1);
    expect(progressOf(kernel, 1)?.events).toHaveLength(1);
  });

  test('a claimed one makes the record look at the claim: the run is running', async () => {
    const { kernel, deliver } = stage();
    const claim = { by: 'machine', instanceId: EXECUTION, zone: REGION, bootId: 'task-0' };
    kernel.put(claimObject('r1', 1), JSON.stringify(claim));
    await deliver(eventEntry(signed({ kind: 'claimed' })));
    expect(kernel.record('r1')).toMatchObject({
      state: 'RUNNING',
      attempts: [{ claim: { instanceId: EXECUTION } }],
    });
  });

  test('before the record knows its execution the signature alone speaks', async () => {
    const unknown = attempt({
      eventKey: KEY,
      intents: [intent({ candidate: place, instanceId: null })],
    });
    const { kernel, deliver } = stage({ attempts: [unknown], state: 'RUNNING' });
    await deliver(eventEntry(signed(), { execution: 'mayfly-base-bayes-s-other' }));
    expect(progressOf(kernel)?.events).toHaveLength(1);
  });

  test('C73: called twice, the execution that the record does not know may be the one that works', async () => {
    const [one = attempt()] = runOf().attempts;
    const intents = one.intents.map((called) => ({ ...called, repeated: true }));
    const { kernel, deliver } = stage({ attempts: [{ ...one, intents }] });
    await deliver(eventEntry(signed(), { execution: 'mayfly-base-bayes-s-other' }));
    expect(progressOf(kernel)?.events).toHaveLength(1);
  });

  test('C62, C63: silence changes nothing of the run: it is only called stalled', async () => {
    const claim = { by: 'machine', instanceId: EXECUTION, zone: REGION, bootId: 'task-0' } as const;
    const [one] = runOf().attempts;
    const attempts = [{ ...(one ?? attempt()), claim, runningMs: NOW_MS }];
    const { kernel, deliver } = stage({ state: 'RUNNING', attempts });
    kernel.put(claimObject('r1', 1), JSON.stringify(claim));
    await deliver(eventEntry(signed({ kind: 'running', atMs: kernel.clock.nowMs() })));
    const before = kernel.record('r1');
    await kernel.run(30 * 60_000, { sweeps: false });
    const row = progressOf(kernel);
    expect(row !== null && isStalled(row, kernel.clock.nowMs())).toBe(true);
    expect(kernel.record('r1')).toEqual(before);
    // The platform says that it runs, and that alone counts.
    await deliver(completionEntry());
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
  });

  test('a row that others write meanwhile is read again; too many of them, and Pub/Sub repeats', async () => {
    const { kernel, deps, deliver } = stage({ state: 'RUNNING' });
    let rivals = 2;
    const { store } = deps;
    const busy: RunDeps['store'] = {
      ...store,
      read: (name, generation) => store.read(name, generation),
      list: (prefix, page) => store.list(prefix, page),
      delete: (name, generation) => store.delete(name, generation),
      async write(name, bytes, options) {
        if (name.includes('/progress/') && rivals-- > 0) {
          if (rivals % 2 === 0) return { kind: 'conflict' };
          throw new CloudError({
            code: 'rate-limited',
            method: 'm',
            status: 429,
            reason: '',
            message: '',
          });
        }
        return await store.write(name, bytes, options);
      },
    };
    Object.assign(deps, { store: busy });
    expect(await deliver(eventEntry(signed()))).toEqual({ kind: 'done' });
    expect(progressOf(kernel)?.events).toHaveLength(1);
    rivals = 100;
    expect(await deliver(eventEntry(signed({ seq: 1 })))).toMatchObject({ kind: 'retry' });
    expect(progressOf(kernel)?.events).toHaveLength(1);
  });
});

test('C59, C108: a printed line comes through the log, its sink and a push to the progress', async () => {
  const { kernel } = stage({ state: 'RUNNING' });
  const before = kernel.pushes.length;
  const entries = [
    eventEntry(signed({ seq: 4 })),
    { ...eventEntry(signed()), jsonPayload: { message: 'else' } },
  ];
  const written = kernel.call({ method: 'logging.entries.write', params: {}, body: { entries } });
  expect(written.status).toBe(200);
  await kernel.run(60_000, { sweeps: false });
  expect(progressOf(kernel)).toMatchObject({ seen: [[4, 4]] });
  expect(kernel.pushes.slice(before)).toEqual([{ function: 'signals', status: 204 }]);
});

test('what a task says while its row is being written goes into the next write together', async () => {
  const { kernel, deps, deliver, handle } = stage({ state: 'RUNNING' });
  const line = Array.from({ length: 6 }, (_, seq) => eventEntry(signed({ seq })));
  const [first = {}, ...others] = line;
  const meanwhile: Promise<unknown>[] = [];
  const writes = countWrites(deps, () => {
    if (meanwhile.length === 0) meanwhile.push(...others.map((entry) => handle(entry, 'more')));
  });
  await deliver(first);
  expect(await Promise.all(meanwhile)).toEqual(others.map(() => ({ kind: 'done' })));
  expect(progressOf(kernel)).toMatchObject({ seen: [[0, 5]] });
  expect(writes.count).toBe(2);
});

describe('C128, C129: what is forged or replayed answers 200, changes nothing and is counted', () => {
  const flipped = (): SignedEvent => {
    const right = signed();
    return { ...right, payload: right.payload.replace('"done":3', '"done":4') };
  };
  test.each<[string, () => SignedEvent, JobEntryChange?]>([
    ['C125: a flipped byte', flipped],
    ['another key', () => signed({}, '00'.repeat(32))],
    ['no such run', () => signed({ runId: 'r2' })],
    ['no such attempt', () => signed({ attempt: 2 })],
    ['no such task', () => signed({ task: 1, seq: taskSequence(1, 0) })],
    ['a number of another task', () => signed({ seq: taskSequence(1, 0) })],
    ['replayed by another execution', () => signed(), { execution: 'mayfly-base-bayes-s-thief' }],
    ['no event at all', () => signEvent(KEY, {} as TaskEvent)],
  ])('%s', async (_name, line, change = {}) => {
    const { kernel, asked, deliver } = stage();
    const before = stateOf(kernel);
    expect(await deliver(eventEntry(line(), change))).toEqual({ kind: 'done' });
    expect(stateOf(kernel)).toEqual(before);
    expect(asked).toEqual([]);
    expect(refusals(kernel)).toHaveLength(1);
  });

  test('a run of machines has no key, so that nothing speaks for it', async () => {
    const { kernel, deliver } = stage({ runtime: 'gce', attempts: [attempt()] });
    const before = stateOf(kernel);
    expect(await deliver(eventEntry(signed({ kind: 'ended' })))).toEqual({ kind: 'done' });
    expect(stateOf(kernel)).toEqual(before);
    expect(refusals(kernel)).toHaveLength(1);
  });
});

describe('the platform’s note that an execution has ended', () => {
  test('the execution is asked, and the run that it names is looked at', async () => {
    const { kernel, asked, deliver } = stage();
    const claim = { by: 'machine', instanceId: EXECUTION, zone: REGION, bootId: 'task-0' };
    kernel.put(claimObject('r1', 1), JSON.stringify(claim));
    expect(await deliver(completionEntry())).toEqual({ kind: 'done' });
    expect(asked[0]).toBe(EXECUTION);
    expect(kernel.record('r1')?.state).toBe('RUNNING');
  });

  test('it cannot be asked now: once more later', async () => {
    const error = new CloudError({
      code: 'unavailable',
      method: 'm',
      status: 503,
      reason: '',
      message: '',
    });
    const { kernel, deliver } = stage({}, { kind: 'unknown', error });
    const before = stateOf(kernel);
    expect(await deliver(completionEntry())).toMatchObject({ kind: 'retry' });
    expect(stateOf(kernel)).toEqual(before);
  });

  test('it is gone, or names no run: acknowledged, nothing changes', async () => {
    for (const reply of [
      { kind: 'gone' } as const,
      { kind: 'there', execution: { ...running(), env: {} } } as const,
      { kind: 'there', execution: { ...running(), env: { MAYFLY_RUN_ID: 'r9' } } } as const,
    ]) {
      const { kernel, deliver } = stage({}, reply);
      const before = stateOf(kernel);
      expect(await deliver(completionEntry())).toEqual({ kind: 'done' });
      expect(stateOf(kernel)).toEqual(before);
    }
  });
});
