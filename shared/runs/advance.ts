// The driver: one pass over one run. It does the steps that `decide` asks for, one by one, until there
// is nothing left to do now. Every function uses it; only submit brings a creator.
import { CloudError } from '#shared/cloud/errors.ts';
import type { Context } from '#shared/lifecycle/context.ts';
import { decide } from '#shared/lifecycle/decide.ts';
import { STEPS_MAX } from '#shared/lifecycle/limits.ts';
import {
  type ClaimFact,
  intentKey,
  type MachineName,
  machineKey,
  NOTHING_SEEN,
  type Observation,
  type Step,
} from '#shared/lifecycle/observation.ts';
import { type Attempt, currentAttempt, type RunRecord } from '#shared/lifecycle/record.ts';
import { type Creation, finish, forget, perform, publishLook } from '#shared/runs/act.ts';
import { readClaim, sealMarker, takeClaim } from '#shared/runs/claim.ts';
import { type RunDeps, traced } from '#shared/runs/deps.ts';
import { gce } from '#shared/runs/gce.ts';
import { jobs } from '#shared/runs/jobs/jobs.ts';
import { readMarkerFact, readQuotas } from '#shared/runs/observe.ts';
import { type LoadedRecord, loadRecord, swapRecord } from '#shared/runs/record-store.ts';
import type { Runtime, Work } from '#shared/runs/runtime.ts';

const SWAPS_MAX = 5;
const SWAP_PAUSE_MS = 1_000;

const RUNTIMES: Readonly<Record<RunRecord['runtime'], Runtime>> = { gce, 'cloudrun-jobs': jobs };

export interface PassOptions {
  readonly depth: Context['depth'];
  /** What the caller has read already. */
  readonly seen?: Partial<Observation>;
  /** Submit alone. */
  readonly creator?: Creation & { readonly untilMs: number };
  /** What the caller decides before `decide` does; null: nothing. */
  readonly before?: (record: RunRecord, seen: Observation, context: Context) => Step | null;
}

/** Takes a run as far as it goes now. Throws a CloudError when the bucket cannot be asked. */
export async function advance(
  deps: RunDeps,
  loaded: LoadedRecord,
  options: PassOptions,
): Promise<RunRecord> {
  const pass = new Pass(deps, loaded, options);
  return await pass.run();
}

class Pass {
  readonly #deps: RunDeps;
  readonly #options: PassOptions;
  #loaded: LoadedRecord;
  #seen: Observation;
  /** The intent that this pass wrote and has not called yet. */
  #ownIntent: string | null = null;
  #swapsLost = 0;

  constructor(deps: RunDeps, loaded: LoadedRecord, options: PassOptions) {
    this.#deps = traced(deps, loaded.record.terms.traceparent);
    this.#loaded = loaded;
    this.#options = options;
    this.#seen = { ...NOTHING_SEEN, ...options.seen };
  }

  async run(): Promise<RunRecord> {
    for (let count = 0; count < STEPS_MAX; count++) {
      const step = this.#decide();
      if (step.kind === 'rest' || (await this.#do(step)) === 'stop') return this.#loaded.record;
    }
    throw new Error(`run ${this.#loaded.record.runId}: no rest after ${STEPS_MAX} steps`);
  }

  #decide(): Step {
    const context = this.#context();
    const { record } = this.#loaded;
    const before = this.#options.before?.(record, this.#seen, context);
    return before ?? decide(record, this.#seen, context);
  }

  #context(): Context {
    const { creator, depth } = this.#options;
    const { clock, entropy, settings } = this.#deps;
    return {
      nowMs: clock.nowMs(),
      deployment: settings.plan.deployment,
      depth,
      fraction: entropy.fraction(),
      creator:
        creator === undefined
          ? null
          : {
              plan: creator.plan,
              nonce: entropy.nonce(),
              eventKey: `${entropy.nonce()}${entropy.nonce()}`,
              throttlesMax: settings.plan.jobs.max429Retries,
              ownIntent: this.#ownIntent,
              untilMs: creator.untilMs,
            },
    };
  }

  async #do(step: Exclude<Step, { kind: 'rest' }>): Promise<'go on' | 'stop'> {
    switch (step.kind) {
      case 'write':
        return await this.#write(step.record, step.effects);
      case 'insert':
        await this.#insert(step.intent);
        return 'go on';
      case 'pause':
        await this.#pause(step);
        return 'go on';
      case 'finish':
        await finish(this.#deps, this.#loaded.record);
        this.#see({ finished: true });
        return 'go on';
      case 'forget':
        await this.#runtime().forget(this.#deps, this.#loaded.record);
        await forget(this.#deps, this.#loaded.record);
        return 'stop';
      case 'publish-look':
        await publishLook(this.#deps, this.#loaded.record);
        this.#see({ looked: true });
        return 'go on';
      default:
        await this.#read(step);
        return 'go on';
    }
  }

  #work(): Work {
    return { record: this.#loaded.record, attempt: this.#attempt() };
  }

  #see(change: Partial<Observation>): void {
    this.#seen = { ...this.#seen, ...change };
  }

  #runtime(): Runtime {
    return RUNTIMES[this.#loaded.record.runtime];
  }

  #workOf(instance: string): Work {
    const { record } = this.#loaded;
    const attempt = record.attempts.find((one) => one.instance === instance);
    if (attempt === undefined) throw new Error(`${instance} is no attempt's machine`);
    return { record, attempt };
  }

  #attempt(): Attempt {
    const attempt = currentAttempt(this.#loaded.record);
    if (attempt === null) throw new Error(`run ${this.#loaded.record.runId} has no attempt`);
    return attempt;
  }

  /** R1: the record first; only when it stands are the effects done. */
  async #write(
    next: RunRecord,
    effects: (Step & { kind: 'write' })['effects'],
  ): Promise<'go on' | 'stop'> {
    const { clock, entropy, store } = this.#deps;
    const before = this.#loaded.record;
    const stamped = { ...next, writer: entropy.nonce(), changedMs: clock.nowMs() };
    const reply = await swapRecord(store, this.#loaded, stamped);
    if (reply.kind === 'lost') return await this.#reload(next);
    this.#loaded = reply.loaded;
    this.#see({ wrote: true });
    this.#afterWrite(before, next);
    for (const effect of effects) {
      if (effect.kind === 'delete-machine') {
        await this.#delete(effect);
        continue;
      }
      await perform(this.#deps, reply.loaded.record, effect);
      if (effect.kind === 'publish-look') this.#see({ looked: true });
    }
    return 'go on';
  }

  /** The end of a delete that found nothing is told to nobody: the machine is asked after once more. */
  async #delete({ instance, zone }: MachineName): Promise<void> {
    const gone = await this.#runtime().remove(this.#deps, this.#workOf(instance), zone);
    const key = machineKey(instance, zone);
    const { [key]: _there, ...others } = this.#seen.machines;
    const machines = gone ? others : this.#seen.machines;
    this.#see({ machines, deleted: [...this.#seen.deleted, key] });
  }

  /** What was read about an earlier attempt, or of a claim that may be taken since, is forgotten. */
  #afterWrite(before: RunRecord, next: RunRecord): void {
    const attempt = currentAttempt(next);
    const intents = currentAttempt(before)?.intentCount ?? 0;
    if (next.attempts.length !== before.attempts.length) {
      this.#see({ claim: null, marker: null, sealed: false, tries: 0 });
    } else if (this.#seen.claim?.kind === 'free') {
      this.#see({ claim: null });
    }
    const fresh =
      next.attempts.length !== before.attempts.length || attempt?.intentCount !== intents;
    if (attempt !== null && attempt.intents.length > 0 && fresh) {
      this.#ownIntent = intentKey(attempt.number, attempt.intentCount);
      this.#see({ tries: 0, machines: {}, turn: null });
    }
  }

  async #reload(wanted: RunRecord): Promise<'go on' | 'stop'> {
    const { record } = this.#loaded;
    // Another writer was quicker to note that it runs, or noted more than that: finalize wanted no more.
    const done = this.#options.depth === 'marker';
    if (done && wanted.state === 'RUNNING' && record.state === 'PROVISIONING') return 'stop';
    this.#swapsLost += 1;
    if (this.#swapsLost > SWAPS_MAX) {
      throw new CloudError({
        code: 'unavailable',
        method: 'storage.objects.insert',
        status: 412,
        reason: 'swap-lost',
        message: `run ${record.runId}: ${SWAPS_MAX} writes of its record were overtaken by others`,
      });
    }
    const { clock, entropy, store } = this.#deps;
    await clock.sleep(Math.round(SWAP_PAUSE_MS * (1 + entropy.fraction())));
    const live = await loadRecord(store, record.runId);
    if (live === null) throw new Error(`run ${record.runId}: its record vanished`);
    this.#loaded = live;
    this.#ownIntent = null;
    this.#seen = { ...NOTHING_SEEN, ...this.#options.seen };
    return 'go on';
  }

  async #insert(number: number): Promise<void> {
    const { creator } = this.#options;
    const attempt = this.#attempt();
    const intent = attempt.intents.find((one) => one.number === number);
    if (creator === undefined || intent === undefined) {
      throw new Error(`run ${this.#loaded.record.runId}: only submit creates, and only intents`);
    }
    const key = intentKey(attempt.number, number);
    const first = this.#ownIntent === key;
    const target = { record: this.#loaded.record, attempt, intent };
    const fact = await this.#runtime().insert(this.#deps, creator, target, first);
    // A call that was only limited made nothing: the next one is the first still.
    if (fact.kind !== 'rate-limited') this.#ownIntent = null;
    this.#see({ inserts: { ...this.#seen.inserts, [key]: fact }, turn: null });
    const again = fact.kind === 'rate-limited' && fact.untilMs !== undefined && fact.definite;
    if (again) await this.#takeTurn(intent.candidate.region);
  }

  async #takeTurn(region: string): Promise<void> {
    const untilMs = this.#options.creator?.untilMs ?? 0;
    this.#see({ turn: await this.#runtime().takeTurn(this.#deps, region, untilMs) });
  }

  async #pause(step: Step & { kind: 'pause' }): Promise<void> {
    await this.#deps.clock.sleep(step.milliseconds);
    if (step.again === 'nothing') return;
    const attempt = this.#attempt();
    const key = intentKey(attempt.number, attempt.intentCount);
    const { [key]: _insert, ...inserts } = this.#seen.inserts;
    const { [key]: _operation, ...operations } = this.#seen.operations;
    this.#see(step.again === 'insert' ? { inserts, machines: {} } : { operations });
    this.#see({ tries: this.#seen.tries + 1 });
  }

  async #read(
    step: Exclude<
      Step,
      { kind: 'rest' | 'write' | 'insert' | 'pause' | 'finish' | 'forget' | 'publish-look' }
    >,
  ): Promise<void> {
    const deps = this.#deps;
    const { record } = this.#loaded;
    const runtime = this.#runtime();
    switch (step.kind) {
      case 'take-turn':
        return await this.#takeTurn(step.region);
      case 'read-marker':
        return this.#see({ marker: await readMarkerFact(deps, this.#attempt()) });
      case 'read-claim':
        return this.#seeClaim(await readClaim(deps.store, record.runId, this.#attempt()));
      case 'take-claim':
        return this.#seeClaim(await takeClaim(deps.store, record.runId, this.#attempt()));
      case 'seal-marker':
        return await this.#seal();
      case 'read-machine': {
        const fact = await runtime.read(deps, this.#workOf(step.instance), step.zone);
        const machines = { ...this.#seen.machines, [machineKey(step.instance, step.zone)]: fact };
        // The marker is read after its machine is known to be gone, never before (R3).
        return this.#see(fact.kind === 'there' ? { machines } : { machines, marker: null });
      }
      case 'read-operation': {
        const fact = await runtime.readOperation(deps, this.#work(), step);
        const done = fact.kind === 'succeeded' || fact.kind === 'failed';
        return this.#see({
          operations: { ...this.#seen.operations, [step.key]: fact },
          ...(done ? { machines: this.#askAgainIn(step.zone) } : {}),
        });
      }
      case 'read-quotas':
        return this.#see({ quotas: await readQuotas(deps, record.runId, step.scopes) });
      case 'read-ending': {
        const ending = await runtime.readEnding(deps, this.#work(), step.zone, step.instanceId);
        return this.#see({ endings: { ...this.#seen.endings, [step.instanceId]: ending } });
      }
      case 'read-boot-report': {
        const report = await runtime.readBootReport(deps, this.#work(), step.zone);
        const key = machineKey(step.instance, step.zone);
        return this.#see({ bootReports: { ...this.#seen.bootReports, [key]: report } });
      }
      case 'delete-machine':
        return await this.#delete(step);
      case 'delete-disk': {
        const reply = await deps.compute.deleteDisk(step.zone, step.disk);
        const fact = reply.kind === 'accepted' ? 'there' : reply.kind;
        return this.#see({ disks: { ...this.#seen.disks, [step.disk]: fact } });
      }
    }
  }

  /** A machine that was not there before its operation was done may have come to be since (R4). */
  #askAgainIn(zone: string): Observation['machines'] {
    const facts = Object.entries(this.#seen.machines);
    return Object.fromEntries(
      facts.filter(([key, fact]) => fact.kind !== 'gone' || !key.endsWith(`@${zone}`)),
    );
  }

  /** Once a machine is known to hold the claim, it is that machine that is asked after, afresh. */
  #seeClaim(claim: ClaimFact): void {
    const news = claim.kind === 'held' && claim.holder.by === 'machine';
    this.#see(news ? { claim, machines: {}, marker: null } : { claim });
  }

  async #seal(): Promise<void> {
    const { clock, store } = this.#deps;
    const marker = this.#seen.marker;
    if (marker === null) throw new Error('a marker is sealed under the generation just read');
    const { runId } = this.#loaded.record;
    const reply = await sealMarker(store, runId, this.#attempt(), marker, clock.nowMs());
    this.#see(reply === 'sealed' ? { sealed: true } : { marker: null });
  }
}
