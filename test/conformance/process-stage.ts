// The stage of real processes: the functions, the supervisor of each task and its command each as a process
// of their own, over the local cloud's sockets.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { Installation } from '#scripts/local-cloud/deployment/installation.ts';
import { publish, sweepJobName } from '#scripts/local-cloud/deployment/layout.ts';
import { recordObject, resultObject } from '#shared/plan/objects.ts';
import type { Behaviour, Fault, Stage } from '#test/conformance/cases.ts';
import { bodyText } from '#test/conformance/command.ts';
import { envOf, executionsOf, isRunning } from '#test/simulation/swarm/jobs.ts';

const LIMIT_MS = 120_000;
const POLL_MS = 50;
const SWEEP_MS = 15_000;

export class ProcessStage implements Stage {
  readonly runId: string;
  readonly bucket: string;
  readonly #installation: Installation;
  readonly #sweeps: () => number;
  readonly #hold: string;

  constructor(
    runId: string,
    installation: Installation,
    { sweeps, folder }: { readonly sweeps: () => number; readonly folder: string },
  ) {
    this.runId = runId;
    this.bucket = installation.deployment.bucket;
    this.#installation = installation;
    this.#sweeps = sweeps;
    this.#hold = join(folder, runId);
  }

  get #world() {
    return this.#installation.cloud.world;
  }

  #call(method: string, params: Record<string, string>, body: object = {}): void {
    const reply = this.#installation.cloud.call(method, params, body);
    if (reply.status !== 200) throw new Error(`${method}: ${JSON.stringify(reply.body)}`);
  }

  async request(change: object, attempts: readonly Behaviour[]): Promise<void> {
    await publish(
      this.#installation.deployment,
      bodyText(this.runId, change, attempts, this.#hold),
    );
  }

  async cancel(): Promise<void> {
    const text = JSON.stringify({ cancel: this.runId, reason: 'enough' });
    await publish(this.#installation.deployment, text);
  }

  plant(fault: Fault): void {
    this.#world.faults.plant({ match: { method: 'run.projects.locations.jobs.run' }, ...fault });
  }

  delayStart(delayMs: number): void {
    this.#call('local.run.start', {}, { times: 1, delayMs });
  }

  async put(object: string, text: string): Promise<void> {
    const body = { bytes: Buffer.from(text), metadata: { name: object } };
    this.#call('storage.objects.insert', { bucket: this.bucket, name: object }, body);
  }

  read(object: string): string | null {
    const found = this.#world.storage.buckets.get(this.bucket)?.objects.get(object);
    return found === undefined ? null : Buffer.from(found.bytes).toString();
  }

  record() {
    const text = this.read(recordObject(this.runId));
    return text === null ? null : JSON.parse(text);
  }

  result() {
    const text = this.read(resultObject(this.runId));
    return text === null ? null : JSON.parse(text);
  }

  #executions() {
    return executionsOf(this.#world).filter((one) => envOf(one).MAYFLY_RUN_ID === this.runId);
  }

  executions() {
    return this.#executions().map((execution) => ({
      name: execution.shortName,
      job: execution.job.shortName,
      running: isRunning(execution),
    }));
  }

  async outside(verb: 'cancel' | 'delete'): Promise<void> {
    const execution = this.#executions().find(isRunning);
    if (execution === undefined) throw new Error('nothing runs');
    const { project, region: location, shortName: job } = execution.job;
    const params = { project, location, job, execution: execution.shortName };
    this.#call(`run.projects.locations.jobs.executions.${verb}`, params);
  }

  async exhaustMemory(): Promise<void> {
    const execution = this.#executions().find(isRunning)?.name;
    this.#call('local.run.outOfMemory', {}, { execution, task: 0 });
  }

  async sweep(): Promise<void> {
    const before = this.#sweeps();
    await this.#startSweep();
    await this.until(() => this.#sweeps() > before);
  }

  async #startSweep(): Promise<void> {
    const { deployment } = this.#installation;
    const url = `${deployment.baseUrl}/v1/${sweepJobName(deployment)}:run`;
    const reply = await fetch(url, { method: 'POST' });
    if (!reply.ok) throw new Error(`${url}: ${reply.status}`);
  }

  /** A command ends only when the record knows that it runs: how long the news takes is no matter. */
  #release(): void {
    const { state, attempts } = this.record() ?? {};
    if (state === 'RUNNING') writeFileSync(`${this.#hold}-${attempts.length}`, '');
  }

  async until(what: () => boolean): Promise<void> {
    const check = () => {
      this.#release();
      if (!what()) throw new Error(`${this.runId}: ${JSON.stringify(this.record())}`);
    };
    // A signal that is repeated comes late: the sweep passes more often than every two minutes here.
    for (let tries = 0; tries < LIMIT_MS / SWEEP_MS; tries++) {
      try {
        await vi.waitFor(check, { timeout: SWEEP_MS, interval: POLL_MS });
        return;
      } catch {
        await this.#startSweep();
      }
    }
    check();
  }
}
