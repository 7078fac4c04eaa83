// What happens to runs, on the virtual clock, with no more rights than the table gives: together the
// scenarios make every call that a function ever makes.
import type { Grant } from '#scripts/local-cloud/iam.ts';
import type { Settings } from '#shared/cloud/config.ts';
import { instanceName } from '#shared/plan/names.ts';
import { markerObject } from '#shared/plan/objects.ts';
import type { GuestPlan } from '#test/simulation/guest.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel, type KernelOptions } from '#test/simulation/kernel.ts';
import { REQUEST, SETTINGS } from '#test/simulation/layout.ts';
import { strayBody } from '#test/simulation/swarm/strangers.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const STEP_MS = 10 * MINUTE_MS;
const { project, bucket } = SETTINGS.plan;
const ZONES = ['us-central1-a', 'us-central1-b'];
const JOB = {
  runtime: 'cloudrun-jobs',
  resources: { class: 'S', base: 'base-ml' },
  command: ['python', 'fit.py'],
  ttlSeconds: 3600,
};

export interface Scenario {
  readonly name: string;
  readonly options?: KernelOptions | ((kernelOf: () => Kernel) => KernelOptions);
  readonly request?: object;
  /** Before the request is published. */
  readonly prepare?: (kernel: Kernel) => void;
  /** After it was: time goes on here and for two hours after. */
  readonly play?: (kernel: Kernel) => Promise<void>;
  /** How run `r1` ends; null: it never began. */
  readonly status: string | null;
}

export async function play(scenario: Scenario, grants: readonly Grant[]): Promise<Kernel> {
  const { request = REQUEST, prepare, play: goOn } = scenario;
  const { options: wanted = {} } = scenario;
  const options = typeof wanted === 'function' ? wanted(() => kernel) : wanted;
  const world = { ...options.world, grants, storage: { hideMissingObjects: true } };
  const kernel: Kernel = new Kernel({ ...options, world });
  prepare?.(kernel);
  kernel.request({ ...request, runId: 'r1' });
  await goOn?.(kernel);
  for (
    let passed = 0;
    passed < 2 * HOUR_MS && (passed === 0 || !isOver(kernel));
    passed += STEP_MS
  ) {
    await kernel.run(STEP_MS);
  }
  return kernel;
}

/** Nothing is left, of the run or of anybody. */
const isOver = (kernel: Kernel) =>
  [kernel.objects('runs/active/'), kernel.machines(), kernel.disks()].every(
    (left) => left.length === 0,
  );

const guest = (plan: Partial<GuestPlan>) => ({ guest: () => ({ ...GOOD_GUEST, ...plan }) });

/** The first guest by this plan, all others good. */
function firstGuest(plan: Partial<GuestPlan>): KernelOptions {
  let count = 0;
  return { guest: () => (count++ === 0 ? { ...GOOD_GUEST, ...plan } : GOOD_GUEST) };
}

function machineOf(kernel: Kernel) {
  const [machine] = [...kernel.world.compute.machinesById.values()].filter(
    ({ labels }) => labels.deployment === SETTINGS.plan.deployment,
  );
  if (machine === undefined) throw new Error('no machine');
  return machine;
}

function onMachine(kernel: Kernel, method: string): void {
  const { zone, name, id } = machineOf(kernel);
  kernel.call({ method, params: { project, zone, instance: name, name, id } });
}

const after =
  (ms: number, act: (kernel: Kernel) => void) =>
  async (kernel: Kernel): Promise<void> => {
    await kernel.run(ms);
    act(kernel);
  };

const cancel = (kernel: Kernel) => kernel.request({ cancel: 'r1', reason: 'enough' });

function noStock(kernel: Kernel, zones: readonly string[]): void {
  for (const zone of zones) {
    const body = { machineType: 'e2-standard-4', available: 0 };
    kernel.call({ method: 'local.compute.stock', params: { zone }, body });
  }
}

function noQuota(kernel: Kernel, scope: string, metric: string): void {
  kernel.call({ method: 'local.compute.quota', params: {}, body: { scope, metric, limit: 0 } });
}

const lost =
  (method: string, effect: 'before' | 'after', times = 1) =>
  (kernel: Kernel) =>
    kernel.world.faults.plant({ match: { method }, effect, kind: 'hang', times });

const ALWAYS = Number.POSITIVE_INFINITY;
const INSERT = 'compute.instances.insert';
const OUT_OF_STOCK = {
  match: { method: INSERT },
  ...({ effect: 'before', kind: 'status' } as const),
  ...{ status: 503, reason: 'ZONE_RESOURCE_POOL_EXHAUSTED' },
  times: ALWAYS,
};
const RUN_JOB = 'run.projects.locations.jobs.run';

const stray = (kernel: Kernel, zone: string) => {
  const body = strayBody('mayfly-stray', zone, kernel.clock.nowMs());
  kernel.call({ method: 'compute.instances.insert', params: { project, zone }, body });
};

/** A disk with the deployment's labels that no machine uses. */
function lonelyDisk(kernel: Kernel, zone: string): void {
  const { labels } = strayBody('mayfly-lonely', zone, kernel.clock.nowMs());
  const body = { name: 'mayfly-lonely-1', sizeGb: '10', labels };
  kernel.call({ method: 'compute.disks.insert', params: { project, zone }, body });
}

const OWN_IMAGE = `projects/${project}/global/images/cos-with-tools`;
const DATA = { inputs: { '/in/data': `gs://${bucket}/data/set/` } };
const putData = (kernel: Kernel) => kernel.put('data/set/part-1', 'so many bytes');

/** An execution with our environment that no run knows. */
function strayExecution(kernel: Kernel): void {
  const env = { MAYFLY_RUN_ID: 'nobody', MAYFLY_ATTEMPT: '1', MAYFLY_NONCE: '0'.repeat(32) };
  const override = { env: Object.entries(env).map(([name, value]) => ({ name, value })) };
  const params = { project, location: 'us-central1', job: 'mayfly-base-ml-s' };
  const body = { overrides: { containerOverrides: [override] } };
  kernel.call({ method: RUN_JOB, params, body });
}

function onExecution(kernel: Kernel, verb: 'cancel' | 'delete'): void {
  const [execution] = [...kernel.world.run.executions.values()];
  if (execution === undefined) throw new Error('no execution');
  const { project, region: location, shortName: job } = execution.job;
  const params = { project, location, job, execution: execution.shortName };
  kernel.call({ method: `run.projects.locations.jobs.executions.${verb}`, params });
}

/** What happens is told to these in vain. */
const deaf = (...names: readonly string[]): KernelOptions => ({
  interference: {
    around: async (_actor, _call, perform) => await perform(),
    push: async (name) => (names.includes(name) ? 'lose' : 'deliver'),
  },
});

async function cancelTwice(kernel: Kernel): Promise<void> {
  for (const _time of ['once', 'twice']) {
    await kernel.run(5 * MINUTE_MS, { sweeps: false });
    cancel(kernel);
  }
}

/** Every call takes its time, and is repeated. */
const slowSubmit = (kernelOf: () => Kernel): KernelOptions => ({
  interference: {
    around: async ({ name }, _call, perform) => {
      if (name === 'submit') await kernelOf().clock.sleep(35_000);
      return await perform();
    },
  },
});

/** What the log says hours later. */
function lateSignal(kernel: Kernel): void {
  const { zone, name } = machineOf(kernel);
  const entry = {
    protoPayload: {
      serviceName: 'compute.googleapis.com',
      methodName: 'compute.instances.preempted',
      resourceName: `projects/${project}/zones/${zone}/instances/${name}`,
    },
    operation: { last: true },
  };
  kernel.publish('run-signals', JSON.stringify(entry));
}

function tasksOneAfterTheOther(): KernelOptions {
  let count = 0;
  return {
    guest: () => ({ ...GOOD_GUEST, workMs: HOUR_MS, bootMs: MINUTE_MS * (1 + 2 * count++) }),
  };
}

const NOBODY = instanceName(SETTINGS.plan.deployment, 'nobody', 1);
const REPORT = JSON.stringify({
  ...{ schema: 1, status: 'SUCCEEDED', exit_code: 0, cause: 'exit', instance: NOBODY },
  ...{ run_id: 'nobody', attempt: 1, nonce: '0'.repeat(32) },
});

const OTHER_WORKERS: Settings = {
  ...SETTINGS,
  plan: { ...SETTINGS.plan, workerServiceAccounts: ['others@p.iam.gserviceaccount.com'] },
};

const TAGGED: Settings = { ...SETTINGS, plan: { ...SETTINGS.plan, networkTags: ['jobs'] } };

export const SCENARIOS: readonly Scenario[] = [
  { name: 'a machine', status: 'SUCCEEDED' },
  { name: 'a container that fails', options: guest({ exitCode: 7 }), status: 'FAILED' },
  { name: 'network tags', options: { settings: TAGGED }, status: 'SUCCEEDED' },
  {
    name: 'a boot image of the project’s own',
    request: { ...REQUEST, resources: { ...REQUEST.resources, bootImage: OWN_IMAGE } },
    status: 'SUCCEEDED',
  },
  {
    name: 'inputs below a prefix',
    prepare: putData,
    request: { ...REQUEST, ...DATA },
    status: 'SUCCEEDED',
  },
  {
    name: 'an input that is not there',
    request: { ...REQUEST, ...DATA },
    status: null,
  },
  {
    name: 'a second zone',
    prepare: (kernel) => noStock(kernel, ZONES.slice(0, 1)),
    request: { ...REQUEST, place: { zones: ZONES } },
    status: 'SUCCEEDED',
  },
  {
    name: 'no zone has capacity',
    prepare: (kernel) => noStock(kernel, ZONES),
    request: { ...REQUEST, place: { zones: ZONES }, waitForCapacitySeconds: 900 },
    status: 'NO_CAPACITY',
  },
  {
    name: 'no quota in the region',
    prepare: (kernel) => noQuota(kernel, 'us-central1', 'CPUS'),
    request: { ...REQUEST, waitForCapacitySeconds: 900 },
    status: 'NO_CAPACITY',
  },
  {
    name: 'no quota for GPUs at all',
    prepare: (kernel) => noQuota(kernel, 'global', 'GPUS_ALL_REGIONS'),
    request: { ...REQUEST, resources: { gpu: { type: 'l4' }, machineType: 'g2-standard-4' } },
    status: 'NO_CAPACITY',
  },
  {
    name: 'the reply to an insert is lost',
    prepare: lost(INSERT, 'after'),
    status: 'SUCCEEDED',
  },
  {
    name: 'inserts are lost for an hour',
    prepare: lost(INSERT, 'before', ALWAYS),
    play: after(HOUR_MS, (kernel) => kernel.world.faults.clear()),
    status: 'SUCCEEDED',
  },
  { name: 'a cancel before the request', prepare: cancel, status: 'CANCELLED' },
  {
    name: 'a cancel while it runs',
    options: guest({ workMs: HOUR_MS }),
    play: after(5 * MINUTE_MS, cancel),
    status: 'CANCELLED',
  },
  {
    name: 'a cancel before it boots',
    options: guest({ bootMs: 4 * MINUTE_MS }),
    play: after(MINUTE_MS, cancel),
    status: 'CANCELLED',
  },
  {
    name: 'a cancel while an insert is unknown',
    prepare: lost(INSERT, 'after', ALWAYS),
    play: after(20_000, cancel),
    status: 'CANCELLED',
  },
  {
    name: 'a machine that is taken back',
    options: firstGuest({ workMs: 30 * MINUTE_MS }),
    request: { ...REQUEST, retry: { preempted: 1 } },
    play: after(5 * MINUTE_MS, (kernel) => onMachine(kernel, 'local.compute.preempt')),
    status: 'SUCCEEDED',
  },
  {
    name: 'a machine whose host fails',
    options: firstGuest({ workMs: 30 * MINUTE_MS }),
    request: { ...REQUEST, retry: { infrastructure: 1 } },
    play: after(5 * MINUTE_MS, (kernel) => onMachine(kernel, 'local.compute.hostError')),
    status: 'SUCCEEDED',
  },
  {
    name: 'a machine that somebody deletes',
    options: guest({ workMs: 30 * MINUTE_MS }),
    play: after(5 * MINUTE_MS, (kernel) => onMachine(kernel, 'compute.instances.delete')),
    status: 'CANCELLED',
  },
  {
    name: 'a cancel of a machine that is gone',
    options: { ...guest({ bootMs: 9 * MINUTE_MS }), ...deaf('signals') },
    play: async (kernel) => {
      await kernel.run(MINUTE_MS, { sweeps: false });
      onMachine(kernel, 'compute.instances.delete');
      await kernel.run(2 * MINUTE_MS, { sweeps: false });
      cancel(kernel);
    },
    status: 'CANCELLED',
  },
  {
    name: 'a cancel that comes twice',
    options: { ...guest({ workMs: HOUR_MS }), ...deaf('signals', 'finalize') },
    play: cancelTwice,
    status: 'CANCELLED',
  },
  {
    name: 'a machine that boots twice',
    options: firstGuest({ workMs: 30 * MINUTE_MS }),
    play: after(5 * MINUTE_MS, (kernel) => onMachine(kernel, 'compute.instances.reset')),
    status: 'SUCCEEDED',
  },
  {
    name: 'a signal meets a machine that never boots',
    options: guest({ silentFrom: 'boot' }),
    play: async (kernel) => {
      await kernel.run(20 * MINUTE_MS, { sweeps: false });
      lateSignal(kernel);
    },
    status: 'LOST',
  },
  {
    name: 'settings of another day meet a machine that never boots',
    options: guest({ silentFrom: 'boot' }),
    request: { ...REQUEST, serviceAccount: `worker@${project}.iam.gserviceaccount.com` },
    play: async (kernel) => {
      await kernel.run(20 * MINUTE_MS, { sweeps: false });
      Object.assign(kernel.options, { settings: OTHER_WORKERS });
      kernel.request({ look: 'r1', intent: 1 });
    },
    status: 'FAILED',
  },
  {
    name: 'a report of nobody',
    prepare: (kernel) => kernel.put(markerObject(NOBODY), REPORT),
    status: 'SUCCEEDED',
  },
  {
    name: 'a result that is gone when it is told of',
    prepare: (kernel) => {
      const attributes = { bucketId: bucket, eventType: 'OBJECT_FINALIZE' };
      const objectId = 'runs/results/gone.json';
      kernel.publish('run-results', '', { ...attributes, objectId });
    },
    status: 'SUCCEEDED',
  },
  {
    name: 'one more try',
    options: firstGuest({ exitCode: 7 }),
    request: { ...REQUEST, retry: { failed: 1 } },
    status: 'SUCCEEDED',
  },
  {
    name: 'reports that wake nobody',
    options: { ...guest({ selfDeleteMs: 1_000 }), ...deaf('finalize', 'signals') },
    status: 'SUCCEEDED',
  },
  {
    name: 'more places than one delivery has time for',
    prepare: (kernel) => kernel.world.faults.plant(OUT_OF_STOCK),
    options: slowSubmit,
    request: { ...REQUEST, waitForCapacitySeconds: 0 },
    status: 'NO_CAPACITY',
  },
  {
    name: 'a machine that never boots',
    options: guest({ silentFrom: 'boot' }),
    status: 'LOST',
  },
  {
    name: 'a machine that falls silent',
    options: guest({ silentFrom: 'work' }),
    status: 'TIMED_OUT',
  },
  {
    name: 'a machine that does not delete itself',
    options: guest({ selfDeleteMs: null }),
    status: 'SUCCEEDED',
  },
  {
    name: 'the same request again',
    play: after(10 * MINUTE_MS, (kernel) => kernel.request({ ...REQUEST, runId: 'r1' })),
    status: 'SUCCEEDED',
  },
  {
    name: 'another request under its name',
    play: after(10 * MINUTE_MS, (kernel) => {
      kernel.request({ ...REQUEST, runId: 'r1', args: ['other'] });
    }),
    status: 'SUCCEEDED',
  },
  { name: 'a request that breaks a rule', request: { ...REQUEST, ttlSeconds: -1 }, status: null },
  {
    name: 'a message that cannot be read',
    prepare: (kernel) => kernel.publish('run-requests', '{'),
    status: 'SUCCEEDED',
  },
  {
    name: 'a machine, a disk and an execution that nobody knows',
    prepare: (kernel) => {
      stray(kernel, 'us-central1-b');
      lonelyDisk(kernel, 'us-central1-c');
      strayExecution(kernel);
    },
    status: 'SUCCEEDED',
  },
  { name: 'an execution', request: JOB, status: 'SUCCEEDED' },
  {
    name: 'an execution with inputs and outputs',
    prepare: putData,
    request: {
      ...{ ...JOB, ...DATA },
      outputs: { '/out': `gs://${bucket}/data/out/` },
    },
    status: 'SUCCEEDED',
  },
  { name: 'three tasks', request: { ...JOB, tasks: 3 }, status: 'SUCCEEDED' },
  {
    name: 'an execution that fails',
    options: guest({ exitCode: 7 }),
    request: JOB,
    status: 'FAILED',
  },
  {
    name: 'a cancel of an execution',
    options: guest({ workMs: HOUR_MS }),
    request: JOB,
    play: after(5 * MINUTE_MS, cancel),
    status: 'CANCELLED',
  },
  {
    name: 'a cancel of an execution that comes twice',
    options: { ...guest({ workMs: HOUR_MS }), ...deaf('signals', 'finalize') },
    request: JOB,
    play: cancelTwice,
    status: 'CANCELLED',
  },
  {
    name: 'a task tells of itself after a cancel that did not get through',
    options: tasksOneAfterTheOther(),
    prepare: lost('run.projects.locations.jobs.executions.cancel', 'before'),
    request: { ...JOB, tasks: 3 },
    play: after(2 * MINUTE_MS, cancel),
    status: 'CANCELLED',
  },
  {
    name: 'an execution whose tasks wake nobody',
    options: deaf('finalize', 'signals'),
    request: { ...JOB, tasks: 2 },
    status: 'SUCCEEDED',
  },
  {
    name: 'an execution goes on after its checkpoint',
    options: firstGuest({
      workMs: 30 * MINUTE_MS,
      shutdown: { containerMs: 1_000, reports: true },
    }),
    request: {
      ...JOB,
      checkpoint: { '/checkpoints': `gs://${bucket}/data/checkpoints/` },
      retry: { infrastructure: 1 },
    },
    play: after(5 * MINUTE_MS, (kernel) => onExecution(kernel, 'delete')),
    status: 'SUCCEEDED',
  },
  {
    name: 'an execution that somebody deletes',
    options: firstGuest({ workMs: 30 * MINUTE_MS }),
    request: { ...JOB, retry: { infrastructure: 1 } },
    play: after(5 * MINUTE_MS, (kernel) => onExecution(kernel, 'delete')),
    status: 'SUCCEEDED',
  },
  {
    name: 'the reply to a start is lost',
    prepare: lost(RUN_JOB, 'after'),
    request: JOB,
    status: 'SUCCEEDED',
  },
  {
    name: 'a cancel while nobody knows what was started',
    options: guest({ bootMs: 3 * MINUTE_MS }),
    prepare: (kernel) => {
      lost(RUN_JOB, 'after')(kernel);
      lost('run.projects.locations.jobs.executions.list', 'before', ALWAYS)(kernel);
    },
    request: JOB,
    play: async (kernel) => {
      await kernel.run(20_000);
      cancel(kernel);
      await kernel.run(MINUTE_MS);
      kernel.world.faults.clear();
    },
    status: 'CANCELLED',
  },
  {
    name: 'an execution that never starts',
    prepare: (kernel) =>
      kernel.call({ method: 'local.run.start', params: {}, body: { times: 9, stuck: 'Waiting.' } }),
    request: { ...JOB, ttlSeconds: 600 },
    status: 'NO_CAPACITY',
  },
];
