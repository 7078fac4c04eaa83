// Interferes with a simulated world by chance: at calls, at pushes, with clocks. Every hit is counted; no
// more than the scenario allows; none after the world is healed.
import type { PushEvent } from '#scripts/local-cloud/call.ts';
import type { AroundCall } from '#scripts/local-cloud/in-process.ts';
import type { Clock } from '#shared/cloud/clock.ts';
import { markerObject } from '#shared/plan/objects.ts';
import type { Actor, FunctionName, Interference } from '#test/simulation/delivery.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import { CALL_ACTS, timedOut } from '#test/simulation/swarm/call-acts.ts';
import { type Counts, count } from '#test/simulation/swarm/coverage.ts';
import { Draws } from '#test/simulation/swarm/draws.ts';
import {
  CALL_FAULTS,
  type CallFault,
  type FaultName,
  WORLD_FAULTS,
} from '#test/simulation/swarm/faults.ts';
import type { PlaceError } from '#test/simulation/swarm/place-errors.ts';
import type { Scenario } from '#test/simulation/swarm/scenario.ts';

const HOUR_MS = 3_600_000;
export const SKEW_MAX_MS = 300_000;
const LATENCY_MS = 150;
const SLOW_LATENCY_MS = 20_000;
/** What a caller waits for an answer that never comes. */
const CALL_DEADLINE_MS = 30_000;
const TIE_WAIT_MS = 15 * 60_000;

export class Chaos {
  readonly draws: Draws;
  readonly counts: Counts;
  /** Zones that cannot be reached. */
  readonly outages = new Set<string>();
  /** Instance ids of machines whose host failed. */
  readonly lostHosts = new Set<string>();
  /** Nobody gets an answer to an insert, and none is made. */
  insertOutages = 0;
  /** Every call that starts an execution is answered with 429. */
  throttles = 0;
  /** Calls that were given up and will land later. */
  inFlight = 0;
  healed = false;
  kernel: Kernel | null = null;
  readonly #scenario: Scenario;
  readonly #faults: readonly CallFault[];
  #hits = 0;
  readonly #lastNames = new Map<string, string>();
  readonly #ties = new Map<string, () => void>();
  /** Marker object → lets the word that is under way to it land now. */
  readonly #words = new Map<string, () => void>();

  constructor(scenario: Scenario, counts: Counts) {
    this.#scenario = scenario;
    this.counts = counts;
    this.draws = new Draws(scenario.seed);
    this.#faults = CALL_FAULTS.filter((name) => scenario.rates[name] !== undefined);
    for (const name of WORLD_FAULTS) {
      if (scenario.rates[name] !== undefined) count(counts, `fault ${name}`);
    }
  }

  get skewMs(): number {
    return this.#scenario.rates['clock-skew'] === undefined ? 0 : SKEW_MAX_MS;
  }

  /** Whether a fault that hits by chance hits now; counted. */
  hits(name: FaultName): boolean {
    const rate = this.#scenario.rates[name] ?? 0;
    if (this.healed || !this.draws.of(name).chance(rate)) return false;
    if (this.#hits >= this.#scenario.hitsMax) return false;
    this.#hits += 1;
    count(this.counts, `fault ${name}`);
    return true;
  }

  get hitCount(): number {
    return this.#hits;
  }

  async around<Value>(
    actor: Actor,
    call: AroundCall,
    perform: () => Promise<Value>,
  ): Promise<Value> {
    const { clock } = this.#world();
    const pace = this.draws.of('pace');
    const latencyMs = this.#latencyMs(actor);
    await clock.sleep(pace.below(latencyMs));
    if (actor.kind === 'guest' && !actor.alive()) throw timedOut(call.method);
    await this.#tie(actor, call);
    if (actor.kind === 'function') await this.#landAtOnce(call);
    const fault = this.#faults.find(
      (name) => CALL_ACTS[name].on(actor, call, this) && this.hits(name),
    );
    const reply =
      fault === undefined ? this.#reach(call, perform) : this.#act(fault, actor, call, perform);
    try {
      return await reply;
    } finally {
      this.#lastNames.set(actor.id, call.name);
      await clock.sleep(pace.below(latencyMs));
    }
  }

  clockOf(actor: Actor, clock: Clock): Clock {
    if (this.skewMs === 0) return clock;
    const random = new Draws(this.#scenario.seed).of(`skew-${actor.id}`);
    const skewMs = Math.round((random.fraction() * 2 - 1) * this.skewMs);
    return {
      nowMs: () => clock.nowMs() + skewMs,
      sleep: (milliseconds) => clock.sleep(milliseconds),
    };
  }

  async push(name: FunctionName, event: PushEvent): Promise<'deliver' | 'lose' | 'unanswered'> {
    if (this.hits('push-late')) {
      await this.#world().clock.sleep(this.draws.of('push-late').below(2 * HOUR_MS));
    }
    if (name === 'finalize' && this.hits('notification-lost')) return 'lose';
    if (name === 'signals' && this.hits('signal-lost')) return 'lose';
    if (isLook(name, event) && this.hits('look-lost')) return 'lose';
    return this.hits('push-unanswered') ? 'unanswered' : 'deliver';
  }

  sweeps(): number {
    if (this.hits('sweep-lost')) return 0;
    return this.hits('sweep-twice') ? 2 : 1;
  }

  /** Plants one fault for the very next call, and takes it away again when nobody met it. */
  planted<Value>(
    fault: {
      effect: 'before' | 'after';
      kind: 'status' | 'hang' | 'garbage';
      status?: number;
      reason?: string;
    },
    perform: () => Promise<Value>,
  ): Promise<Value> {
    const { faults } = this.#world().world;
    faults.plant({ match: {}, times: 1, ...fault });
    const reply = perform();
    faults.clear();
    return reply;
  }

  /** Its operation says that the machine of that name cannot be made. */
  failOperation<Value>(
    name: string,
    { code, message, status }: PlaceError,
    perform: () => Promise<Value>,
  ): Promise<Value> {
    const { outcomes } = this.#world().world.compute;
    const error = { httpStatus: status, errors: [{ code, message }] };
    outcomes.unshift({
      outcome: { match: { name }, times: 1, error, machineLives: false },
      used: 0,
    });
    const reply = perform();
    outcomes.shift();
    return reply;
  }

  /** The caller is told that there was no answer; what it asked for happens later all the same. */
  landLater<Value>(call: AroundCall, perform: () => Promise<Value>, afterMs: number): never {
    this.inFlight += 1;
    const landing = this.#world()
      .clock.sleep(afterMs)
      .then(perform)
      .catch(() => {});
    this.#world().spawn(
      landing.then(() => {
        this.inFlight -= 1;
      }),
    );
    throw timedOut(call.method);
  }

  /**
   * A machine's word is under way while the machine dies: it lands by itself at last, or at the very
   * moment when a function asks after that machine and it is gone, or is about to seal its marker.
   */
  async landMarker<Value>(
    call: AroundCall,
    perform: () => Promise<Value>,
    afterMs: number,
  ): Promise<never> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#words.set(call.name, resolve);
    this.inFlight += 1;
    const { clock } = this.#world();
    const landing = Promise.race([promise, clock.sleep(afterMs)])
      .then(perform)
      .catch(() => {})
      .then(() => {
        this.inFlight -= 1;
        this.#words.delete(call.name);
      });
    this.#world().spawn(landing);
    throw timedOut(call.method);
  }

  /** What the actor's last call was about. */
  lastOf(actor: Actor): string | undefined {
    return this.#lastNames.get(actor.id);
  }

  isRunning(markerName: string): boolean {
    return this.#world().object(markerName)?.includes('"status":"RUNNING"') === true;
  }

  /** The host of a guest fails under it, and the machine is gone at once, or stands still. */
  loseHost(machineId: string, gone: boolean): void {
    const kernel = this.#world();
    const machine = kernel.world.compute.machinesById.get(machineId);
    if (machine === undefined) return;
    this.lostHosts.add(machineId);
    kernel.call({ method: 'local.compute.hostError', params: { id: machineId } });
    if (!gone) return;
    const { project, zone, name } = machine;
    kernel.call({ method: 'compute.instances.delete', params: { project, zone, instance: name } });
  }

  async #landAtOnce(call: AroundCall): Promise<void> {
    if (this.#words.size === 0) return;
    const seals = call.method === 'storage.objects.insert';
    const asks = call.method === 'compute.instances.get';
    const name = seals ? call.name : markerObject(call.name);
    const { machines } = this.#world().world.compute;
    const there = [...machines.values()].some((machine) => markerObject(machine.name) === name);
    const land = (seals || asks) && !there ? this.#words.get(name) : undefined;
    if (land === undefined || !this.draws.of('words').chance(seals ? 0.9 : 0.3)) return;
    land();
    await this.#world().clock.sleep(1);
  }

  #latencyMs(actor: Actor): number {
    const rate = this.#scenario.rates['slow-functions'];
    if (rate === undefined || actor.kind === 'guest' || this.healed) return LATENCY_MS;
    return SLOW_LATENCY_MS * rate;
  }

  #world(): Kernel {
    if (this.kernel === null) throw new Error('no world to interfere with yet');
    return this.kernel;
  }

  async #reach<Value>(call: AroundCall, perform: () => Promise<Value>): Promise<Value> {
    if (this.insertOutages > 0 && call.method === 'compute.instances.insert') {
      await this.#world().clock.sleep(CALL_DEADLINE_MS);
      return await this.planted({ effect: 'before', kind: 'hang' }, perform);
    }
    if (this.throttles > 0 && call.method === 'run.projects.locations.jobs.run') {
      return await this.planted({ effect: 'before', kind: 'status', status: 429 }, perform);
    }
    const zone = call.params.zone;
    if (zone === undefined || !this.outages.has(zone)) return await perform();
    return await this.planted({ effect: 'before', kind: 'status', status: 503 }, perform);
  }

  async #act<Value>(
    fault: CallFault,
    actor: Actor,
    call: AroundCall,
    perform: () => Promise<Value>,
  ): Promise<Value> {
    const random = this.draws.of(`${fault}-extent`);
    return await CALL_ACTS[fault].act({
      chaos: this,
      clock: this.#world().clock,
      random,
      actor,
      call,
      perform,
    });
  }

  /** A machine about to take its claim waits for the control plane to do so: both at one instant. */
  async #tie(actor: Actor, call: AroundCall): Promise<void> {
    if (call.method !== 'storage.objects.insert' || !call.name.endsWith('/claim.json')) return;
    const waiting = this.#ties.get(call.name);
    if (actor.kind === 'function') {
      waiting?.();
      this.#ties.delete(call.name);
      if (waiting !== undefined) await this.#world().clock.sleep(this.draws.of('tie').below(2));
      return;
    }
    if (waiting !== undefined || !this.hits('claim-tie')) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ties.set(call.name, resolve);
    await Promise.race([promise, this.#world().clock.sleep(TIE_WAIT_MS)]);
    await this.#world().clock.sleep(this.draws.of('tie').below(2));
  }
}

function isLook(name: FunctionName, event: PushEvent): boolean {
  const { message } = event.body as { message?: { data?: string } };
  const text = Buffer.from(message?.data ?? '', 'base64').toString();
  return name === 'submit' && text.startsWith('{"look"');
}

export function interferenceOf(
  chaos: Chaos,
  watch: Pick<Interference, 'around' | 'pushed' | 'thrown' | 'worked' | 'moved' | 'refused'>,
): Interference {
  return {
    around: (actor, call, perform) =>
      chaos.around(actor, call, () => watch.around(actor, call, perform)),
    clockOf: (actor, clock) => chaos.clockOf(actor, clock),
    push: (name, event) => chaos.push(name, event),
    sweeps: () => chaos.sweeps(),
    ...(watch.pushed === undefined ? {} : { pushed: watch.pushed }),
    ...(watch.thrown === undefined ? {} : { thrown: watch.thrown }),
    ...(watch.worked === undefined ? {} : { worked: watch.worked }),
    ...(watch.refused === undefined ? {} : { refused: watch.refused }),
    ...(watch.moved === undefined ? {} : { moved: watch.moved }),
  };
}
