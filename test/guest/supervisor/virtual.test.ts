// The supervisor on a virtual clock: what its real periods come to, with calls and a command of the test.
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { Clock } from '#shared/cloud/clock.ts';
import type { CommandEnd, SpawnCommand } from '#shared/guest/supervisor/command.ts';
import { ask, NoAnswer } from '#shared/guest/supervisor/http.ts';
import type { Reply, Send } from '#shared/guest/supervisor/send.ts';
import { supervise } from '#shared/guest/supervisor/supervise.ts';
import { PERIODS, type SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import { taskSequence } from '#shared/lifecycle/task-event.ts';
import { EXIT_FLUSHED } from '#shared/plan/bootstrap.ts';
import { EXECUTION, NONCE, TaskMachine } from '#test/guest/supervisor/task-machine.ts';

const START_MS = Date.UTC(2026, 11, 1, 12, 0, 0);

/** Time that moves when everything waits for it. */
class TestClock implements Clock {
  #nowMs = START_MS;
  #sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];

  nowMs = () => this.#nowMs;

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal?.aborted) return Promise.resolve();
    const sleeper = { atMs: this.#nowMs + milliseconds, wake: resolve };
    this.#sleepers.push(sleeper);
    signal?.addEventListener('abort', () => {
      this.#sleepers = this.#sleepers.filter((one) => one !== sleeper);
      resolve();
    });
    return promise;
  }

  /** Until the promise has settled; the next sleeper is woken whenever nothing else moves. */
  async runUntil<T>(promise: Promise<T>): Promise<T> {
    let over = false;
    const done = () => {
      over = true;
    };
    promise.then(done, done);
    for (let idle = 0; !over; ) {
      await settle();
      if (over) break;
      const next = this.#sleepers.sort((a, b) => a.atMs - b.atMs).shift();
      if (next === undefined) {
        idle += 1;
        if (idle > 1_000) throw new Error('nothing moves');
        continue;
      }
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
    }
    return await promise;
  }
}

/** Until nothing moves without time: files are real, and so are streams. */
async function settle(): Promise<void> {
  const busy = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  for (let turn = 0; turn < 10 || busy(); turn += 1) await new Promise((go) => setImmediate(go));
}

const reply = (status: number, text = '', headers: Reply['headers'] = {}): Reply => ({
  status,
  headers,
  body: Readable.from([Buffer.from(text)]),
});

interface Scene {
  readonly clock: TestClock;
  readonly deps: SupervisorDeps;
  readonly lines: string[];
  readonly terminate: () => void;
  readonly told: { readonly signal: string; readonly atMs: number }[];
}

/** A command that ends at KILL alone, and a network that answers only what `answer` does. */
function scene(
  machine: TaskMachine,
  change: Partial<Parameters<TaskMachine['bootstrap']>[0]>,
  answer: Send,
): Scene {
  const clock = new TestClock();
  const deadline = new Date(START_MS + 86_400_000).toISOString();
  const bootstrap = machine.bootstrap({ deadline, ...change });
  const terminated = new AbortController();
  const lines: string[] = [];
  const told: Scene['told'] = [];
  const spawn: SpawnCommand = async () => {
    const { promise: ended, resolve } = Promise.withResolvers<CommandEnd>();
    return {
      ended,
      signal: (signal) => {
        told.push({ signal, atMs: clock.nowMs() });
        if (signal === 'SIGKILL') resolve({ code: 137, signal });
      },
    };
  };
  const send: Send = async (request) => {
    const { url } = request;
    if (url.includes('/token')) return reply(200, '{"access_token":"t"}');
    if (url.includes('/bootstrap/')) return reply(200, JSON.stringify(bootstrap));
    if (url.includes('claim.json')) {
      const held = JSON.stringify({ by: 'machine', instanceId: EXECUTION });
      return request.method === 'PUT' ? reply(412) : reply(200, held);
    }
    return await answer(request);
  };
  const variables = {
    MAYFLY_RUN_ID: 'fit-9',
    MAYFLY_NONCE: NONCE,
    MAYFLY_ATTEMPT: '1',
    MAYFLY_BOOTSTRAP_URL: 'http://storage/b1/runs/bootstrap/{nonce}',
    MAYFLY_REGION: 'europe-west1',
    CLOUD_RUN_EXECUTION: EXECUTION,
    CLOUD_RUN_TASK_INDEX: '0',
    CLOUD_RUN_TASK_COUNT: '1',
  };
  const deps: SupervisorDeps = {
    variables,
    clock,
    send,
    fraction: () => 0.5,
    spawn,
    write: (_stream, bytes) => lines.push(Buffer.from(bytes).toString('utf8')),
    terminated: terminated.signal,
    root: machine.root,
    cgroupDir: machine.root,
    periods: PERIODS,
  };
  return { clock, deps, lines, terminate: () => terminated.abort(), told };
}

/** The storage is down: nothing of what is to be flushed can be. */
const DOWN: Send = async () => reply(503);
/** Never answers; ends when it is told to. */
const HANGING: Send = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

const TASK_MARGIN_MS = 120_000;
const PLATFORM_GRACE_MS = 10_000;

test.each<[string, Send]>([
  ['storage answers 503', DOWN],
  ['storage does not answer', HANGING],
])(
  'C52, C53: after its own time-out it is gone within the margin, although %s',
  async (_name, answer) => {
    await using machine = await TaskMachine.start();
    const timeoutSeconds = 3_600;
    const checkpoints = [
      { path: '/ckpt', form: machine.server.form('c/'), bucket: 'b1', prefix: 'c/', restore: {} },
    ];
    const { clock, deps, told } = scene(machine, { timeoutSeconds, checkpoints }, answer);
    expect(await clock.runUntil(supervise(deps))).toBe(EXIT_FLUSHED);
    const endMs = START_MS + timeoutSeconds * 1000;
    expect(told).toEqual([
      { signal: 'SIGTERM', atMs: endMs },
      { signal: 'SIGKILL', atMs: endMs + 30_000 },
    ]);
    expect(clock.nowMs()).toBeLessThan(endMs + TASK_MARGIN_MS);
  },
);

test.each<[string, Send]>([
  ['storage answers 503', DOWN],
  ['storage does not answer', HANGING],
])(
  'C53: after the platform’s TERM it is gone before the kill, although %s',
  async (_name, answer) => {
    await using machine = await TaskMachine.start();
    const checkpoints = [
      { path: '/ckpt', form: machine.server.form('c/'), bucket: 'b1', prefix: 'c/', restore: {} },
    ];
    const { clock, deps, told, terminate } = scene(machine, { checkpoints }, answer);
    const running = supervise(deps);
    void clock.sleep(60_000).then(terminate);
    expect(await clock.runUntil(running)).toBe(EXIT_FLUSHED);
    const termMs = START_MS + 60_000;
    expect(told).toEqual([
      { signal: 'SIGTERM', atMs: termMs },
      { signal: 'SIGKILL', atMs: termMs + 5_000 },
    ]);
    expect(clock.nowMs()).toBeLessThan(termMs + PLATFORM_GRACE_MS);
  },
);

test('a heartbeat every 30 s from the claim to the end', async () => {
  await using machine = await TaskMachine.start();
  const { clock, deps, lines } = scene(machine, { timeoutSeconds: 300 }, DOWN);
  await clock.runUntil(supervise(deps));
  const beats = lines
    .filter((line) => line.includes('heartbeat'))
    .map((line) =>
      JSON.parse((JSON.parse(line) as { mayfly_event: { payload: string } }).mayfly_event.payload),
    );
  expect(beats.slice(0, 10).map(({ atMs }) => atMs - START_MS)).toEqual(
    Array.from({ length: 10 }, (_, index) => (index + 1) * 30_000),
  );
  expect(beats[0]).toMatchObject({ seq: taskSequence(0, 2) });
});

interface Asked {
  readonly atMs: number;
}

async function retried(replies: readonly (Reply | Error)[], untilMs = START_MS + 600_000) {
  const clock = new TestClock();
  const asked: Asked[] = [];
  const send: Send = async () => {
    const next = replies[asked.length] ?? reply(200);
    asked.push({ atMs: clock.nowMs() - START_MS });
    if (next instanceof Error) throw next;
    return next;
  };
  const deps = { clock, send, fraction: () => 1, periods: PERIODS };
  const call = { method: 'GET', url: 'http://x/', untilMs } as const;
  const end = await clock.runUntil(
    ask(deps, call, async ({ status }) => status).catch((error: unknown) => error),
  );
  return { end, atMs: asked.map(({ atMs }) => atMs) };
}

test.each([408, 429, 500, 502, 503, 504])(
  'HTTP %i is asked again, with pauses that double',
  async (status) => {
    const { end, atMs } = await retried([reply(status), reply(status), reply(status)]);
    expect(end).toMatchObject({ status: 200, repeated: status !== 429 });
    expect(atMs).toEqual([0, 500, 1_500, 3_500]);
  },
);

test('a broken connection is asked again; a refusal is not', async () => {
  expect((await retried([new Error('ECONNRESET')])).atMs).toEqual([0, 500]);
  const refused = await retried([reply(403)]);
  expect(refused).toMatchObject({ end: { status: 403, repeated: false }, atMs: [0] });
});

test('Retry-After is kept, in seconds, and no longer than two minutes', async () => {
  expect((await retried([reply(429, '', { 'retry-after': '7' })])).atMs).toEqual([0, 7_000]);
  expect((await retried([reply(503, '', { 'retry-after': '99999' })])).atMs).toEqual([0, 120_000]);
  expect(
    (await retried([reply(503, '', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' })])).atMs,
  ).toEqual([0, 500]);
});

test('it ends before the time that it was given, with what it was answered last', async () => {
  const { end, atMs } = await retried(
    Array.from({ length: 99 }, () => reply(503)),
    START_MS + 60_000,
  );
  expect(end).toBeInstanceOf(NoAnswer);
  expect(end).toMatchObject({ message: 'HTTP 503' });
  expect(Math.max(...atMs)).toBeLessThan(60_000);
  expect(atMs.at(-1)).toBeGreaterThan(40_000);
});
