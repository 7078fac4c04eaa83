import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { endedMetadata } from '#shared/lifecycle/ended-entry.ts';
import { hashNonce } from '#shared/lifecycle/marker.ts';
import { markerObject } from '#shared/plan/objects.ts';
import { deleteMachine } from '#shared/runs/act.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST, SETTINGS } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const NEVER = { bootMs: 10_000, workMs: 3_600_000, exitCode: 0, selfDeleteMs: null };
let kernel: Kernel;
let nonce: string;
let instance: string;

/** A run whose machine works for an hour; tests put markers of their own in its place. */
beforeEach(async () => {
  kernel = new Kernel({ guest: () => NEVER });
  kernel.request({ ...REQUEST, runId: 'r1' });
  await kernel.run(30_000, { sweeps: false });
  const attempt = kernel.record('r1')?.attempts[0];
  nonce = attempt?.nonce ?? '';
  instance = attempt?.instance ?? '';
  expect(kernel.record('r1')?.state).toBe('RUNNING');
});

const marker = (change: object = {}) => ({
  status: 'SUCCEEDED',
  exit_code: 0,
  instance,
  zone: 'us-central1-a',
  detail: 'done',
  boot_epoch: 1_796_126_410,
  exec_start_epoch: 1_796_126_411,
  end_epoch: 1_796_126_420,
  execute_s: 9,
  schema: 1,
  run_id: 'r1',
  attempt: 1,
  step: 'run',
  cause: 'exit',
  boot_id: 'b',
  nonce,
  ...change,
});

function put(bytes: Uint8Array | string, metadata: object = {}): string {
  return kernel.put(markerObject(instance), bytes, metadata);
}

const notify = (
  generation: string,
  name = markerObject(instance),
  bucketId = SETTINGS.plan.bucket,
) =>
  kernel.publish('run-status', '', {
    bucketId,
    objectId: name,
    objectGeneration: generation,
    eventType: 'OBJECT_FINALIZE',
  });

describe('markers that do not count', () => {
  const cases: [string, (m: typeof marker) => Uint8Array | string][] = [
    ['a wrong nonce', (m) => JSON.stringify(m({ nonce: '0'.repeat(32) }))],
    [
      'the nonce’s hash in a terminal marker',
      (m) => JSON.stringify(m({ nonce: hashNonce(nonce) })),
    ],
    ['half a JSON document', (m) => JSON.stringify(m()).slice(0, 100)],
    ['five megabytes', (m) => JSON.stringify(m({ detail: 'x'.repeat(5_000_000) }))],
    ['another attempt', (m) => JSON.stringify(m({ attempt: 2 }))],
    ['another run', (m) => JSON.stringify(m({ run_id: 'r2' }))],
    ['our own seal', (m) => JSON.stringify(m({ sealed: true, nonce: hashNonce(nonce) }))],
    ['an unknown status', (m) => JSON.stringify(m({ status: 'DONE' }))],
  ];
  test.each(cases)('D11: %s: acknowledged, the run goes on', async (_name, make) => {
    put(make(marker));
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
    expect(kernel.machines()).toHaveLength(1);
    const statuses = kernel.pushes.filter((push) => push.function === 'finalize');
    expect(statuses.every((push) => push.status === 204)).toBe(true);
  });

  test('a marker of an unknown run is acknowledged and changes nothing', async () => {
    const name = 'runs/gce-status/mayfly-nobody-000000000000-1.json';
    kernel.put(
      name,
      JSON.stringify(marker({ run_id: 'nobody', instance: 'mayfly-nobody-000000000000-1' })),
    );
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.objects('runs/results/')).toEqual([]);
    expect(kernel.pushes.at(-1)).toEqual({ function: 'finalize', status: 204 });
  });

  test('A83: a marker is named by its whole path: a bare instance name, or another prefix, is not read', async () => {
    const names = [instance, `${instance}.json`, `runs/other/${instance}.json`];
    const before = kernel.calls.length;
    for (const name of names) notify(kernel.put(name, JSON.stringify(marker())), name);
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.calls.slice(before)).toEqual([]);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
    const ignored = kernel.logs.filter((line) => line.event === 'status-ignored');
    expect(ignored.map((line) => line.message)).toEqual(
      names.map((name) => expect.stringContaining(`${name} is no marker`)),
    );
  });

  test('P97: log entries, whole or split by a newline, are acknowledged and counted; the run goes on', async () => {
    const before = kernel.pushes.length;
    const entries = [
      { textPayload: '{"mayfly_event":{"seq":4,"msg":"abc', labels: { run_id: 'r1' } },
      { textPayload: 'def"}}' },
      { insertId: 'no-labels' },
    ];
    for (const entry of entries) kernel.publish('run-status', JSON.stringify(entry));
    kernel.publish('run-status', '{"textPayload":"cut');
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.pushes.slice(before).map((push) => push.status)).toEqual(Array(4).fill(204));
    expect(kernel.logs.filter((line) => line.event === 'status-ignored')).toHaveLength(4);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
  });

  test('a notification of another bucket, and a request on the status topic, are acknowledged', async () => {
    const before = kernel.pushes.length;
    notify('1', markerObject(instance), 'another-bucket');
    kernel.publish('run-status', JSON.stringify(REQUEST));
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.pushes.slice(before).map((push) => push.status)).toEqual([204, 204]);
    expect(kernel.record('r1')?.state).toBe('RUNNING');
  });
});

describe('markers that count', () => {
  test('P61: gzip-encoded', async () => {
    put(gzipSync(JSON.stringify(marker())), { contentEncoding: 'gzip' });
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
  });

  test('P57: invalid UTF-8 in its detail', async () => {
    const bytes = Buffer.from(JSON.stringify(marker({ detail: 'XX' })));
    bytes[bytes.indexOf('XX')] = 0xff;
    put(bytes);
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED', detail: '\ufffdX' });
  });

  test('P59: the event’s generation is replaced already: the newer one gives the one result', async () => {
    const lost = put(JSON.stringify(marker({ status: 'RUNNING', nonce: hashNonce(nonce) })));
    kernel.clock.moveTo(kernel.clock.nowMs() + 1500);
    put(JSON.stringify(marker()));
    notify(lost);
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.pushes.every((push) => push.status === 204)).toBe(true);
    expect(kernel.objects('runs/results/')).toHaveLength(1);
  });

  test('P63: three notifications of one generation: one result, one event', async () => {
    const generation = put(JSON.stringify(marker()));
    notify(generation);
    notify(generation);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.objects('runs/results/')).toHaveLength(1);
    expect(kernel.objects('runs/ended/')).toHaveLength(1);
    expect(kernel.events()).toHaveLength(1);
    expect(kernel.pushes.every((push) => push.status === 204)).toBe(true);
  });

  test('the entry in the index of ended runs tells what a report counts of the result', async () => {
    notify(put(JSON.stringify(marker())));
    await kernel.run(10 * MINUTE_MS);
    const params = { bucket: SETTINGS.plan.bucket, prefix: 'runs/ended/' };
    const reply = kernel.call({ method: 'storage.objects.list', params });
    const [entry] = (reply.body as { items: { size: string; metadata?: object }[] }).items;
    const result = kernel.result('r1');
    if (result === null) throw new Error('no result');
    expect(entry).toMatchObject({ size: '0', metadata: endedMetadata(result) });
  });

  test('P65: events in the wrong order: the late ones write nothing', async () => {
    const running = put(JSON.stringify(marker({ status: 'RUNNING', nonce: hashNonce(nonce) })));
    kernel.clock.moveTo(kernel.clock.nowMs() + 1500);
    const done = put(JSON.stringify(marker()));
    await kernel.run(MINUTE_MS, { sweeps: false });
    const ended = kernel.record('r1');
    const before = kernel.calls.length;
    notify(running);
    notify('1');
    await kernel.run(MINUTE_MS, { sweeps: false });
    const writes = kernel.calls
      .slice(before)
      .filter((call) => /\.(insert|delete)$/.test(call.method));
    expect(writes).toEqual([]);
    notify(done);
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.record('r1')).toEqual(ended);
    expect(kernel.events()).toHaveLength(1);
  });

  test('P70: the one event that arrives is the last: PROVISIONING to SUCCEEDED, phases from the marker', async () => {
    kernel = new Kernel({ guest: () => ({ ...NEVER, bootMs: 3_600_000 }) });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(30_000, { sweeps: false });
    expect(kernel.record('r1')?.state).toBe('PROVISIONING');
    nonce = kernel.record('r1')?.attempts[0]?.nonce ?? '';
    put(JSON.stringify(marker({ boot_epoch: null })));
    await kernel.run(MINUTE_MS, { sweeps: false });
    const result = kernel.result('r1');
    expect(result).toMatchObject({ status: 'SUCCEEDED', exitCode: 0, attempts: [{ attempt: 1 }] });
    // 1,796,126,411 s after the epoch, by date(1).
    expect(result?.phases).toMatchObject({ bootedAt: null, startedAt: '2026-12-01T12:00:11.000Z' });
    expect(result?.seconds).toMatchObject({ provision: null, pull: null, execute: 9 });
    expect(Object.values(result?.seconds ?? {}).filter((n) => n !== null && n < 0)).toEqual([]);
  });

  test('P70: a machine whose clock is behind gives phases of no length, never negative ones', async () => {
    put(JSON.stringify(marker({ boot_epoch: 1_796_126_300, end_epoch: 1_796_126_410 })));
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.result('r1')?.seconds).toMatchObject({ provision: 0, execute: 0 });
  });

  test('A10: the machine is deleted twice: the second answer is that it is gone', async () => {
    // Nobody hears of it and goes on with the run.
    kernel.world.logging.sinks.clear();
    const remove = () => deleteMachine(kernel.deps('finalize'), 'r1', instance, 'us-central1-a');
    expect(await remove()).toMatchObject({ kind: 'accepted' });
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.machines()).toEqual([]);
    expect(await remove()).toEqual({ kind: 'gone' });
  });

  test('P71: a delete that finds nothing is a success; the function never waits for its end', async () => {
    // Nobody is told that the machine is gone before its last word arrives.
    kernel.world.logging.sinks.clear();
    kernel.call({
      method: 'compute.instances.delete',
      params: { project: SETTINGS.plan.project, zone: 'us-central1-a', instance },
    });
    await kernel.run(MINUTE_MS, { sweeps: false });
    put(JSON.stringify(marker()));
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.pushes.every((push) => push.status === 204)).toBe(true);
    const polls = kernel.calls.filter(
      (call) => call.function === 'finalize' && /zoneOperations/.test(call.method),
    );
    expect(polls).toEqual([]);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.objects('runs/active/')).toEqual([]);
  });

  test('P95: finalize writes nothing under the prefix that wakes it', async () => {
    put(JSON.stringify(marker()));
    await kernel.run(MINUTE_MS, { sweeps: false });
    const written = kernel.calls.filter(
      (call) => call.function === 'finalize' && call.method === 'storage.objects.insert',
    );
    expect(written.length).toBeGreaterThan(0);
    expect(written.filter((call) => call.name.includes('runs/gce-status/'))).toEqual([]);
  });

  test('P95: deliveries that die after their writes and come again start nothing more', async () => {
    // The world that beforeEach made is left; this one kills finalize right after it wrote the result.
    const calls = kernel.calls.filter((call) => call.function === 'finalize').length;
    const at = await indexOfResult(calls);
    kernel = new Kernel({
      guest: () => NEVER,
      kill: { function: 'finalize', at, when: 'after' },
    });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(30_000, { sweeps: false });
    nonce = kernel.record('r1')?.attempts[0]?.nonce ?? '';
    const generation = put(JSON.stringify(marker()));
    for (let count = 0; count < 3; count++) {
      await kernel.run(20 * MINUTE_MS);
      notify(generation);
    }
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.pushes).toContainEqual({ function: 'finalize', status: 0 });
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
    expect(kernel.events()).toHaveLength(1);
    expect(kernel.inserts).toHaveLength(1);
    expect(kernel.objects('runs/gce-status/')).toHaveLength(1);
    // RUNNING, the terminal marker twice (it was killed), and the three notifications of ours.
    expect(kernel.pushes.filter((push) => push.function === 'finalize').length).toBeLessThan(9);
  });

  test('finalize needs at most five writes and one delete for a whole run', async () => {
    put(JSON.stringify(marker()));
    await kernel.run(MINUTE_MS, { sweeps: false });
    const calls = kernel.calls.filter((call) => call.function === 'finalize');
    expect(
      calls.filter((call) => call.method === 'storage.objects.insert').length,
    ).toBeLessThanOrEqual(5);
    expect(calls.filter((call) => call.method === 'compute.instances.delete')).toHaveLength(1);
  });
});

/** Which of finalize's calls writes the result, in the run of this test; `from` were made before. */
async function indexOfResult(from: number): Promise<number> {
  put(JSON.stringify(marker()));
  await kernel.run(MINUTE_MS, { sweeps: false });
  const calls = kernel.calls.filter((call) => call.function === 'finalize');
  const index = calls.findIndex(
    (call) => call.method === 'storage.objects.insert' && call.name.includes('runs/results/'),
  );
  expect(index).toBeGreaterThanOrEqual(from);
  return index;
}
