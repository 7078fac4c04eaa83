// Real handlers, real record logic and the local cloud's step on one virtual clock. Pushes of the world
// are given to the functions, machines that start become guests, and time jumps from one event to the
// next. A function can be killed at any of its calls: from then on nothing of that delivery happens.
import { handleFinalize } from '#functions/finalize/handler.ts';
import { handleNotify } from '#functions/notify/handler.ts';
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { handleDead, handleSubmit, handleUnreadable } from '#functions/submit/handler.ts';
import { handleSweep } from '#functions/sweep/handler.ts';
import type { SweepReport } from '#functions/sweep/report.ts';
import { advance, apply, nextDueMs } from '#scripts/local-cloud/apply.ts';
import type { Call, MachineEvent, PushEvent, WorldEvent } from '#scripts/local-cloud/call.ts';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { createWorld, type World } from '#scripts/local-cloud/world.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { HttpCall } from '#shared/cloud/http.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import type { RunResult } from '#shared/lifecycle/result.ts';
import { recordObject, resultObject } from '#shared/plan/objects.ts';
import { openEnvelope } from '#shared/push/envelope.ts';
import { GOOD_GUEST, type GuestPlan, runGuest } from '#test/simulation/guest.ts';
import { layOut, SETTINGS } from '#test/simulation/layout.ts';
import { repeatingPublisher, repeatingStore } from '#test/simulation/repeating.ts';
import { VirtualClock } from '#test/simulation/virtual-clock.ts';

export type FunctionName = 'submit' | 'finalize' | 'notify' | 'sweep';

/** Kills a function at its n-th call (from 0), before the call is made or after it took effect. */
export interface Kill {
  readonly function: FunctionName;
  readonly at: number;
  readonly when: 'before' | 'after';
}

export interface KernelOptions {
  readonly world?: WorldChoices;
  readonly guest?: (machine: { name: string; zone: string; id: string }) => GuestPlan;
  readonly kill?: Kill;
  /** Called before each call of a function: what happens in the world at that very moment. */
  readonly before?: (call: CountedCall, kernel: Kernel) => void;
}

export interface CountedCall {
  readonly function: FunctionName;
  readonly method: string;
  readonly name: string;
}

const START_MS = Date.UTC(2026, 11, 1, 12, 0, 0);
const SCRIPTS = readGuestScripts();
/** Enough turns of the event loop for any chain of in-process calls to come to rest. */
const TURNS = 50;

export class Kernel {
  readonly world: World;
  readonly clock = new VirtualClock(START_MS);
  /** Every call of a function, in order: what the kill matrix counts. */
  readonly calls: CountedCall[] = [];
  /** Every insert that was sent, as it was sent. */
  readonly inserts: HttpCall[] = [];
  readonly logs: { event: string; message: string }[] = [];
  readonly works: { runId: string; attempt: number; instanceId: string; endMs: number | null }[] =
    [];
  readonly pushes: { function: FunctionName; status: number }[] = [];
  #options: KernelOptions;
  #killed = false;
  #power = new Map<string, number>();
  #events: Record<string, string>[] = [];
  #failures: unknown[] = [];

  constructor(options: KernelOptions = {}) {
    this.#options = options;
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
    this.#take(step.events);
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
    let sweepMs = this.clock.nowMs() + 120_000;
    for (;;) {
      await this.#settle();
      const next = Math.min(
        nextDueMs(this.world) ?? Number.POSITIVE_INFINITY,
        this.clock.nextWakeMs() ?? Number.POSITIVE_INFINITY,
        options.sweeps === false ? Number.POSITIVE_INFINITY : sweepMs,
      );
      if (next > endMs) break;
      this.clock.moveTo(next);
      if (next >= sweepMs && options.sweeps !== false) {
        sweepMs += 120_000;
        this.#spawn(this.sweep());
      }
      this.#take(advance(this.world, this.clock.nowMs()));
    }
    this.clock.moveTo(endMs);
    await this.#settle();
  }

  /** One pass of the sweep; one that is killed or fails is simply over, the next one begins anew. */
  async sweep(): Promise<void> {
    const delivery = this.#delivery('sweep');
    const pass = handleSweep({ dryRun: false }, delivery.deps).catch((error: unknown) => {
      if (!(error instanceof CloudError)) throw error;
      this.logs.push({ event: 'threw', message: String(error) });
    });
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
    return (await this.#cloud(null).transport(http)).status;
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

  /** Microtasks and immediates until nothing moves without time. */
  async #settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((done) => setImmediate(done));
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #spawn(task: Promise<unknown>): void {
    task.catch((error: unknown) => this.#failures.push(error));
  }

  #take(events: readonly WorldEvent[]): void {
    for (const event of events) {
      if (event.kind === 'push') this.#spawn(this.#push(event));
      else this.#machine(event);
    }
  }

  #machine(event: MachineEvent): void {
    if (event.kind === 'machine-gone' || event.kind === 'machine-stopping') {
      this.#power.set(event.id, -1);
      for (const work of this.works) {
        if (work.instanceId === event.id) work.endMs ??= this.clock.nowMs();
      }
      if (event.kind === 'machine-stopping') {
        this.call({ method: 'local.machine.poweredOff', params: { id: event.id } });
      }
      return;
    }
    this.#power.set(event.id, event.boot);
    if (event.metadata['startup-script'] === undefined) return;
    const alive = () => this.#power.get(event.id) === event.boot;
    const cloud = this.#cloud(event.principal);
    const plan = this.#options.guest?.(event) ?? GOOD_GUEST;
    const world = {
      clock: this.clock,
      store: cloud.store(SETTINGS.plan.bucket),
      transport: cloud.transport,
      alive,
      onWork: (work: { runId: string; attempt: number; instanceId: string }) => {
        this.works.push({ ...work, endMs: null });
      },
      onWorkEnd: (instanceId: string) => {
        for (const work of this.works) {
          if (work.instanceId === instanceId) work.endMs ??= this.clock.nowMs();
        }
      },
    };
    this.#spawn(runGuest(event, plan, world));
  }

  async #push(event: PushEvent): Promise<void> {
    const name = event.url.split('/')[3] as FunctionName | 'collector';
    if (name === 'collector') return this.#collect(event);
    const delivery = this.#delivery(name);
    const handled = this.#handle(name, event, delivery.deps).catch((error: unknown) => {
      this.logs.push({ event: 'threw', message: String(error) });
      return 500;
    });
    const status = await Promise.race([handled, delivery.killed.then(() => 0)]);
    this.pushes.push({ function: name, status });
    this.call({
      method: 'local.push.result',
      params: { deliveryId: event.deliveryId, status: String(status) },
    });
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
    const handlers = { submit: handleSubmit, finalize: handleFinalize, notify: handleNotify };
    const dead = name === 'submit' && event.url.endsWith('/dead');
    const handle = dead ? handleDead : handlers[name as keyof typeof handlers];
    const outcome = await handle(message, deps);
    return outcome.kind === 'done' ? 204 : 503;
  }

  #cloud(principal: string | null) {
    return inProcessCloud({
      world: this.world,
      nowMs: () => this.clock.nowMs(),
      principal,
      onEvents: (events: readonly WorldEvent[]) => this.#take(events),
    });
  }

  /** The dependencies of one delivery, each call of it counted and, at the planned one, its last. */
  #delivery(name: FunctionName): { deps: SubmitDeps; killed: Promise<void> } {
    const never = new Promise<never>(() => {});
    let dead = false;
    let die = () => {};
    const killed = new Promise<void>((resolve) => {
      die = resolve;
    });
    const around = async <Reply>(
      call: { method: string; name: string },
      perform: () => Promise<Reply>,
    ) => {
      if (dead) return await never;
      const kill = this.#options.kill;
      const index = this.calls.filter((one) => one.function === name).length;
      const counted = { function: name, ...call };
      this.calls.push(counted);
      this.#options.before?.(counted, this);
      const hit = kill?.function === name && kill.at === index && !this.#killed;
      if (!hit) {
        const reply = await perform();
        return dead ? await never : reply;
      }
      this.#killed = true;
      if (kill.when === 'after') await perform();
      dead = true;
      die();
      return await never;
    };
    const { project } = SETTINGS.plan;
    const clock = this.clock;
    const cloud = inProcessCloud({
      world: this.world,
      nowMs: () => clock.nowMs(),
      principal: `${name}@${project}.iam.gserviceaccount.com`,
      onEvents: (events: readonly WorldEvent[]) => this.#take(events),
      around,
    });
    const timing = { clock, entropy: cloud.entropy };
    const openBucket = (bucket: string) => repeatingStore(cloud.store(bucket), timing);
    const compute = createCompute({
      project,
      endpoint: null,
      transport: (http) => {
        if (http.method === 'POST') this.inserts.push(http);
        return cloud.transport(http);
      },
      clock,
      entropy: cloud.entropy,
    });
    const deps: SubmitDeps = {
      settings: SETTINGS,
      store: openBucket(SETTINGS.plan.bucket),
      openBucket,
      compute,
      publisher: repeatingPublisher(cloud.publisher, timing),
      clock,
      entropy: cloud.entropy,
      log: (_severity, event, message) => this.logs.push({ event, message }),
      scripts: SCRIPTS,
    };
    return { deps, killed };
  }
}
