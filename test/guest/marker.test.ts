// What a machine reports: the marker's fields, its truth, and that it is valid whatever was printed.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMarker } from '#shared/lifecycle/marker.ts';
import { faultsOf } from '#test/docs/published-schemas.ts';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { INSTANCE, NONCE } from '#test/guest/intent.ts';

const NONCE_SHA256 = createHash('sha256').update(NONCE).digest('hex');

let machine: GuestMachine;

/** One ordinary run that fails; what only reads stands on it. */
beforeAll(async () => {
  machine = await GuestMachine.create({ container: 'echo bye; exit 3' });
  await machine.run();
});
afterAll(() => machine[Symbol.asyncDispose]());

test('A46: the marker has the nine reference fields first, then ours', () => {
  const marker = machine.lastMarker();
  expect(Object.keys(marker)).toEqual([
    ...['status', 'exit_code', 'instance', 'zone', 'detail', 'boot_epoch', 'exec_start_epoch'],
    ...['end_epoch', 'execute_s', 'schema', 'run_id', 'attempt', 'step', 'cause', 'boot_id'],
    ...['image_digest', 'peak_memory_bytes', 'gpu_count', 'pull_end_epoch', 'outputs', 'nonce'],
  ]);
  expect(marker).toMatchObject({
    status: 'FAILED',
    exit_code: 3,
    instance: INSTANCE,
    zone: 'europe-west1-b',
    detail: 'bye',
    schema: 1,
    run_id: 'run-1',
    attempt: 1,
    step: 'run',
    cause: 'exit',
    boot_id: 'boot-one',
    image_digest: `sha256:${'ab'.repeat(32)}`,
    peak_memory_bytes: null,
    gpu_count: 0,
    outputs: [],
  });
  expect(readMarker(Buffer.from(JSON.stringify(marker)))).toMatchObject({
    kind: 'marker',
    marker: { status: 'FAILED', exitCode: 3, step: 'run', cause: 'exit', runId: 'run-1' },
  });
});

test('A46: every marker that the script writes is as docs/schemas publishes it', () => {
  expect(machine.markers().map(({ status }) => status)).toEqual(['RUNNING', 'FAILED']);
  for (const marker of machine.markers()) expect(faultsOf('marker', marker)).toEqual([]);
});

test('A55: a RUNNING marker without an exit code stands before any work', async () => {
  await using machine = await GuestMachine.create();
  machine.plan('login.sh', 'cp "$RUN/steps.log" "$STUB/steps-at-login"; exit 1');
  machine.plan('pull.sh', 'exit 1');
  const started = machine.start();
  await machine.until(() => machine.dockerCalls().length > 0);
  expect(machine.markers()).toMatchObject([
    { status: 'RUNNING', exit_code: null, cause: null, nonce: NONCE_SHA256 },
  ]);
  started.child.kill('SIGKILL');
});

test('the nonce is shown in a terminal marker alone', () => {
  expect(machine.markers().map(({ status, nonce }) => [status, nonce])).toEqual([
    ['RUNNING', NONCE_SHA256],
    ['FAILED', NONCE],
  ]);
});

test('D27: what has not happened is null: no execution time before the start, none without one', async () => {
  await using machine = await GuestMachine.create();
  machine.plan('fail-pull', '100');
  await machine.run();
  const [running, failed] = machine.markers();
  const unknown = { exec_start_epoch: null, execute_s: null, pull_end_epoch: null };
  expect(running).toMatchObject({ status: 'RUNNING', end_epoch: null, ...unknown });
  expect(failed).toMatchObject({ status: 'FAILED', ...unknown });
  expect(failed?.end_epoch).toBeTypeOf('number');
});

test('A43: boot and start of the execution are the clock at boot and at the start', async () => {
  await using machine = await GuestMachine.create({ guest: { uptimeFile: 'uptime' } });
  // The machine had been up for 100 s when the clock stood at 2,000,000.
  machine.installText('date', '[[ $1 == +%s ]] && echo 2000000 || /bin/date "$@"');
  machine.setUptime('100.25 7.5');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    boot_epoch: 1_999_900,
    exec_start_epoch: 2_000_000,
    execute_s: 0,
  });
});

test('A58: a slow pull does not count in the execution time', async () => {
  await using machine = await GuestMachine.create();
  // The clock stands still but for the pull, which takes 1,000 s, and the container, which takes 7 s.
  machine.installText('date', '[[ $1 == +%s ]] || exec /bin/date "$@"; cat "$STUB/clock"');
  machine.plan('clock', '5000\n');
  machine.plan('pull.sh', 'echo 6000 >"$STUB/clock"');
  machine.plan('wait.sh', 'echo 6007 >"$STUB/clock"');
  await machine.run();
  const marker = machine.lastMarker();
  expect(marker).toMatchObject({ pull_end_epoch: 6000, exec_start_epoch: 6000 });
  expect(marker).toMatchObject({ end_epoch: 6007, execute_s: 7 });
  expect(Number(marker.boot_epoch)).toBeLessThanOrEqual(5000);
});

test('A50: exit code 0 is SUCCEEDED, every other one FAILED with that code', async () => {
  const codes = [0, 1, 125, 126, 127, 137, 143];
  const markers = codes.map(async (code) => {
    await using machine = await GuestMachine.create({ container: `exit ${code}` });
    await machine.run();
    return machine.lastMarker();
  });
  expect(await Promise.all(markers)).toMatchObject(
    codes.map((code) => ({
      status: code === 0 ? 'SUCCEEDED' : 'FAILED',
      cause: 'exit',
      exit_code: code,
    })),
  );
});

test('A49: the marker goes up by a media upload with a JSON content type and a precondition', () => {
  const uploads = machine.google.requestsAt('gce-status').filter(({ method }) => method === 'POST');
  expect(uploads).toHaveLength(2);
  for (const upload of uploads) {
    expect(upload.query.get('uploadType')).toBe('media');
    expect(upload.headers['content-type']).toBe('application/json');
    expect(Number(upload.query.get('ifGenerationMatch'))).toBeGreaterThan(1000);
  }
});

test('A38: object names are percent-encoded with nothing safe', () => {
  const name = `runs%2Fgce-status%2F${INSTANCE}.json`;
  expect(machine.google.requestsAt(`GET /storage/v1/b/b1/o/${name}?alt=media`)).toHaveLength(2);
  expect(machine.google.requestsAt(`uploadType=media&name=${name}&`)).toHaveLength(2);
});

test('D7: a report that is refused for a while is sent until it is taken', async () => {
  await using machine = await GuestMachine.create({
    container: 'until [[ -e "$STUB/go" ]]; do sleep 0.02; done',
  });
  const started = machine.start();
  await machine.until(() => machine.markers().length === 1);
  machine.google.plant({ at: 'gce-status', kind: 503, times: 8 });
  machine.plan('go', '');
  await started.exit;
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 });
  const order = machine.google.requests.map(({ method, target }) => `${method} ${target}`);
  const accepted = order.findLastIndex(
    (line) => line.includes('POST /upload') && line.includes('gce'),
  );
  expect(order.findIndex((line) => line.startsWith('DELETE'))).toBeGreaterThan(accepted);
});

test('A48: a report that is never taken does not keep the machine: at its deadline it deletes itself', async () => {
  await using machine = await GuestMachine.create({
    guest: { uptimeFile: 'uptime', tries: 2 },
  });
  machine.setUptime('10.00 1');
  let refused = 0;
  machine.google.plant({
    at: 'POST /upload/storage/v1/b/b1/o?uploadType=media&name=runs%2Fgce-status',
    kind: 503,
    times: 100_000,
    whenPlayed: () => {
      refused += 1;
      // Two of the first marker, then twenty of the report; then its time is over.
      if (refused === 22) machine.setUptime('7201.00 1');
    },
  });
  await machine.run();
  expect(machine.markers()).toEqual([]);
  expect(refused).toBe(22);
  expect(machine.deletes()).toHaveLength(1);
});

test('a report whose reply was lost is found in place by its own bytes', async () => {
  await using machine = await GuestMachine.create();
  const started = machine.start();
  await machine.until(() => machine.markers().length === 1);
  machine.google.plant({
    at: 'POST /upload/storage/v1/b/b1/o?uploadType=media&name=runs%2Fgce-status',
    kind: 'lose-reply',
  });
  await started.exit;
  expect(machine.markers().map(({ status }) => status)).toEqual(['RUNNING', 'SUCCEEDED']);
  expect(machine.steps()).toContain('report: accepted');
});

test('a terminal marker that came in between wins over our report', async () => {
  await using machine = await GuestMachine.create();
  const sealed = JSON.stringify({ status: 'FAILED', sealed: true });
  const started = machine.start();
  await machine.until(() => machine.markers().length === 1);
  machine.google.plant({
    at: 'POST /upload/storage/v1/b/b1/o?uploadType=media&name=runs%2Fgce-status',
    kind: 503,
    whenPlayed: () => machine.google.put(machine.marker, sealed),
  });
  await started.exit;
  expect(machine.google.objects.get(machine.marker)?.bytes.toString()).toBe(sealed);
  expect(machine.deletes()).toHaveLength(1);
});
