// What `watch` and `show` print of the events of tasks.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { followRun } from '#scripts/mayfly/follow.ts';
import { TaskProgressWatch } from '#scripts/mayfly/task-progress.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { mergeEvent, type TaskProgress } from '#shared/lifecycle/progress.ts';
import { buildResult } from '#shared/lifecycle/result.ts';
import { type TaskEvent, taskSequence } from '#shared/lifecycle/task-event.ts';
import { progressObject, recordObject, resultObject } from '#shared/plan/objects.ts';
import { attempt, NOW_MS, record } from '#test/lifecycle/fixtures.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, put, putEnded, putRecord, RUN } from '#test/scripts/mayfly/stored-run.ts';

const EXECUTION = 'mayfly-base-ml-m-x7k2p';
const CLAIM = { by: 'machine', instanceId: EXECUTION, zone: 'r', bootId: 'task-0' } as const;
const run = record({
  runtime: 'cloudrun-jobs',
  state: 'RUNNING',
  attempts: [attempt({ eventKey: 'secret-key', claim: CLAIM })],
});

type Told = readonly [kind: TaskEvent['kind'], seconds: number, data?: TaskEvent['data']];

function row(task: number, told: readonly Told[]): TaskProgress {
  const events = told.map(([kind, seconds, data = {}], index): TaskEvent => {
    const seq = taskSequence(task, index);
    return { runId: RUN, attempt: 1, task, seq, kind, atMs: NOW_MS + seconds * 1000, data };
  });
  const all = events.reduce<TaskProgress | null>((one, next) => mergeEvent(one, next), null);
  if (all === null) throw new Error('no events');
  return all;
}

/** A bucket that counts what is read. */
function bucket() {
  const objects = new Map<string, { text: string; generation: string }>();
  const reads: string[] = [];
  const store: Pick<ObjectStore, 'read' | 'list'> = {
    async read(name) {
      reads.push(name);
      const object = objects.get(name);
      if (object === undefined) return { kind: 'absent' };
      return {
        kind: 'found',
        bytes: Buffer.from(object.text),
        generation: object.generation,
        updatedMs: 0,
      };
    },
    async list(prefix) {
      const found = [...objects].filter(([name]) => name.startsWith(prefix));
      const listed = found.map(([name, { generation }]) => ({
        name,
        generation,
        bytes: 1,
        updatedMs: 0,
        metadata: {},
      }));
      return { objects: listed, nextPageToken: null };
    },
  };
  let generation = 0;
  const write = (task: number, told: readonly Told[]) => {
    generation += 1;
    const name = progressObject(RUN, 1, task);
    objects.set(name, { text: JSON.stringify(row(task, told)), generation: String(generation) });
  };
  return { store, reads, write };
}

test('each event is told once, and an object is read again only when it has changed', async () => {
  const { store, reads, write } = bucket();
  const tasks = new TaskProgressWatch(store);
  expect(await tasks.look(run)).toEqual([]);
  const first: Told[] = [
    ['claimed', 1],
    ['running', 2.5],
  ];
  write(0, first);
  expect(await tasks.look(run)).toEqual(['       1.0 s  claimed', '       2.5 s  running']);
  expect(await tasks.look(run)).toEqual([]);
  expect(reads).toHaveLength(1);
  write(0, [...first, ['progress', 7, { method: 'drift', done: 2, of: 3 }]]);
  expect(await tasks.look(run)).toEqual(['       7.0 s  progress     method drift, done 2, of 3']);
  expect(reads).toHaveLength(2);
});

test('several tasks are told apart, in the order of time', async () => {
  const { store, write } = bucket();
  write(0, [['running', 3]]);
  write(1, [['running', 2]]);
  expect(await new TaskProgressWatch(store).look(run)).toEqual([
    '       2.0 s  task 1 running',
    '       3.0 s  task 0 running',
  ]);
});

test('of very many tasks a bounded number is read a look, the others by the next', async () => {
  const { store, reads, write } = bucket();
  for (let task = 0; task < 50; task += 1) write(task, [['running', task]]);
  const tasks = new TaskProgressWatch(store);
  const lines = [...(await tasks.look(run))];
  expect(reads).toHaveLength(20);
  for (let look = 0; look < 2; look += 1) lines.push(...(await tasks.look(run)));
  expect(new Set(lines).size).toBe(50);
});

test('what a command tells is shown bounded, and moves no cursor', async () => {
  const { store, write } = bucket();
  write(0, [['progress', 1, { text: `\u001b[2J${'x'.repeat(500)}` }]]);
  const [line = ''] = await new TaskProgressWatch(store).look(run);
  expect(line).not.toContain('\u001b');
  expect(line.length).toBeLessThan(160);
});

test('C62: a task without a word for three heartbeats is called stalled while its run is running', async () => {
  const { store, write } = bucket();
  write(0, [['running', 0]]);
  const tasks = new TaskProgressWatch(store);
  await tasks.look(run);
  expect(tasks.stalled(run, NOW_MS + 89_000)).toBeNull();
  expect(tasks.stalled(run, NOW_MS + 90_000)).toBe('stalled: no word of the task for 1 min 30 s');
  expect(tasks.stalled({ ...run, state: 'STOPPING' }, NOW_MS + 90_000)).toBeNull();
});

test('last words that the log brings after the result are waited for, for a while', async () => {
  const end = {
    status: 'SUCCEEDED',
    cause: 'exit',
    step: 'report',
    exitCode: 0,
    detail: '',
    atMs: NOW_MS,
  } as const;
  const ended = {
    ...run,
    state: end.status,
    end,
    attempts: [attempt({ end, claim: CLAIM })],
  } as const;
  const objects: Record<string, string> = {
    [recordObject(RUN)]: JSON.stringify(ended),
    [resultObject(RUN)]: JSON.stringify(buildResult(ended, { project: 'p', fullLog: 'none' })),
  };
  let nowMs = NOW_MS;
  const { store: rows, write } = bucket();
  const store = {
    list: rows.list,
    async read(name: string) {
      const text = objects[name];
      if (text === undefined) return await rows.read(name);
      return { kind: 'found', bytes: Buffer.from(text), generation: '1', updatedMs: 0 } as const;
    },
  } as ObjectStore;
  const clock = {
    nowMs: () => nowMs,
    async sleep(milliseconds: number) {
      nowMs += milliseconds;
      if (nowMs === NOW_MS + 2_000)
        write(0, [
          ['running', 1],
          ['ended', 2],
        ]);
    },
  };
  const notes: string[] = [];
  const interruption = new AbortController().signal;
  const deps = {
    store,
    clock,
    note: (line: string) => notes.push(line),
    move: () => {},
    interruption,
  };
  const target = { runId: RUN, messageId: null, foreignResult: false, pollMs: 1_000 };
  await followRun(deps, target);
  expect(notes.slice(-2)).toEqual(['       1.0 s  running', '       2.0 s  ended']);
  expect(nowMs).toBe(NOW_MS + 2_000);
});

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await startLocalCloud({ world: { storage: { objectWriteGapMs: 0 } } });
});
afterEach(() => cloud[Symbol.asyncDispose]());

test('show and watch print the events, and never the key of an attempt', async () => {
  const told: Told[] = [
    ['running', 1],
    ['progress', 2, { done: 1 }],
    ['ended', 3, { status: 'FAILED', exitCode: 3 }],
  ];
  put(cloud.call, progressObject(RUN, 1, 0), JSON.stringify(row(0, told)));
  const options = { environment: environmentOf(cloud) };
  putRecord(cloud.call, run);
  const living = await callMayfly(['show', RUN], options);
  expect(living.stdout).toContain('       2.0 s  progress     done 1\n');
  const json = await callMayfly(['show', RUN, '--json'], options);
  expect(json.stdout).toContain(EXECUTION);
  expect(json.stdout).not.toContain('secret-key');

  const end = {
    status: 'FAILED',
    cause: 'exit',
    step: 'run',
    exitCode: 3,
    detail: '',
    atMs: NOW_MS + 4_000,
  } as const;
  putEnded(cloud.call, end, { claim: CLAIM }, { runtime: 'cloudrun-jobs' });
  const watched = await callMayfly(['watch', RUN], options);
  expect(watched.code).toBe(3);
  expect(watched.stderr).toContain('       2.0 s  progress     done 1\n');
  expect(watched.stderr).toContain('       3.0 s  ended        status FAILED, exitCode 3\n');
});
