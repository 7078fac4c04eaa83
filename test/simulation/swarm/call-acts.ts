// What each fault at a call does: refuse it, lose its answer, hold it back, let it land later, or end
// the function that made it.
import type { AroundCall } from '#scripts/local-cloud/in-process.ts';
import type { Random } from '#scripts/local-cloud/random.ts';
import type { Clock } from '#shared/cloud/clock.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { Actor } from '#test/simulation/delivery.ts';
import type { Chaos } from '#test/simulation/swarm/chaos.ts';
import type { CallFault } from '#test/simulation/swarm/faults.ts';
import { drawPlaceError, refusalOf } from '#test/simulation/swarm/place-errors.ts';

const MINUTE_MS = 60_000;
const FREEZE_MS = 20 * MINUTE_MS;

interface Hit<Value> {
  readonly chaos: Chaos;
  readonly clock: Clock;
  readonly random: Random;
  readonly actor: Actor;
  readonly call: AroundCall;
  readonly perform: () => Promise<Value>;
}

interface CallAct {
  readonly on: (actor: Actor, call: AroundCall, chaos: Chaos) => boolean;
  readonly act: <Value>(hit: Hit<Value>) => Promise<Value>;
}

const any = () => true;
const inFunction = (actor: Actor) => actor.kind === 'function';
const method = (name: string) => (_: Actor, call: AroundCall) => call.method === name;
const isRecordOrOther = (actor: Actor, call: AroundCall) =>
  actor.kind === 'function' && /^storage\.objects\.(insert|delete)$/.test(call.method);
/** A machine's last word: the marker that stands there says RUNNING. */
const isLastWord = (actor: Actor, call: AroundCall, chaos: Chaos) =>
  actor.kind === 'guest' &&
  call.method === 'storage.objects.insert' &&
  call.name.startsWith('runs/gce-status/') &&
  chaos.isRunning(call.name);

/** Between the swap that orders and the call that was ordered. */
const isAfterSwap = (actor: Actor, call: AroundCall, chaos: Chaos) =>
  actor.kind === 'function' &&
  chaos.lastOf(actor)?.endsWith('/record.json') === true &&
  /^compute\.instances\.(insert|delete)$|\.jobs\.run$|executions\.cancel$/.test(call.method);

/** Submit alone begins: the others find what has gone on meanwhile. */
const isLaterSwap = (actor: Actor, call: AroundCall) =>
  actor.kind === 'function' &&
  actor.name !== 'submit' &&
  call.method === 'storage.objects.insert' &&
  call.name.endsWith('/record.json');

const frozen = (on: CallAct['on']): CallAct => ({
  on,
  act: async ({ clock, perform }) => {
    await clock.sleep(FREEZE_MS);
    return await perform();
  },
});
const refused = (effect: 'before' | 'after', status: number): CallAct => ({
  on: any,
  act: ({ chaos, perform }) => chaos.planted({ effect, kind: 'status', status }, perform),
});
const unanswered = (effect: 'before' | 'after', kind: 'hang' | 'garbage' = 'hang'): CallAct => ({
  on: any,
  act: ({ chaos, perform }) => chaos.planted({ effect, kind }, perform),
});
const late = (on: CallAct['on'], minutes: number): CallAct => ({
  on,
  act: async ({ chaos, call, perform, random }) =>
    chaos.landLater(call, perform, random.below(minutes * MINUTE_MS)),
});

export const CALL_ACTS: Readonly<Record<CallFault, CallAct>> = {
  'crash-before': { on: inFunction, act: async ({ actor }) => await actor.die() },
  'crash-after': {
    on: inFunction,
    act: async ({ actor, perform }) => {
      await perform().catch(() => {});
      return await actor.die();
    },
  },
  freeze: frozen(inFunction),
  'freeze-after-swap': frozen(isAfterSwap),
  'freeze-before-swap': frozen(isLaterSwap),
  'slow-call': {
    on: any,
    act: async ({ clock, actor, call, random, perform }) => {
      await clock.sleep(random.below(MINUTE_MS));
      if (!actor.alive() && actor.kind === 'guest') throw timedOut(call.method);
      return await perform();
    },
  },
  'rate-limited': refused('before', 429),
  'server-error-before': refused('before', 503),
  'server-error-after': refused('after', 503),
  'timeout-before': unanswered('before'),
  'timeout-after': unanswered('after'),
  unreadable: unanswered('after', 'garbage'),
  'insert-lands-late': late(method('compute.instances.insert'), 20),
  'delete-lands-late': late(method('compute.instances.delete'), 20),
  'run-lands-late': late(method('run.projects.locations.jobs.run'), 20),
  'write-lands-late': late(isRecordOrOther, 20),
  'marker-lands-late': {
    on: isLastWord,
    act: ({ chaos, actor, call, perform, random }) => {
      chaos.loseHost(actor.machineId, random.chance(0.6));
      return chaos.landMarker(call, perform, random.below(20 * MINUTE_MS));
    },
  },
  'delete-refused': {
    on: method('compute.instances.delete'),
    act: ({ chaos, perform }) =>
      chaos.planted(
        { effect: 'before', kind: 'status', status: 403, reason: 'forbidden' },
        perform,
      ),
  },
  'insert-refused': {
    on: method('compute.instances.insert'),
    // An insert goes by the transport: its answer is one of HTTP.
    act: async <Value>({ random }: Hit<Value>) => refusalOf(drawPlaceError(random)) as Value,
  },
  'operation-refused': {
    on: method('compute.instances.insert'),
    act: ({ chaos, call, random, perform }) =>
      chaos.failOperation(call.name, drawPlaceError(random), perform),
  },
};

/** No answer within the call's own deadline, as the adapters report it. */
export function timedOut(name: string): CloudError {
  const message = `${name} gave no answer (simulated)`;
  return new CloudError({ code: 'timeout', method: name, status: null, reason: '', message });
}
