// Makes happen what a scenario says at its instants: to machines, zones and the bucket, and what people
// publish.
import type { MachineState } from '#scripts/local-cloud/compute/state.ts';
import type { ExecutionState } from '#scripts/local-cloud/run/state.ts';
import { signEvent } from '#shared/lifecycle/task-event.ts';
import { inputsObject, MARKER_PREFIX, markerObject } from '#shared/plan/objects.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST, SETTINGS } from '#test/simulation/layout.ts';
import type { Chaos } from '#test/simulation/swarm/chaos.ts';
import { count } from '#test/simulation/swarm/coverage.ts';
import type { MishapKind } from '#test/simulation/swarm/faults.ts';
import { executionsOf, isRunning } from '#test/simulation/swarm/jobs.ts';
import { FORGED_NONCE, type Laws } from '#test/simulation/swarm/laws.ts';
import {
  inputObject,
  isJob,
  type Mishap,
  type Scenario,
  type ScenarioRun,
  ZONES,
} from '#test/simulation/swarm/scenario.ts';
import { strayBody } from '#test/simulation/swarm/strangers.ts';

export interface Stage {
  readonly kernel: Kernel;
  readonly chaos: Chaos;
  readonly laws: Laws;
  readonly scenario: Scenario;
}

/** Ends of what lasts: called at its end, or when the world is healed. */
export type Relief = () => void;

/** Gives how to end it, null when it is over at once, `nothing` when there was nothing to happen to. */
type Happen = (stage: Stage, mishap: Mishap) => Relief | null | 'nothing';

export function happen(stage: Stage, mishap: Mishap): Relief | null | 'nothing' {
  const relief = HAPPENINGS[mishap.kind](stage, mishap);
  if (relief === 'nothing') return relief;
  stage.laws.trace(`mishap ${mishap.kind}`);
  count(stage.chaos.counts, `fault ${mishap.kind}`);
  return relief;
}

/** What a request lacks that says no more than its scenario does. */
const baseOf = ({ request }: ScenarioRun) => (isJob(request) ? {} : REQUEST);

export function requestOf(run: ScenarioRun): string {
  return JSON.stringify({ ...baseOf(run), ...run.request, runId: run.runId });
}

const zoneOf = ({ which }: Mishap) => ZONES[Math.floor(which * ZONES.length)] ?? ZONES[0];
const runOf = ({ scenario }: Stage, { which }: Mishap) =>
  scenario.runs[Math.floor(which * scenario.runs.length)];

function onMachine(
  wanted: (machine: MachineState) => boolean,
  act: (stage: Stage, machine: MachineState) => void,
): Happen {
  return (stage, { which, number }) => {
    // Every other one hits a container that runs, if it hits a machine that does.
    const busy = (machine: MachineState) =>
      number % 2 === 0 || !running(machine) || isBusy(stage, machine);
    const machines = stage.laws.truth.vms().filter((one) => wanted(one) && busy(one));
    const machine = machines[Math.floor(which * machines.length)];
    if (machine === undefined) return 'nothing';
    act(stage, machine);
    return null;
  };
}

const running = (machine: MachineState) => machine.status === 'RUNNING';
const isBusy = ({ kernel }: Stage, { id }: MachineState) =>
  kernel.works.some((work) => work.instanceId === id && work.endMs === null);
const owner = ({ kernel }: Stage, method: string, machine: MachineState) => {
  const { project, zone, name, id } = machine;
  return kernel.call({ method, params: { project, zone, instance: name, name, id } });
};

function onZone(method: string, body: object, healing: object): Happen {
  return ({ kernel }, mishap) => {
    const zone = zoneOf(mishap);
    kernel.call({ method, params: { zone }, body });
    return () => kernel.call({ method, params: { zone }, body: healing });
  };
}

/** What somebody publishes about one of the runs. */
function publish(text: (run: ScenarioRun) => object | string): Happen {
  return (stage, mishap) => {
    const run = runOf(stage, mishap);
    if (run === undefined) return 'nothing';
    const message = text(run);
    const json = typeof message === 'string' ? message : JSON.stringify(message);
    stage.kernel.publish('run-requests', json);
    return null;
  };
}

/** A cancel of one of the runs, when it stands as wished. */
function cancel(wanted: (stage: Stage, run: ScenarioRun) => boolean): Happen {
  return (stage, mishap) => {
    const run = runOf(stage, mishap);
    if (run === undefined || !wanted(stage, run)) return 'nothing';
    stage.laws.history.cancelled.add(run.runId);
    stage.kernel.publish('run-requests', JSON.stringify({ cancel: run.runId, reason: 'enough' }));
    return null;
  };
}

const stateOf = ({ laws }: Stage, { runId }: ScenarioRun) => laws.truth.record(runId)?.state;

function hasSucceeded({ laws }: Stage, { runId }: ScenarioRun): boolean {
  const record = laws.truth.record(runId);
  const instance = record?.attempts.at(-1)?.instance ?? '';
  return record?.end === null && laws.history.succeeded.has(instance);
}

/** What somebody says about a machine that may be in the best of health. */
function forgedSignal(instance: string, mishap: Mishap): object {
  const methods = ['compute.instances.preempted', 'v1.compute.instances.delete'];
  return {
    protoPayload: {
      serviceName: 'compute.googleapis.com',
      methodName: methods[mishap.number % methods.length],
      resourceName: `projects/${SETTINGS.plan.project}/zones/${zoneOf(mishap)}/instances/${instance}`,
    },
    operation: { last: true },
  };
}

const QUOTAS = [
  ['us-central1', 'CPUS'],
  ['us-central1', 'PREEMPTIBLE_CPUS'],
  ['us-central1', 'NVIDIA_L4_GPUS'],
  ['us-central1', 'PREEMPTIBLE_NVIDIA_L4_GPUS'],
  ['global', 'GPUS_ALL_REGIONS'],
  ['global', 'CPUS_ALL_REGIONS'],
] as const;

function withoutQuota(kernel: Kernel, [scope, metric]: readonly [string, string]): Relief {
  const set = (limit: number) =>
    kernel.call({ method: 'local.compute.quota', params: {}, body: { scope, metric, limit } });
  set(0);
  return () => set(1_000_000);
}

function onExecution(
  wanted: (execution: ExecutionState) => boolean,
  act: (stage: Stage, execution: ExecutionState) => void,
): Happen {
  return (stage, { which }) => {
    const all = executionsOf(stage.kernel.world).filter((one) => isRunning(one) && wanted(one));
    const execution = all[Math.floor(which * all.length)];
    if (execution === undefined) return 'nothing';
    act(stage, execution);
    return null;
  };
}

/** Somebody with the console open. */
function outside(stage: Stage, verb: 'cancel' | 'delete', execution: ExecutionState): void {
  const { project, region: location, shortName: job } = execution.job;
  const params = { project, location, job, execution: execution.shortName };
  stage.laws.history.deletedOutside.add(execution.shortName);
  stage.kernel.call({ method: `run.projects.locations.jobs.executions.${verb}`, params });
}

/** How the next execution starts. */
const nextStart =
  (body: object): Happen =>
  (stage) => {
    if (!stage.scenario.runs.some(({ request }) => isJob(request))) return 'nothing';
    stage.kernel.call({ method: 'local.run.start', params: {}, body });
    return () => {
      stage.kernel.world.run.planted.length = 0;
    };
  };

const QUOTA_TEXT = 'Quota exceeded: total allowable memory of the region.';

const HAPPENINGS: Readonly<Record<MishapKind, Happen>> = {
  preempt: onMachine(running, (stage, machine) => {
    stage.laws.history.preempted.add(machine.id);
    owner(stage, 'local.compute.preempt', machine);
  }),
  'host-error': onMachine(running, (stage, machine) => {
    stage.laws.history.stopped.add(machine.id);
    owner(stage, 'local.compute.hostError', machine);
  }),
  reset: onMachine(running, (stage, machine) => owner(stage, 'compute.instances.reset', machine)),
  stop: onMachine(running, (stage, machine) => {
    stage.laws.history.stopped.add(machine.id);
    owner(stage, 'compute.instances.stop', machine);
  }),
  'outside-delete': onMachine(
    () => true,
    (stage, machine) => {
      stage.laws.history.deletedOutside.add(machine.id);
      owner(stage, 'compute.instances.delete', machine);
    },
  ),
  'delete-in-vain': onMachine(running, ({ kernel }, machine) =>
    kernel.world.compute.reluctant.set(machine.name, 1),
  ),
  'zone-outage': (stage, mishap) => {
    const zone = zoneOf(mishap);
    const list = onZone('local.compute.unreachable', { how: 'unreachables' }, { how: null });
    const relief = list(stage, mishap);
    stage.chaos.outages.add(zone);
    return () => {
      stage.chaos.outages.delete(zone);
      if (typeof relief === 'function') relief();
    };
  },
  'partial-list': onZone('local.compute.unreachable', { how: 'warning' }, { how: null }),
  'bucket-outage': ({ kernel }) => {
    const { bucket } = SETTINGS.plan;
    const set = (available: boolean) =>
      kernel.call({ method: 'local.storage.bucket', params: { bucket }, body: { available } });
    set(false);
    return () => set(true);
  },
  'insert-outage': ({ chaos }) => {
    chaos.insertOutages += 1;
    return () => {
      chaos.insertOutages -= 1;
    };
  },
  'stock-out': ({ kernel }, mishap) => {
    const params = { zone: zoneOf(mishap) };
    const set = (available: object) => {
      for (const machineType of ['e2-standard-4', 'g2-standard-4']) {
        const body = { machineType, ...available };
        kernel.call({ method: 'local.compute.stock', params, body });
      }
    };
    set({ available: 0 });
    return () => set({});
  },
  quota: ({ kernel }, { which }) =>
    withoutQuota(kernel, QUOTAS[Math.floor(which * QUOTAS.length)] ?? QUOTAS[0]),
  // No room for a GPU any more, while a run waits that has a machine after all.
  'quota-late': (stage) => {
    const { truth } = stage.laws;
    const met = stage.scenario.runs.some((run) => {
      const record = truth.record(run.runId);
      const number = record?.attempts.length ?? 0;
      return record?.state === 'WAITING' && truth.claim(run.runId, number)?.by === 'machine';
    });
    return met ? withoutQuota(stage.kernel, ['global', 'GPUS_ALL_REGIONS']) : 'nothing';
  },
  'failed-but-there': onZone(
    'local.compute.outcome',
    { times: 1, machineLives: true, code: 'INTERNAL_ERROR' },
    { times: 0, machineLives: false, code: 'INTERNAL_ERROR' },
  ),
  cancel: cancel(() => true),
  'cancel-early': cancel(({ laws }, { runId }) => !laws.truth.isAccepted(runId)),
  'cancel-placing': cancel((stage, run) => stateOf(stage, run) === 'PLACING'),
  'cancel-waiting': cancel((stage, run) => stateOf(stage, run) === 'WAITING'),
  'cancel-stopping': cancel((stage, run) => stateOf(stage, run) === 'STOPPING'),
  'cancel-succeeded': cancel(hasSucceeded),
  'request-again': publish(requestOf),
  conflict: publish((run) => ({
    ...baseOf(run),
    ...run.request,
    runId: run.runId,
    args: ['other'],
  })),
  'input-gone': (stage, mishap) => {
    const run = runOf(stage, mishap);
    const { truth } = stage.laws;
    if (run?.request.inputs === undefined || !truth.isAccepted(run.runId)) return 'nothing';
    if (truth.names(inputsObject(run.runId)).length > 0) return 'nothing';
    const { bucket } = SETTINGS.plan;
    const params = { bucket, object: inputObject(run.runId) };
    const reply = stage.kernel.call({ method: 'storage.objects.delete', params });
    return reply.status < 300 ? null : 'nothing';
  },
  look: publish((run) => ({ look: run.runId, intent: 1 })),
  sweep: ({ kernel }) => {
    kernel.spawn(kernel.sweep());
    return null;
  },
  'forged-marker': (stage, mishap) => {
    const run = runOf(stage, mishap);
    const { truth } = stage.laws;
    const attempt = truth.record(run?.runId ?? '')?.attempts.at(-1);
    if (run === undefined || attempt === undefined) return 'nothing';
    // A true last word that is destroyed cannot be known any more.
    if (truth.marker(attempt.instance)?.status !== 'RUNNING') return 'nothing';
    const word = { status: 'SUCCEEDED', exit_code: 0, cause: 'exit', nonce: FORGED_NONCE };
    const whose = { instance: attempt.instance, run_id: run.runId, attempt: attempt.number };
    const bytes = new TextEncoder().encode(JSON.stringify({ schema: 1, ...whose, ...word }));
    const params = { bucket: SETTINGS.plan.bucket, name: markerObject(attempt.instance) };
    const body = { bytes, metadata: {} };
    const reply = stage.kernel.call({ method: 'storage.objects.insert', params, body });
    return reply.status === 200 ? null : 'nothing';
  },
  'forged-signal': (stage, mishap) => {
    const names = stage.laws.truth.names(MARKER_PREFIX);
    const name = names[Math.floor(mishap.which * names.length)];
    if (name === undefined) return 'nothing';
    const instance = name.slice(MARKER_PREFIX.length).replace(/\.json$/, '');
    stage.kernel.publish('run-signals', JSON.stringify(forgedSignal(instance, mishap)));
    return null;
  },
  'execution-cancelled': onExecution(
    () => true,
    (stage, execution) => outside(stage, 'cancel', execution),
  ),
  'execution-deleted': onExecution(
    () => true,
    (stage, execution) => outside(stage, 'delete', execution),
  ),
  'task-out-of-memory': onExecution(
    ({ tasks }) => tasks.some(({ status }) => status === 'running'),
    ({ kernel }, { name: execution, tasks }) => {
      const task = tasks.find(({ status }) => status === 'running')?.index;
      kernel.call({ method: 'local.run.outOfMemory', params: {}, body: { execution, task } });
    },
  ),
  'execution-late': nextStart({ times: 1, delayMs: 12 * 60_000 }),
  'execution-without-quota': nextStart({ times: 1, stuck: QUOTA_TEXT, fails: true }),
  'execution-stuck': nextStart({ times: 1, stuck: 'Waiting for resources.' }),
  throttled: ({ chaos, scenario }) => {
    if (!scenario.runs.some(({ request }) => isJob(request))) return 'nothing';
    chaos.throttles += 1;
    return () => {
      chaos.throttles -= 1;
    };
  },
  'forged-event': (stage, mishap) => {
    const run = runOf(stage, mishap);
    const attempt = stage.laws.truth.record(run?.runId ?? '')?.attempts.at(-1);
    const execution = attempt?.intents.at(-1)?.instanceId;
    if (run === undefined || !isJob(run.request) || attempt === undefined || !execution)
      return 'nothing';
    const event = {
      ...{ runId: run.runId, attempt: attempt.number, task: 0, seq: 7, kind: 'ended' as const },
      ...{ atMs: 0, data: {} },
    };
    const signed = signEvent('0'.repeat(64), event);
    const entry = {
      resource: {
        type: 'cloud_run_job',
        labels: { job_name: 'mayfly-base-ml-s', location: 'us-central1', project_id: 'p' },
      },
      labels: { 'run.googleapis.com/execution_name': execution },
      jsonPayload: { mayfly_event: signed },
    };
    stage.kernel.publish('run-signals', JSON.stringify(entry));
    return null;
  },
  stray: ({ kernel, laws }, mishap) => {
    const { project } = SETTINGS.plan;
    const body = strayBody(`mayfly-stray-${mishap.atMs}`, zoneOf(mishap), laws.truth.nowMs);
    const params = { project, zone: zoneOf(mishap) };
    return kernel.call({ method: 'compute.instances.insert', params, body }).status === 200
      ? null
      : 'nothing';
  },
};
