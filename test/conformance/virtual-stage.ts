// The stage on the virtual clock: real functions, the local cloud's step, simulated supervisors.

import type { Behaviour, Fault, Stage } from '#test/conformance/cases.ts';
import { bodyText } from '#test/conformance/command.ts';
import { GOOD_GUEST, type GuestPlan } from '#test/simulation/guest.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';
import { envOf, executionsOf, isRunning } from '#test/simulation/swarm/jobs.ts';

const STEP_MS = 500;
const LIMIT_MS = 30 * 60_000;

export class VirtualStage implements Stage {
  readonly runId: string;
  readonly bucket = SETTINGS.plan.bucket;
  readonly #kernel: Kernel;
  #attempts: readonly Behaviour[] = [];

  constructor(runId: string) {
    this.runId = runId;
    this.#kernel = new Kernel({
      world: { run: { startMs: 1_000 }, storage: { objectWriteGapMs: 0 } },
      guest: ({ id }) => this.#planOf(id),
    });
  }

  #planOf(execution: string): GuestPlan {
    const state = executionsOf(this.#kernel.world).find(({ shortName }) => shortName === execution);
    const attempt = state === undefined ? 1 : Number(envOf(state).MAYFLY_ATTEMPT);
    const behaviour = this.#attempts[attempt - 1] ?? this.#attempts.at(-1);
    const plan = { ...GOOD_GUEST, bootMs: 500, shutdown: { containerMs: 200, reports: true } };
    if (behaviour === 'hangs') return { ...plan, workMs: LIMIT_MS };
    return { ...plan, workMs: 3_000, exitCode: behaviour?.exit ?? 0 };
  }

  async request(change: object, attempts: readonly Behaviour[]): Promise<void> {
    this.#attempts = attempts;
    this.#kernel.publish('run-requests', bodyText(this.runId, change, attempts));
  }

  async cancel(): Promise<void> {
    this.#kernel.request({ cancel: this.runId, reason: 'enough' });
  }

  plant(fault: Fault): void {
    const match = { method: 'run.projects.locations.jobs.run' };
    this.#kernel.world.faults.plant({ match, ...fault });
  }

  delayStart(delayMs: number): void {
    const body = { times: 1, delayMs };
    this.#kernel.call({ method: 'local.run.start', params: {}, body });
  }

  async put(object: string, text: string): Promise<void> {
    this.#kernel.put(object, text);
  }

  read(object: string): string | null {
    return this.#kernel.object(object);
  }

  record() {
    return this.#kernel.record(this.runId);
  }

  result() {
    return this.#kernel.result(this.runId);
  }

  executions() {
    return executionsOf(this.#kernel.world).map((execution) => ({
      name: execution.shortName,
      job: execution.job.shortName,
      running: isRunning(execution),
    }));
  }

  async outside(verb: 'cancel' | 'delete'): Promise<void> {
    const execution = executionsOf(this.#kernel.world).find(isRunning);
    if (execution === undefined) throw new Error('nothing runs');
    const { project, region: location, shortName: job } = execution.job;
    const params = { project, location, job, execution: execution.shortName };
    const method = `run.projects.locations.jobs.executions.${verb}`;
    this.#kernel.call({ method, params });
  }

  async exhaustMemory(): Promise<void> {
    const execution = this.executions().find(({ running }) => running)?.name;
    const body = { execution, task: 0 };
    this.#kernel.call({ method: 'local.run.outOfMemory', params: {}, body });
  }

  async sweep(): Promise<void> {
    this.#kernel.spawn(this.#kernel.sweep());
    await this.#kernel.run(60_000);
  }

  async until(what: () => boolean): Promise<void> {
    const endMs = this.#kernel.clock.nowMs() + LIMIT_MS;
    while (!what()) {
      if (this.#kernel.clock.nowMs() > endMs) throw new Error(this.describe());
      await this.#kernel.run(STEP_MS);
    }
  }

  describe(): string {
    return `${this.runId} is ${this.record()?.state}: ${JSON.stringify(this.record()?.history)}`;
  }
}
