// Real handlers, real record logic and the local cloud's step on one virtual clock. Pushes of the world
// are given to the functions, machines that start become guests, and time jumps from one event to the
// next. A function can be killed at any of its calls: from then on nothing of that delivery happens.
import { handleFinalize } from '#functions/finalize/handler.ts';
import { handleNotify } from '#functions/notify/handler.ts';
import { handleSignals } from '#functions/signals/handler.ts';
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { handleDead, handleSubmit, handleUnreadable } from '#functions/submit/handler.ts';
import { handleSweep } from '#functions/sweep/handler.ts';
import type { SweepReport } from '#functions/sweep/report.ts';
import { advance, apply, nextDueMs } from '#scripts/local-cloud/apply.ts';
import {
  type Call,
  isMachineEvent,
  type PushEvent,
  type WorldEvent,
} from '#scripts/local-cloud/call.ts';
import { type Around, inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { createWorld, type World } from '#scripts/local-cloud/world.ts';
import type { Clock } from '#shared/cloud/clock.ts';
import type { Settings } from '#shared/cloud/config.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { HttpCall } from '#shared/cloud/http.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import type { RunResult } from '#shared/lifecycle/result.ts';
import { recordObject, resultObject } from '#shared/plan/objects.ts';
import { openEnvelope } from '#shared/push/envelope.ts';
import { Turns } from '#shared/runs/jobs/turns.ts';
import {
  type Actor,
  type CountedCall,
  type Delivery,
  type FunctionName,
  type Interference,
  type Kill,
  openDelivery,
} from '#test/simulation/delivery.ts';
import { Executions } from '#test/simulation/executions.ts';
import type { GuestPlan, Work } from '#test/simulation/guest.ts';
import { layOut, SETTINGS } from '#test/simulation/layout.ts';
import { Machines } from '#test/simulation/machines.ts';
import { VirtualClock } from '#test/simulation/virtual-clock.ts';

export type { CountedCall, FunctionName, Kill } from '#test/simulation/delivery.ts';

export interface KernelOptions {
  readonly world?: WorldChoices;
  readonly guest?: (machine: GuestOrder) => GuestPlan;
  readonly kill?: Kill;
  /** Called before each call of a function: what happens in the world at that very moment. */
  readonly before?: (call: CountedCall, kernel: Kernel) => void;
  /** What stands between functions, guests and the cloud. */
  readonly interference?: Interference;
  /** Of the functions, where they are not those of all others. */
  readonly settings?: Settings;
}

export interface GuestOrder {
  readonly name: string;
  readonly zone: string;
  readonly id: string;
  readonly boot: number;
}

export interface KernelWork extends Work {
  readonly startMs: number;
  endMs: number | null;
  /** Of a container that ended by itself. */
  exitCode: number | null;
}

const START_MS = Date.UTC(2026, 11, 1, 12, 0, 0);
export const SWEEP_PERIOD_MS = 120_000;

export class Kernel {
  readonly world: World;
  readonly clock = new VirtualClock(START_MS);
  /** Every call of a function, in order: what the kill matrix counts. */
  readonly calls: CountedCall[] = [];
  /** Every insert that was sent, as it was sent. */
  readonly inserts: HttpCall[] = [];
  readonly logs: { event: string; message: string; fields?: object }[] = [];
  readonly works: KernelWork[] = [];
  readonly pushes: { function: FunctionName; status: number }[] = [];
  readonly options: KernelOptions;
  /** Calls so far of each function, and deliveries of all. */
  readonly callCounts = new Map<FunctionName, number>();
  deliveries = 0;
  /** One for each instance of the function that there is. */
  readonly turns = Array.from({ length: 3 }, () => new Turns(SETTINGS.plan.jobs));
  readonly #machines: Machines;
  readonly #executions: Executions;
  #events: Record<string, string>[] = [];
  #failures: unknown[] = [];

  constructor(options: KernelOptions = {}) {
    this.options = options;
    this.#machines = new Machines(this);
    this.#executions = new Executions(this);
    this.world = createWorld({
      project: SETTINGS.plan.project,
      buckets: [],
      ...options.world,
    });
    layOut((call) => this.call(call));
  }

  /** The owner's own call upon the world. */
  call(call: Omit<Call, 'principal'> & { principal?: string | null }) {
    const step = apply(this.world, this.clock.nowMs(), { principal: null, ...call });
    if (step.reply.status === 501) throw new Error(`the local cloud has no method ${call.method}`);
    this.take(step.events);
    return step.reply;
  }

  publish(topic: string, data: string, attributes: Record<string, string> = {}): void {
    const { project, deployment } = SETTINGS.plan;
    this.call({
      method: 'pubsub.topics.publish',
      params: { topic: `projects/${project}/topics/${deployment}-${topic}` },
      body: { messages: [{ data: Buffer.from(data).toString('base64'), attributes }] },
    });
  }

  request(value: object): void {
    this.publish('run-requests', JSON.stringify(value));
  }

  /** Lets everything happen up to `untilMs` from now; a sweep every two minutes. */
  async run(forMs: number, options: { sweeps?: boolean } = {}): Promise<void> {
    const endMs = this.clock.nowMs() + forMs;
    const sweeps = options.sweeps !== false;
    let sweepMs = this.clock.nowMs() + SWEEP_PERIOD_MS;
    for (;;) {
      await this.#settle();
      const next = Math.min(
        nextDueMs(this.world) ?? Number.POSITIVE_INFINITY,
        this.clock.nextWakeMs() ?? Number.POSITIVE_INFINITY,
        sweeps ? sweepMs : Number.POSITIVE_INFINITY,
      );
      if (next > endMs) break;
      this.clock.moveTo(next);
      if (sweeps && next >= sweepMs) {
        sweepMs += SWEEP_PERIOD_MS;
        const passes = this.options.interference?.sweeps?.() ?? 1;
        for (let pass = 0; pass < passes; pass++) this.spawn(this.sweep());
      }
      this.take(advance(this.world, this.clock.nowMs()));
      this.options.interference?.moved?.();
    }
    this.clock.moveTo(endMs);
    await this.#settle();
  }

  /** One pass of the sweep; one that is killed or fails is simply over, the next one begins anew. */
  async sweep(): Promise<void> {
    const delivery = this.#delivery('sweep');
    const pass = handleSweep({ dryRun: false }, delivery.deps).then(
      () => {},
      (error: unknown) => {
        if (!(error instanceof CloudError)) throw error;
        this.logs.push({ event: 'threw', message: String(error) });
      },
    );
    await Promise.race([pass, delivery.killed]);
  }

  /** A pass that says what it would do. */
  async dryRun(): Promise<SweepReport> {
    return await handleSweep({ dryRun: true }, this.#delivery('sweep').deps);
  }

  /** A function's dependencies, for a call of one of its parts. */
  deps(name: FunctionName): SubmitDeps {
    return this.#delivery(name).deps;
  }

  /** A REST call of the owner: what a frozen function or a person sends. */
  async send(http: HttpCall): Promise<number> {
    return (await this.cloud(null).transport(http)).status;
  }

  /** The attributes of every event that a subscriber was sent. */
  events(): readonly Record<string, string>[] {
    return this.#events;
  }

  /** Writes an object as the owner, whatever stood there. */
  put(name: string, bytes: Uint8Array | string, metadata: object = {}): string {
    const reply = this.call({
      method: 'storage.objects.insert',
      params: { bucket: SETTINGS.plan.bucket, name },
      body: {
        bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes,
        metadata: { name, ...metadata },
      },
    });
    if (reply.status !== 200) throw new Error(`${name}: ${JSON.stringify(reply.body)}`);
    return String((reply.body as { generation: string }).generation);
  }

  object(name: string): string | null {
    const params = { bucket: SETTINGS.plan.bucket, object: name, alt: 'media' };
    const reply = this.call({ method: 'storage.objects.get', params });
    return reply.status === 200 ? new TextDecoder().decode(reply.bytes) : null;
  }

  objects(prefix: string): string[] {
    const params = { bucket: SETTINGS.plan.bucket, prefix };
    const reply = this.call({ method: 'storage.objects.list', params });
    const items = (reply.body as { items?: { name: string }[] }).items ?? [];
    return items.map((item) => item.name);
  }

  result(runId: string): RunResult | null {
    const text = this.object(resultObject(runId));
    return text === null ? null : JSON.parse(text);
  }

  record(runId: string): RunRecord | null {
    const text = this.object(recordObject(runId));
    return text === null ? null : JSON.parse(text);
  }

  machines(): string[] {
    const params = { project: SETTINGS.plan.project };
    const reply = this.call({ method: 'compute.instances.aggregatedList', params });
    const scopes = (reply.body as { items: Record<string, { instances?: { name: string }[] }> })
      .items;
    return Object.values(scopes).flatMap((scope) => (scope.instances ?? []).map((one) => one.name));
  }

  disks(): string[] {
    const params = { project: SETTINGS.plan.project };
    const reply = this.call({ method: 'compute.disks.aggregatedList', params });
    const scopes = (reply.body as { items: Record<string, { disks?: { name: string }[] }> }).items;
    return Object.values(scopes).flatMap((scope) => (scope.disks ?? []).map((one) => one.name));
  }

  /** The ports of somebody's calls upon the world. */
  cloud(principal: string | null, around?: Around) {
    return inProcessCloud({
      world: this.world,
      nowMs: () => this.clock.nowMs(),
      principal,
      onEvents: (events: readonly WorldEvent[]) => this.take(events),
      ...(around === undefined ? {} : { around }),
    });
  }

  clockOf(actor: Actor): Clock {
    return this.options.interference?.clockOf?.(actor, this.clock) ?? this.clock;
  }

  /** Begins a task of its own; its failure is the run's. */
  spawn(task: Promise<unknown>): void {
    task.catch((error: unknown) => this.#failures.push(error));
  }

  /** Does what the world wants done outside. */
  take(events: readonly WorldEvent[]): void {
    for (const event of events) {
      if (event.kind === 'push') this.spawn(this.#push(event));
      else if (isMachineEvent(event)) this.#machines.take(event);
      else this.#executions.take(event);
    }
  }

  /**
   * Until nothing moves without time. Every call of the world is answered at once, so that a chain of
   * calls is a chain of microtasks, and one immediate comes after all of them.
   */
  async #settle(): Promise<void> {
    await new Promise((done) => process.nextTick(done));
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  async #push(event: PushEvent): Promise<void> {
    const name = event.url.split('/')[3] as FunctionName | 'collector';
    if (name === 'collector') return this.#collect(event);
    const interference = this.options.interference;
    const way = (await interference?.push?.(name, event)) ?? 'deliver';
    const refused = typeof way === 'number' ? way : null;
    const status = refused ?? (way === 'lose' ? 204 : await this.#deliver(name, event));
    this.pushes.push({ function: name, status });
    const answered = way === 'unanswered' ? 0 : status;
    this.call({
      method: 'local.push.result',
      params: { deliveryId: event.deliveryId, status: String(answered) },
    });
    interference?.pushed?.(name, event, status);
  }

  async #deliver(name: FunctionName, event: PushEvent): Promise<number> {
    const delivery = this.#delivery(name);
    const handled = this.#handle(name, event, delivery.deps).catch((error: unknown) => {
      this.logs.push({ event: 'threw', message: String(error) });
      if (!(error instanceof CloudError)) this.options.interference?.thrown?.(name, error);
      return 500;
    });
    return await Promise.race([handled, delivery.killed.then(() => 0)]);
  }

  #collect(event: PushEvent): void {
    const { message } = event.body as { message: { attributes: Record<string, string> } };
    this.#events.push(message.attributes);
    const params = { deliveryId: event.deliveryId, status: '204' };
    this.call({ method: 'local.push.result', params });
  }

  async #handle(name: FunctionName, event: PushEvent, deps: SubmitDeps): Promise<number> {
    const body =
      event.body instanceof Uint8Array
        ? event.body
        : new TextEncoder().encode(JSON.stringify(event.body));
    const envelope = openEnvelope(body, event.headers, null);
    if (envelope.kind === 'foreign') return 403;
    if (envelope.kind === 'unreadable') {
      const { reason, messageId } = envelope;
      const outcome = await handleUnreadable({ messageId: messageId ?? 'x', body, reason }, deps);
      return outcome.kind === 'done' ? 204 : 503;
    }
    const { message } = envelope;
    const handlers = {
      submit: handleSubmit,
      finalize: handleFinalize,
      signals: handleSignals,
      notify: handleNotify,
    };
    const dead = name === 'submit' && event.url.endsWith('/dead');
    const handle = dead ? handleDead : handlers[name as keyof typeof handlers];
    const outcome = await handle(message, deps);
    return outcome.kind === 'done' ? 204 : 503;
  }

  #delivery(name: FunctionName): Delivery {
    return openDelivery(this, name);
  }
}
