// The six laws, checked after every step of a simulated world. What breaks one ends the simulation.
import type { PushEvent } from '#scripts/local-cloud/call.ts';
import type { AroundCall } from '#scripts/local-cloud/in-process.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import { EXIT_NO_WORK } from '#shared/plan/bootstrap.ts';
import type { Actor, FunctionName } from '#test/simulation/delivery.ts';
import type { Work } from '#test/simulation/guest.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import type { Chaos } from '#test/simulation/swarm/chaos.ts';
import { type Counts, count } from '#test/simulation/swarm/coverage.ts';
import type { Consequence } from '#test/simulation/swarm/faults.ts';
import { History } from '#test/simulation/swarm/history.ts';
import { asMachine, envOf, executionsOf } from '#test/simulation/swarm/jobs.ts';
import {
  judgeBirth,
  judgeDelete,
  judgeForget,
  judgeInsert,
  judgeStart,
} from '#test/simulation/swarm/law-machines.ts';
import { type Facts, judgeRecord } from '#test/simulation/swarm/law-records.ts';
import { ROWS, rowOfAttempt, rowOfRun } from '#test/simulation/swarm/rows.ts';
import { Truth } from '#test/simulation/swarm/truth.ts';

const CALLS_MAX = 2_000;
/** In markers that somebody wrote who does not know the attempt's. */
export const FORGED_NONCE = 'forged';

export class Violation extends Error {
  readonly law: string;
  constructor(law: string, what: string) {
    super(`law ${law}: ${what}`);
    this.law = law;
  }
}

export class Laws {
  readonly truth: Truth;
  readonly history = new History();
  /** Calls and other events so far. */
  steps = 0;
  violation: Violation | null = null;
  readonly #kernel: Kernel;
  readonly #facts: Facts;
  readonly #counts: Counts;
  readonly #trace: (line: string) => void;
  readonly #calls = new Map<string, number>();
  /** Instance id → when the platform ends it. */
  readonly #limits = new Map<string, number>();

  constructor(kernel: Kernel, chaos: Chaos, trace: (line: string) => void) {
    this.#kernel = kernel;
    this.truth = new Truth(kernel);
    this.#facts = { truth: this.truth, history: this.history, skewMs: chaos.skewMs };
    this.#counts = chaos.counts;
    this.history.stopped = chaos.lostHosts;
    this.#trace = trace;
  }

  readonly break = (law: string, what: string): void => {
    if (this.violation !== null) return;
    this.violation = new Violation(law, what);
    this.#trace(`BROKEN ${this.violation.message}`);
    this.#kernel.spawn(Promise.reject(this.violation));
  };

  /** One call upon the world, watched: what it does, it does before this returns. */
  async around<Value>(
    actor: Actor,
    call: AroundCall,
    perform: () => Promise<Value>,
  ): Promise<Value> {
    const made = (this.#calls.get(actor.id) ?? 0) + 1;
    this.#calls.set(actor.id, made);
    if (made > CALLS_MAX) this.break('6 bounded', `${actor.id} made more than ${CALLS_MAX} calls`);
    const { machines, machinesById } = this.#kernel.world.compute;
    const { zone = '', requestId = '' } = call.params;
    if (call.method === 'compute.instances.delete' && actor.kind === 'function') {
      const machine = machines.get(`${zone}/${call.name}`);
      if (machine !== undefined) judgeDelete(machine, this.#facts, this.break);
    }
    if (call.method === 'compute.instances.insert') {
      if (actor.name !== 'submit') {
        this.break('R5 only submit creates', `${actor.id} orders ${call.name}`);
      }
      judgeInsert(requestId, call.name, this.#facts, this.break);
    }
    if (call.method.endsWith('executions.cancel') && actor.kind === 'function') {
      const machine = this.truth.machine(call.params.execution ?? '');
      if (machine !== null) judgeDelete(machine, this.#facts, this.break);
    }
    if (call.method.endsWith('locations.jobs.run') && actor.name !== 'submit') {
      this.break('R5 only submit creates', `${actor.id} starts ${call.name}`);
    }
    const started = this.#kernel.world.run.executions.size;
    const known = machinesById.size;
    const repeated = this.history.landed.has(requestId);
    const generation = this.truth.generation(call.name);
    const reply = perform();
    this.steps += 1;
    if (call.method === 'compute.instances.insert' && machinesById.size > known) {
      const machine = machines.get(`${zone}/${call.name}`);
      if (machine !== undefined) {
        judgeBirth(machine, requestId, this.#facts, this.break);
        const twins = [...machinesById.values()].filter(({ name }) => name === machine.name);
        if (twins.length > 1) this.#see('two-machines-of-an-attempt');
      }
    }
    if (this.#kernel.world.run.executions.size > started) this.#executionStarted();
    if (repeated && machinesById.size === known) this.#see('request-id-answered-again');
    if (this.truth.generation(call.name) !== generation) this.#changed(actor, call.name);
    const told = await reply.then(
      (value) => outcomeOf(value),
      (error: unknown) => String((error as { code?: string }).code ?? error),
    );
    const who = `${actor.id} ${call.method} ${call.name}${zone === '' ? '' : ` ${zone}`}`;
    this.trace(`${who} → ${told}`);
    return await reply;
  }

  trace(line: string): void {
    this.#trace(`${this.truth.nowMs} ${line}`);
  }

  /** The world's last one. */
  #executionStarted(): void {
    const execution = executionsOf(this.#kernel.world).at(-1);
    const machine = execution === undefined ? null : asMachine(execution);
    if (execution === undefined || machine === null) return;
    judgeStart(machine, envOf(execution).MAYFLY_NONCE ?? '', this.#facts, this.break);
    if (execution.taskCount > 1) this.#see('several-tasks');
    const twins = [...this.history.machines.values()].filter((name) => name === machine.name);
    if (twins.length > 1) this.#see('two-executions-of-an-attempt');
  }

  #tasksWithoutWork(): void {
    for (const { tasks, shortName } of executionsOf(this.#kernel.world)) {
      if (this.history.idle.has(shortName)) continue;
      if (!tasks.some(({ result }) => result?.exitCode === EXIT_NO_WORK)) continue;
      this.history.idle.add(shortName);
      this.#see('task-without-work');
    }
  }

  /** Notes the machines whose time the platform has ended. */
  moved(): void {
    this.#tasksWithoutWork();
    for (const [id, machine] of this.#kernel.world.compute.machinesById) {
      const endsMs = this.#limits.get(id);
      if (machine.ttlEndMs !== null) this.#limits.set(id, machine.ttlEndMs);
      else if (endsMs !== undefined) {
        this.#limits.delete(id);
        if (this.truth.nowMs >= endsMs) this.#see('time-limit-of-the-platform');
      }
    }
  }

  #see(consequence: Consequence): void {
    count(this.#counts, `seen ${consequence}`);
  }

  started(instanceId: string): void {
    const { started } = this.history;
    if (!started.has(instanceId)) started.set(instanceId, this.truth.nowMs);
  }

  worked(work: Work): void {
    const all = this.#kernel.works.filter((one) => one.runId === work.runId);
    this.trace(`${work.runId} attempt ${work.attempt} works on ${work.instanceId}`);
    const same = all.filter(({ attempt, task }) => attempt === work.attempt && task === work.task);
    const twice = same.length > 1;
    if (twice) this.break('3 one worker', `${work.runId}: attempt ${work.attempt} works twice`);
    const others = all.filter((one) => one.endMs === null && one.attempt !== work.attempt);
    if (others.length > 0) {
      this.break(
        '3 one worker',
        `${work.runId}: attempts ${work.attempt} and ${others[0]?.attempt} work at once`,
      );
    }
    const record = this.truth.record(work.runId);
    const attempt = record?.attempts.find((one) => one.number === work.attempt);
    if (attempt?.end)
      this.break('3 one worker', `${work.runId}: attempt ${work.attempt} works after its end`);
  }

  pushed(name: FunctionName, event: PushEvent, status: number): void {
    this.trace(`push ${name} ${event.deliveryId} → ${status}`);
    if (name !== 'submit' || status !== 204) return;
    const { message } = event.body as { message?: { data?: string } };
    const text = Buffer.from(message?.data ?? '', 'base64').toString();
    if (!text.startsWith('{"cancel"')) return;
    const runId = String(JSON.parse(text).cancel);
    const record = this.truth.record(runId);
    if (record !== null && (isFinal(record.state) || record.cancel !== null)) return;
    this.break('5 nothing lost', `${runId}: a cancel was acknowledged, and nothing says so`);
  }

  thrown(name: string, error: unknown): void {
    const text = error instanceof Error ? error.stack : String(error);
    this.break('5 nothing lost', `${name} threw: ${text}`);
  }

  #changed(actor: Actor, name: string): void {
    const [, kind, run = '', last] = name.split('/');
    if (kind === 'state' && last === 'record.json') this.#recordChanged(run);
    if (kind === 'gce-status') this.#markerChanged(run.replace(/\.json$/, ''), actor);
    if (kind === 'active' && this.truth.generation(name) === 0) {
      judgeForget(run, this.#facts, this.break);
    }
    if (kind === 'results') this.#resultChanged(run.replace(/\.json$/, ''));
  }

  #recordChanged(runId: string): void {
    const after = this.truth.record(runId);
    if (after === null) {
      this.break('5 nothing lost', `${runId}: its record is gone`);
      return;
    }
    const before = this.history.records.get(runId) ?? null;
    if (after.placesCount > 0) this.history.refused.add(runId);
    judgeRecord(before, after, this.#facts, this.break);
    this.history.records.set(runId, after);
    this.#rememberIntents(after);
    this.#countRecord(before, after);
  }

  #rememberIntents({ runId, attempts }: RunRecord): void {
    const attempt = attempts.at(-1);
    for (const { requestId, number } of attempt?.intents ?? []) {
      if (requestId === '') continue;
      const intent = `${runId}/${attempt?.number}/${number}`;
      const known = this.history.requestIds.get(requestId);
      if (known !== undefined && known !== intent) {
        this.break(
          '5 nothing lost',
          `${intent} has the requestId of ${known}, and gets its answers`,
        );
      }
      this.history.requestIds.set(requestId, intent);
    }
  }

  #countRecord(before: ReturnType<Truth['record']>, after: NonNullable<typeof before>): void {
    if (before?.state !== after.state) {
      count(this.#counts, `step ${before?.state ?? 'ACCEPTED'} → ${after.state}`);
    }
    const ended = after.attempts.find(
      ({ end }, index) => end !== null && !before?.attempts[index]?.end,
    );
    if (ended?.end) {
      this.#countRow(
        rowOfAttempt(before, after, ended.end, this.#hasSpoken(ended, after.terms.tasks ?? 1)),
      );
    } else if (after.end !== null && !before?.end) {
      this.#countRow(rowOfRun(after));
    }
  }

  #countRow(row: string): void {
    count(this.#counts, row);
    if (!ROWS.includes(row)) this.break('failure table', `it has no ${row}`);
  }

  /** Its machine's own last word stands, and is no order to delete it. */
  #hasSpoken({ instance, nonce }: Attempt, tasks: number): boolean {
    const marker = this.truth.word(instance, tasks);
    const own = marker !== null && marker.sealed !== true && marker.nonce === nonce;
    const ending = marker?.cause === 'interrupted' || marker?.cause === 'preempted';
    return own && !ending && (marker.status === 'SUCCEEDED' || marker.status === 'FAILED');
  }

  #markerChanged(instance: string, actor: Actor): void {
    const marker = this.truth.marker(instance);
    if (marker === null || marker.sealed || marker.nonce === FORGED_NONCE) return;
    if (actor.kind === 'guest' && this.truth.machine(actor.machineId) === null) {
      this.#see('marker-after-its-machine');
    }
    if (this.history.succeeded.has(instance) && marker.status !== 'SUCCEEDED') {
      this.break('4 one end', `${actor.id} wrote ${marker.status} over SUCCEEDED of ${instance}`);
    }
    if (marker.status === 'SUCCEEDED') this.history.succeeded.add(instance);
    const causes = this.history.causes.get(instance) ?? new Set();
    if (marker.cause !== null) causes.add(marker.cause);
    this.history.causes.set(instance, causes);
  }

  #resultChanged(runId: string): void {
    if (this.history.results.has(runId))
      this.break('4 one end', `${runId}: its result was changed`);
    this.history.results.set(runId, this.truth.nowMs);
    const result = this.truth.result(runId);
    const record = this.truth.record(runId);
    if (record?.end?.status !== result?.status) {
      this.break('4 one end', `${runId}: result ${result?.status}, record ${record?.end?.status}`);
    }
  }
}

function outcomeOf(value: unknown): string {
  const { status } = value as { status?: number };
  return String(status ?? 'done');
}
