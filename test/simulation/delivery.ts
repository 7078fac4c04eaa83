// One delivery of a function: its dependencies over the world, each call counted and, at the planned
// one, its last.
import type { SubmitDeps } from '#functions/submit/deps.ts';
import type { PushEvent } from '#scripts/local-cloud/call.ts';
import type { AroundCall } from '#scripts/local-cloud/in-process.ts';
import type { Clock } from '#shared/cloud/clock.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { createRunJobs } from '#shared/cloud/run-client.ts';
import type { UrlSigner } from '#shared/cloud/url-signer.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';
import type { Turns } from '#shared/runs/jobs/turns.ts';
import type { Work } from '#test/simulation/guest.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';
import { type Refusal, tellRefusals } from '#test/simulation/refusals.ts';
import { repeatingPublisher, repeatingStore } from '#test/simulation/repeating.ts';

export type FunctionName = 'submit' | 'finalize' | 'signals' | 'notify' | 'sweep';

/** Kills a function at its n-th call (from 0), before the call is made or after it took effect. */
export interface Kill {
  readonly function: FunctionName;
  readonly at: number;
  readonly when: 'before' | 'after';
}

export interface CountedCall {
  readonly function: FunctionName;
  readonly method: string;
  readonly name: string;
}

/** Who makes a call. */
export interface Actor {
  readonly kind: 'function' | 'guest';
  /** The function's name, or the machine's. */
  readonly name: string;
  /** A guest's instance id; empty for a function. */
  readonly machineId: string;
  /** Of this delivery, or of this boot. */
  readonly id: string;
  /** Ends a function here and now: the promise never resolves. */
  readonly die: () => Promise<never>;
  readonly alive: () => boolean;
}

export interface Interference {
  around<Value>(actor: Actor, call: AroundCall, perform: () => Promise<Value>): Promise<Value>;
  readonly clockOf?: (actor: Actor, clock: Clock) => Clock;
  /**
   * Before a push is handled; `lose`: acknowledged unread; `unanswered`: handled for nothing; a status:
   * the platform's own answer, of which the function hears nothing.
   */
  readonly push?: (
    name: FunctionName,
    event: PushEvent,
  ) => Promise<'deliver' | 'lose' | 'unanswered' | number>;
  readonly pushed?: (name: FunctionName, event: PushEvent, status: number) => void;
  /** A function threw what is no answer of a service. */
  readonly thrown?: (name: FunctionName, error: unknown) => void;
  /** A container has started. */
  readonly worked?: (work: Work) => void;
  /** A place was refused. */
  readonly refused?: (refusal: Refusal) => void;
  /** Time has gone on, and the world with it. */
  readonly moved?: () => void;
  /** How many passes of the sweep begin at this slot. */
  readonly sweeps?: () => number;
}

export interface Delivery {
  readonly deps: SubmitDeps;
  readonly killed: Promise<void>;
}

const SCRIPTS = readGuestScripts();
/** Simulated tasks go to the objects themselves. */
const UNSIGNED: UrlSigner = {
  signUrl: async ({ bucket, object, generation = '' }) => ({
    url: `${bucket}/${object}#${generation}`,
    headers: {},
  }),
  signForm: async ({ bucket, prefix }) => ({ url: bucket, fields: {}, prefix, bucket }),
};
const NEVER = new Promise<never>(() => {});

export function openDelivery(kernel: Kernel, name: FunctionName): Delivery {
  let dead = false;
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  const die = () => {
    dead = true;
    resolve();
    return NEVER;
  };
  const id = `${name}#${kernel.deliveries++}`;
  const actor: Actor = { kind: 'function', name, machineId: '', id, die, alive: () => !dead };
  const { interference } = kernel.options;
  const around = async <Value>(call: AroundCall, perform: () => Promise<Value>) => {
    if (dead) return await NEVER;
    const when = countCall(kernel, { function: name, method: call.method, name: call.name });
    if (when === 'before') return await die();
    const reply = await (interference === undefined
      ? perform()
      : interference.around(actor, call, perform));
    if (when === 'after') return await die();
    return dead ? await NEVER : reply;
  };
  return { deps: depsOf(kernel, actor, around), killed };
}

/** Whether the planned kill hits this call. */
function countCall(kernel: Kernel, call: CountedCall): Kill['when'] | null {
  const { kill, before } = kernel.options;
  const index = kernel.callCounts.get(call.function) ?? 0;
  kernel.callCounts.set(call.function, index + 1);
  kernel.calls.push(call);
  before?.(call, kernel);
  return kill?.function === call.function && kill.at === index ? kill.when : null;
}

function depsOf(
  kernel: Kernel,
  actor: Actor,
  around: <Value>(call: AroundCall, perform: () => Promise<Value>) => Promise<Value>,
): SubmitDeps {
  const { project, bucket } = SETTINGS.plan;
  const clock = kernel.clockOf(actor);
  const cloud = kernel.cloud(`${actor.name}@${project}.iam.gserviceaccount.com`, around);
  const timing = { clock, entropy: cloud.entropy };
  const openBucket = (name: string) => repeatingStore(cloud.store(name), timing);
  const compute = createCompute({
    project,
    endpoint: null,
    transport: (http) => {
      if (http.method === 'POST') kernel.inserts.push(http);
      return cloud.transport(http);
    },
    clock,
    entropy: cloud.entropy,
  });
  const { refused } = kernel.options.interference ?? {};
  return {
    settings: kernel.options.settings ?? SETTINGS,
    store: openBucket(bucket),
    openBucket,
    compute: refused === undefined ? compute : tellRefusals(compute, refused),
    jobs: createRunJobs({ project, endpoint: null, transport: cloud.transport, ...timing }),
    signer: UNSIGNED,
    turns: kernel.turns[kernel.deliveries % kernel.turns.length] as Turns,
    publisher: repeatingPublisher(cloud.publisher, timing),
    clock,
    entropy: cloud.entropy,
    log: (_severity, event, message, fields = {}) => kernel.logs.push({ event, message, fields }),
    scripts: SCRIPTS,
    asking: new Map(),
  };
}
