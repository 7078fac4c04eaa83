import { describe, expect, test } from 'vitest';
import { sweepDisk } from '#functions/sweep/disks.ts';
import { emptyReport } from '#functions/sweep/report.ts';
import { recordObject } from '#shared/plan/objects.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel, type KernelOptions } from '#test/simulation/kernel.ts';
import { REQUEST, SETTINGS } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const ZONE = 'us-central1-a';
const longGuest = () => ({ ...GOOD_GUEST, workMs: 40 * MINUTE_MS });
const NO_RETRY = { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 };

/** A run whose machine works; nothing has swept yet. */
async function working(options: KernelOptions = {}, request: object = {}): Promise<Kernel> {
  const kernel = new Kernel({ guest: longGuest, ...options });
  kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] }, ...request });
  await kernel.run(30_000, { sweeps: false });
  expect(kernel.works).toHaveLength(1);
  return kernel;
}

const instanceOf = (kernel: Kernel) => kernel.record('r1')?.attempts.at(-1)?.instance ?? '';
const at = (kernel: Kernel) => ({
  project: SETTINGS.plan.project,
  zone: ZONE,
  instance: instanceOf(kernel),
});

function nothingLeft(kernel: Kernel): void {
  expect(kernel.machines()).toEqual([]);
  expect(kernel.disks()).toEqual([]);
  expect(kernel.objects('runs/active/')).toEqual([]);
}

/** A machine or disk that somebody else made in the project. */
async function foreign(
  kernel: Kernel,
  name: string,
  labels: Record<string, string>,
): Promise<void> {
  const base = 'https://compute.googleapis.com/compute/v1/projects/local-project/zones';
  const body = {
    name,
    machineType: `zones/${ZONE}/machineTypes/e2-standard-4`,
    labels,
    disks: [
      {
        boot: true,
        autoDelete: true,
        initializeParams: {
          sourceImage: 'projects/cos-cloud/global/images/family/cos-121-lts',
          labels,
        },
      },
    ],
    networkInterfaces: [{ subnetwork: 'regions/us-central1/subnetworks/default' }],
  };
  const url = `${base}/${ZONE}/instances`;
  expect(await kernel.send({ method: 'POST', url, body, timeoutMs: 1000 })).toBe(200);
}

const OURS = { 'managed-by': 'mayfly', deployment: 'mayfly' };
const seconds = (kernel: Kernel) => Math.floor(kernel.clock.nowMs() / 1000);

describe('what is not known is not gone', () => {
  test.each(['warning', 'unreachables'])(
    'P75: a zone behind a %s: nothing is lost, the run succeeds',
    async (how) => {
      const kernel = await working();
      kernel.call({ method: 'local.compute.unreachable', params: { zone: ZONE, how } });
      await kernel.run(20 * MINUTE_MS);
      expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
      kernel.call({ method: 'local.compute.unreachable', params: { zone: ZONE } });
      await kernel.run(HOUR_MS);
      expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED' });
      expect(kernel.result('r1')?.attempts).toHaveLength(1);
      nothingLeft(kernel);
    },
  );

  test('P75: a 404 from a zone that could not be listed is no evidence', async () => {
    const kernel = await working();
    kernel.call({ method: 'local.compute.unreachable', params: { zone: ZONE, how: 'warning' } });
    kernel.world.faults.plant({
      match: { method: 'compute.instances.get' },
      effect: 'before',
      kind: 'status',
      status: 404,
      times: Number.POSITIVE_INFINITY,
    });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
    expect(kernel.record('r1')?.attempts).toHaveLength(1);
  });

  test('D3: a machine that is not listed and cannot be asked after is left alone', async () => {
    const kernel = await working({ world: { compute: { listLagMs: 30 * MINUTE_MS } } });
    kernel.world.faults.plant({
      match: { method: 'compute.instances.get' },
      effect: 'before',
      kind: 'status',
      status: 503,
      times: Number.POSITIVE_INFINITY,
    });
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
    kernel.world.faults.clear();
    await kernel.run(2 * HOUR_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED' });
    expect(kernel.works).toHaveLength(1);
    nothingLeft(kernel);
  });

  test('P32: a machine that lists and questions do not show yet is not lost', async () => {
    const lag = { listLagMs: 10 * MINUTE_MS, getLagMs: 10 * MINUTE_MS };
    const kernel = new Kernel({
      guest: longGuest,
      world: { compute: { ...lag, provisioningMs: 8 * MINUTE_MS } },
    });
    kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] } });
    await kernel.run(2 * HOUR_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED', attempts: [{ attempt: 1 }] });
    nothingLeft(kernel);
  });
});

describe('silence', () => {
  test('A12: a machine that says nothing more is left to its limit, then TIMED_OUT and deleted', async () => {
    const silent = () => ({ ...GOOD_GUEST, workMs: 10 * HOUR_MS });
    const kernel = await working({ guest: silent }, { ttlSeconds: 3600 });
    await kernel.run(55 * MINUTE_MS);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
    expect(kernel.machines()).toHaveLength(1);
    await kernel.run(30 * MINUTE_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'TIMED_OUT', cause: 'ttl' });
    nothingLeft(kernel);
  });

  test('A12: a machine that never takes its claim is fenced off, then deleted: LOST', async () => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, bootMs: 5 * HOUR_MS }) });
    kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] }, retry: NO_RETRY });
    await kernel.run(9 * MINUTE_MS);
    expect(kernel.record('r1')).toMatchObject({ state: 'PROVISIONING', end: null });
    expect(kernel.machines()).toHaveLength(1);
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'LOST' });
    const order = kernel.calls.map((call) => `${call.method} ${call.name}`);
    const claim = order.findIndex((line) => /objects\.insert .*claim\.json/.test(line));
    const removal = order.findIndex((line) => line.startsWith('compute.instances.delete'));
    expect(claim).toBeGreaterThan(-1);
    expect(removal).toBeGreaterThan(claim);
    expect(kernel.works).toEqual([]);
    nothingLeft(kernel);
  });
});

describe('the boot watchdog', () => {
  /** A guest attribute, put as any process of the machine puts it. */
  function say(kernel: Kernel, key: string, value: string): void {
    const [id = ''] = [...kernel.world.compute.machinesById.keys()];
    const path = `/computeMetadata/v1/instance/guest-attributes/mayfly/${key}`;
    const params = { machine: id, path, flavor: 'Google' };
    const body = new TextEncoder().encode(value);
    expect(kernel.call({ method: 'metadata.put', params, body }).status).toBe(200);
  }

  async function neverClaims(attributes: Readonly<Record<string, string>>): Promise<Kernel> {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, bootMs: 5 * HOUR_MS }) });
    kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] }, retry: NO_RETRY });
    await kernel.run(MINUTE_MS);
    for (const [key, value] of Object.entries(attributes)) say(kernel, key, value);
    return kernel;
  }

  test('B1: a boot that failed before its claim: FAILED at its step, with its last 25 lines, read first', async () => {
    const log = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join('\n');
    const status = 'failed:credentials';
    const kernel = await neverClaims({ status, detail: log, boot_id: 'boot-7' });
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')).toMatchObject({
      status: 'FAILED',
      cause: 'step-failed',
      step: 'credentials',
    });
    const detail = kernel.result('r1')?.detail ?? '';
    expect(detail).toContain('boot-7');
    expect(detail.split('\n').slice(1)).toEqual(log.split('\n').slice(-25));
    const order = kernel.calls.map((call) => `${call.method} ${call.name}`);
    const read = order.findIndex((line) => line.startsWith('compute.instances.getGuestAttributes'));
    expect(read).toBeGreaterThan(-1);
    expect(order.findIndex((line) => /objects\.insert .*claim\.json/.test(line))).toBeGreaterThan(
      read,
    );
    nothingLeft(kernel);
  });

  test.each([403, 429])('B61: attributes behind a %d: LOST as without them', async (status) => {
    const kernel = await neverClaims({ status: 'failed:tools' });
    kernel.world.faults.plant({
      match: { method: 'compute.instances.getGuestAttributes' },
      effect: 'before',
      kind: 'status',
      status,
      times: Number.POSITIVE_INFINITY,
    });
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'LOST', cause: 'machine-lost' });
    nothingLeft(kernel);
  });

  test('B55: a healthy boot is never asked for its attributes', async () => {
    const kernel = await working();
    await kernel.run(2 * HOUR_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.calls.filter((call) => call.method.endsWith('getGuestAttributes'))).toEqual([]);
  });
});

describe('what nobody else finishes', () => {
  test('A12: a report whose notification is lost: the sweep reads the marker itself', async () => {
    const kernel = new Kernel({
      guest: () => ({ ...GOOD_GUEST, selfDeleteMs: null }),
      world: { storage: { notificationLoss: 1 } },
    });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    nothingLeft(kernel);
  });

  test('A120: gone without a word: LOST, after the machine is confirmed gone', async () => {
    const kernel = await working({}, { retry: NO_RETRY });
    kernel.call({
      method: 'local.compute.hostError',
      params: { zone: ZONE, name: instanceOf(kernel) },
    });
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'LOST', cause: 'host-error' });
    nothingLeft(kernel);
  });

  test('P51: preempted without a word: PREEMPTED from the operation, by instance id; the next attempt works', async () => {
    const kernel = await working();
    kernel.call({
      method: 'local.compute.preempt',
      params: { zone: ZONE, name: instanceOf(kernel) },
    });
    await kernel.run(3 * HOUR_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED' });
    expect(kernel.result('r1')?.attempts).toMatchObject([
      { status: 'PREEMPTED', cause: 'preempted' },
      { status: 'SUCCEEDED' },
    ]);
    expect(kernel.record('r1')?.used).toMatchObject({ preempted: 1, infrastructure: 0 });
    nothingLeft(kernel);
  });

  test('D2: a machine that was stopped has no time limit any more: it is deleted at once', async () => {
    const kernel = await working({}, { retry: NO_RETRY });
    kernel.call({ method: 'compute.instances.stop', params: at(kernel) });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('LOST');
    nothingLeft(kernel);
  });

  test('D4: an insert that landed after its submit died is found and its run goes on', async () => {
    const kernel = new Kernel({ kill: { function: 'submit', at: 4, when: 'after' } });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(HOUR_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
    nothingLeft(kernel);
  });

  test('A8: with finalize and the machine’s own delete lost, the time limit still deletes', async () => {
    const kernel = new Kernel({
      guest: () => ({ ...GOOD_GUEST, selfDeleteMs: null }),
      world: { storage: { notificationLoss: 1 } },
    });
    kernel.request({ ...REQUEST, runId: 'r1', ttlSeconds: 600 });
    await kernel.run(12 * MINUTE_MS, { sweeps: false });
    expect(kernel.machines()).toEqual([]);
  });

  test('a container that outlives its time: TIMED_OUT, ttl', async () => {
    const kernel = await working(
      { guest: () => ({ ...GOOD_GUEST, workMs: 10 * HOUR_MS }) },
      { ttlSeconds: 600 },
    );
    await kernel.run(2 * HOUR_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'TIMED_OUT', cause: 'ttl' });
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
    nothingLeft(kernel);
  });
});

test('a further attempt begins without waiting for a sweep, and an ended run has no step', async () => {
  const guest = ({ name }: { readonly name: string }) =>
    name.endsWith('-1') ? { ...GOOD_GUEST, exitCode: 1 } : GOOD_GUEST;
  const kernel = new Kernel({ guest });
  kernel.request({ ...REQUEST, runId: 'r1', retry: { ...NO_RETRY, failed: 1 } });
  await kernel.run(5 * MINUTE_MS, { sweeps: false });
  expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED', step: null });
  expect(kernel.result('r1')?.attempts).toMatchObject([{ cause: 'exit' }, { status: 'SUCCEEDED' }]);
});

describe('a delete that is refused', () => {
  async function lost(): Promise<Kernel> {
    const kernel = await working({}, { retry: NO_RETRY });
    kernel.call({ method: 'compute.instances.stop', params: at(kernel) });
    await kernel.run(MINUTE_MS, { sweeps: false });
    return kernel;
  }
  const refuse = (kernel: Kernel, status: number) =>
    kernel.world.faults.plant({
      match: { method: 'compute.instances.delete' },
      effect: 'before',
      kind: 'status',
      status,
      times: Number.POSITIVE_INFINITY,
    });
  const told = (kernel: Kernel) => kernel.logs.filter((line) => line.event === 'machine-undeleted');

  test.each([403, 503])(
    'B59: %d: the report names machine, zone and project, what it may cost, and how to look at it',
    async (status) => {
      const kernel = await lost();
      const instance = instanceOf(kernel);
      refuse(kernel, status);
      await kernel.run(4 * MINUTE_MS);
      expect(kernel.machines()).toEqual([instance]);
      const { project } = SETTINGS.plan;
      const text = told(kernel)[0]?.message ?? '';
      expect(text).toContain(`VM ${instance} in ${ZONE} of project ${project} was not deleted`);
      expect(text).toContain(`may still run and bill in ${ZONE}`);
      expect(text).toContain('each pass of the sweep sends the delete again');
      expect(text).toContain(
        `gcloud compute instances get-serial-port-output ${instance} --zone=${ZONE} --project=${project}`,
      );
    },
  );

  test('B60: it is sent again in each pass, and taken when it may be', async () => {
    const kernel = await lost();
    refuse(kernel, 403);
    await kernel.run(6 * MINUTE_MS);
    expect(told(kernel).length).toBeGreaterThanOrEqual(2);
    kernel.world.faults.clear();
    await kernel.run(5 * MINUTE_MS);
    nothingLeft(kernel);
  });

  test('B58: of a machine that was deleted nobody is told about a serial console', async () => {
    const kernel = await lost();
    await kernel.run(20 * MINUTE_MS);
    nothingLeft(kernel);
    expect(told(kernel)).toEqual([]);
    expect(JSON.stringify(kernel.logs)).not.toContain('serial');
  });
});

describe('a failed machine that is kept for a look', () => {
  /** A run whose record asks for it, as submit writes it. */
  async function failed(seconds: number): Promise<Kernel> {
    const kernel = await working({
      guest: () => ({ ...GOOD_GUEST, workMs: 5 * MINUTE_MS, exitCode: 3, selfDeleteMs: null }),
    });
    const record = kernel.record('r1');
    if (record === null) throw new Error('no record');
    const terms = { ...record.terms, keepOnFailureSeconds: seconds };
    kernel.put(recordObject('r1'), JSON.stringify({ ...record, terms }));
    await kernel.run(5 * MINUTE_MS);
    return kernel;
  }

  test('the result is there at once, the machine until its time is over, then nothing is left', async () => {
    const kernel = await failed(1800);
    const result = kernel.result('r1');
    expect(result).toMatchObject({ status: 'FAILED', cause: 'exit', exitCode: 3 });
    const until = Date.parse(result?.attempts[0]?.keptUntil ?? '');
    expect(until - Date.parse(result?.phases.endedAt ?? '')).toBe(1_800_000);
    expect(kernel.machines()).toEqual([instanceOf(kernel)]);
    expect(kernel.objects('runs/active/')).toHaveLength(1);
    await kernel.run(until - 1000 - kernel.clock.nowMs());
    expect(kernel.machines()).toEqual([instanceOf(kernel)]);
    expect(kernel.calls.map((call) => call.method)).not.toContain('compute.instances.delete');
    await kernel.run(5 * MINUTE_MS);
    nothingLeft(kernel);
  });

  test('never past its deadline', async () => {
    const kernel = await failed(604_800);
    const [name = ''] = kernel.machines();
    const machine = [...kernel.world.compute.machines.values()].find((one) => one.name === name);
    const deadlineMs = Number(machine?.labels.deadline) * 1000;
    expect(kernel.result('r1')?.attempts[0]?.keptUntil).toBe(new Date(deadlineMs).toISOString());
    await kernel.run(deadlineMs + 5 * MINUTE_MS - kernel.clock.nowMs());
    nothingLeft(kernel);
  });

  test('stopped by somebody it goes with the next pass: its time limit is gone', async () => {
    const kernel = await failed(1800);
    kernel.call({ method: 'compute.instances.stop', params: at(kernel) });
    await kernel.run(5 * MINUTE_MS);
    nothingLeft(kernel);
  });
});

describe('what is nobody’s', () => {
  test('P73: machines of other deployments, and unlabelled ones, are never touched', async () => {
    const kernel = new Kernel();
    const past = { deadline: '1000000000', created: '1000000000' };
    await foreign(kernel, 'other-deployment', { ...OURS, deployment: 'b', ...past });
    await foreign(kernel, 'mayfly-looks-like-ours', { ...past });
    await kernel.run(HOUR_MS);
    expect(kernel.machines().sort()).toEqual(['mayfly-looks-like-ours', 'other-deployment']);
  });

  test('a machine of ours without a record goes after two periods, not before', async () => {
    const kernel = new Kernel();
    const deadline = String(seconds(kernel) + 86_400);
    await foreign(kernel, 'mayfly-nobody-000000000000-1', { ...OURS, deadline });
    await kernel.run(3 * MINUTE_MS);
    expect(kernel.machines()).toHaveLength(1);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.machines()).toEqual([]);
    expect(kernel.disks()).toEqual([]);
  });

  test('at most a named number of machines without a record goes a pass; the rest is reported', async () => {
    const kernel = new Kernel();
    const deadline = String(seconds(kernel) + 86_400);
    const count = SETTINGS.reapsPerSweepMax + 2;
    for (let n = 0; n < count; n++) {
      await foreign(kernel, `mayfly-nobody-00000000000${n.toString(36)}-1`, { ...OURS, deadline });
    }
    kernel.clock.moveTo(kernel.clock.nowMs() + 10 * MINUTE_MS);
    await kernel.sweep();
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.machines()).toHaveLength(2);
    expect(kernel.logs.filter((line) => line.event === 'strays-kept')).toHaveLength(2);
  });

  test('P77: a disk of ours that no machine uses is deleted; another one is left alone', async () => {
    const kernel = new Kernel();
    const disk = (name: string, labels: Record<string, string>) =>
      kernel.call({
        method: 'compute.disks.insert',
        params: { project: SETTINGS.plan.project, zone: ZONE },
        body: { name, sizeGb: '10', labels },
      });
    expect(disk('mayfly-gone-000000000000-1-1', OURS).status).toBe(200);
    expect(disk('mayfly-gone-not-ours', {}).status).toBe(200);
    await kernel.run(HOUR_MS);
    expect(kernel.disks()).toEqual(['mayfly-gone-not-ours']);
  });

  test('P83: of two machines of one attempt the one without the claim is deleted', async () => {
    const kernel = await working({ world: { compute: { requestIdWindowMs: 1000 } } });
    const insert = kernel.inserts[0];
    if (insert === undefined) throw new Error('no insert was sent');
    const second = JSON.parse(JSON.stringify(insert).replaceAll(ZONE, 'us-central1-b'));
    second.body.metadata.items = second.body.metadata.items.filter(
      (item: { key: string }) => item.key !== 'startup-script',
    );
    expect(await kernel.send(second)).toBe(200);
    expect(kernel.machines()).toHaveLength(2);
    await kernel.run(5 * MINUTE_MS);
    expect(kernel.machines()).toHaveLength(1);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
    await kernel.run(2 * HOUR_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
    expect(kernel.machines()).toEqual([]);
  });
});

test('P77: a disk that a list shows without our labels is not touched', async () => {
  const kernel = new Kernel();
  const name = 'mayfly-gone-000000000000-1-1';
  const size = { diskType: 'pd-balanced', sizeGiB: 10 };
  const disk = { name, zone: ZONE, labels: {}, users: [], createdMs: 0, ...size };
  const report = emptyReport('', false, 'mayfly');
  const deps = kernel.deps('sweep');
  await sweepDisk(deps, disk, report);
  expect(kernel.calls).toEqual([]);
  expect(report.disks.seen).toBe(0);
});

describe('a dry run', () => {
  test('changes nothing and reports what a real pass does', async () => {
    const kernel = await working({}, { retry: NO_RETRY });
    kernel.call({ method: 'compute.instances.stop', params: at(kernel) });
    await kernel.run(MINUTE_MS, { sweeps: false });
    const before = kernel.calls.length;
    const record = kernel.record('r1');
    const dry = await kernel.dryRun();
    const writes = kernel.calls
      .slice(before)
      .filter((call) => /\.(insert|delete|publish)$/.test(call.method));
    expect(writes).toEqual([]);
    expect(kernel.record('r1')).toEqual(record);
    expect(dry.dryRun).toBe(true);
    expect(dry.machines).toMatchObject({ seen: 1, reaped: 1 });
  });
});

describe('cancel', () => {
  const cancel = (kernel: Kernel) =>
    kernel.publish('run-requests', '{"cancel":"r1","reason":"not needed"}');

  test('A11: a running machine is deleted, the run is CANCELLED', async () => {
    const kernel = await working();
    cancel(kernel);
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'CANCELLED', cause: 'cancelled' });
    expect(kernel.result('r1')?.detail).toMatch(/not needed/);
    nothingLeft(kernel);
  });

  test('before its request: the request then finds a cancelled run', async () => {
    const kernel = new Kernel();
    cancel(kernel);
    await kernel.run(MINUTE_MS);
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('CANCELLED');
    expect(kernel.works).toEqual([]);
    nothingLeft(kernel);
  });

  test('after the end it changes nothing', async () => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(20 * MINUTE_MS);
    cancel(kernel);
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    nothingLeft(kernel);
  });

  test('P81: while the machine is being made: it never works', async () => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(3_000, { sweeps: false });
    cancel(kernel);
    await kernel.run(3 * HOUR_MS);
    expect(kernel.result('r1')?.status).toBe('CANCELLED');
    expect(kernel.works).toEqual([]);
    nothingLeft(kernel);
  });
});
