// The supervisor of a task as a small state machine: it reads its bootstrap, claims, tells what happens in
// signed lines, works for a while, leaves its marker, and ends; through the same objects as the real one.
import type { JobTaskStartedEvent } from '#scripts/local-cloud/call.ts';
import { hashNonce } from '#shared/lifecycle/marker.ts';
import {
  type SignedEvent,
  signEvent,
  type TaskEvent,
  taskSequence,
} from '#shared/lifecycle/task-event.ts';
import { type Bootstrap, EXIT_FLUSHED, EXIT_NO_WORK } from '#shared/plan/bootstrap.ts';
import { bootstrapObject, claimObject } from '#shared/plan/objects.ts';
import type { GuestPlan, GuestWorld, Work } from '#test/simulation/guest.ts';
import { GuestCalls, PowerOff } from '#test/simulation/guest-calls.ts';

/** What a command has got to when it is told to stop. */
const STATE = 'half-way';

export interface TaskWorld extends Omit<GuestWorld, 'transport' | 'preempted'> {
  /** A line of its output, as the log takes it. */
  readonly print: (event: SignedEvent) => void;
  readonly exit: (code: number) => void;
}

export class SimulatedTask {
  readonly #event: JobTaskStartedEvent;
  readonly #plan: GuestPlan;
  readonly #world: TaskWorld;
  readonly #calls: GuestCalls;
  readonly #bootEpoch: number;
  #bootstrap: Bootstrap | null = null;
  #seq = 0;
  #working = false;
  #stopping = false;
  #reported = false;

  constructor(event: JobTaskStartedEvent, plan: GuestPlan, world: TaskWorld) {
    this.#event = event;
    this.#plan = plan;
    this.#world = world;
    this.#calls = new GuestCalls(world);
    this.#bootEpoch = Math.floor(world.clock.nowMs() / 1000);
  }

  async live(): Promise<void> {
    await untilKilled(this.#live());
  }

  /** TERM: ten seconds until it is killed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await untilKilled(this.#stop());
  }

  get #work(): Work {
    const { runId, attempt } = this.#known();
    const { executionName: instanceId, task } = this.#event;
    return { runId, attempt, instanceId, task };
  }

  #known(): Bootstrap {
    if (this.#bootstrap === null) throw new Error('no bootstrap was read');
    return this.#bootstrap;
  }

  async #live(): Promise<void> {
    const { bootMs, silentFrom } = this.#plan;
    await this.#calls.pause(bootMs);
    if (silentFrom === 'boot') return;
    const { store } = this.#world;
    const name = bootstrapObject(this.#event.env.MAYFLY_NONCE ?? '');
    const found = await this.#calls.persist(() => store.read(name));
    if (found.kind === 'absent') return this.#world.exit(EXIT_NO_WORK);
    this.#bootstrap = JSON.parse(new TextDecoder().decode(found.bytes)) as Bootstrap;
    if (!(await this.#takeClaim())) return this.#world.exit(EXIT_NO_WORK);
    if (this.#known().taskCount === 1) await this.#calls.persist(() => store.delete(name));
    this.#print('claimed');
    if (silentFrom === 'claim' || this.#stopping) return;
    if (!(await this.#readInputs())) {
      await this.#report('FAILED', { cause: 'step-failed', step: 'inputs', permanent: true });
      return this.#world.exit(1);
    }
    await this.#runCommand();
  }

  async #runCommand(): Promise<void> {
    const { workMs, exitCode, cause, permanent, silentFrom } = this.#plan;
    await this.#calls.pause(0);
    this.#working = true;
    this.#world.onWork(this.#work);
    this.#print('running');
    if (silentFrom === 'work') return;
    const limitMs = this.#known().timeoutSeconds * 1000;
    const cut = workMs > limitMs;
    await this.#calls.pause(Math.min(workMs, limitMs));
    if (this.#stopping) return;
    const failed = cut ? 'timeout' : exitCode === 0 ? null : (cause ?? 'exit');
    this.#endWork(failed === null ? 0 : exitCode);
    if (failed === null) await this.#writeOutputs();
    if (silentFrom !== 'report') {
      const why = { cause: failed ?? 'exit', ...(permanent === undefined ? {} : { permanent }) };
      const code = cut ? null : exitCode;
      await this.#report(failed === null ? 'SUCCEEDED' : 'FAILED', {
        exit_code: code,
        step: 'run',
        ...why,
      });
      this.#print('ended');
    }
    this.#world.exit(cut ? EXIT_FLUSHED : exitCode);
  }

  async #stop(): Promise<void> {
    const { containerMs, reports } = this.#plan.shutdown ?? { containerMs: 60_000, reports: false };
    await this.#calls.pause(containerMs);
    const begun = this.#working || this.#reported;
    this.#endWork(null);
    if (reports && begun) await this.#writeCheckpoint();
    if (reports && begun && !this.#reported) {
      await this.#report('FAILED', { cause: 'interrupted', step: 'run' });
    }
    this.#world.exit(EXIT_FLUSHED);
  }

  /** Exactly the generations that were pinned. */
  async #readInputs(): Promise<boolean> {
    for (const { get } of this.#known().inputs) {
      const [, object = '', generation] = /^[^/]+\/(.*)#(\d*)$/.exec(get.url) ?? [];
      const { store } = this.#world;
      const found = await this.#calls.persist(() => store.read(object, generation || undefined));
      if (found.kind === 'absent') return false;
    }
    return true;
  }

  /** The files by their content, and the manifest after them. */
  async #writeCheckpoint(): Promise<void> {
    const { checkpoints, attempt } = this.#known();
    const { store } = this.#world;
    for (const { prefix } of checkpoints) {
      const sha256 = hashNonce(STATE);
      const manifest = { schema: 1, files: [{ path: 'state', sha256, bytes: STATE.length }] };
      const name = `${prefix}checkpoints/${attempt}-0000000001.json`;
      const put = (object: string, text: string) =>
        this.#calls.persist(() => store.write(object, text, { ifGeneration: '0' }));
      await put(`${prefix}files/${sha256}`, STATE);
      await put(name, JSON.stringify(manifest));
    }
  }

  /** One object under each prefix, as a command would leave it. */
  async #writeOutputs(): Promise<void> {
    const { outputs, taskCount } = this.#known();
    const { store } = this.#world;
    for (const { prefix } of outputs) {
      const folder = taskCount === 1 ? prefix : `${prefix}tasks/${this.#event.task}/`;
      const name = `${folder}result.json`;
      const restored = this.#known().checkpoints.some(
        ({ restore }) => (restore['0'] ?? []).length > 0,
      );
      const text = restored ? 'resumed' : 'from the beginning';
      await this.#calls.persist(() => store.write(name, text, { ifGeneration: '0' }));
    }
  }

  #endWork(exitCode: number | null): void {
    if (!this.#working) return;
    this.#working = false;
    this.#world.onWorkEnd(this.#work, exitCode);
  }

  /** Another task of this execution may have it, and it is the same claim. */
  async #takeClaim(): Promise<boolean> {
    const { runId, attempt, nonce, region } = this.#known();
    const { executionName: instanceId, task } = this.#event;
    const bootId = `task-${task}`;
    const nonceSha256 = hashNonce(nonce);
    const claim = { by: 'machine', instanceId, zone: region, bootId, nonceSha256 };
    const { store } = this.#world;
    const name = claimObject(runId, attempt);
    const text = JSON.stringify(claim);
    const reply = await this.#calls.persist(() => store.write(name, text, { ifGeneration: '0' }));
    if (reply.kind === 'written') return true;
    const held = await this.#calls.persist(() => store.read(name));
    const live = held.kind === 'found' ? JSON.parse(new TextDecoder().decode(held.bytes)) : null;
    return live?.by === 'machine' && live.instanceId === instanceId;
  }

  /** Create-only: what is there already is its own, or the control plane's seal. */
  async #report(status: string, change: object): Promise<void> {
    const { marker, taskCount, runId, attempt, nonce, instance, region } = this.#known();
    const { task, executionName } = this.#event;
    const name = taskCount === 1 ? `${marker.prefix}.json` : `${marker.prefix}.${task}.json`;
    const endEpoch = Math.floor(this.#calls.clock.nowMs() / 1000);
    const text = JSON.stringify({
      status,
      exit_code: null,
      instance,
      zone: region,
      detail: '',
      boot_epoch: this.#bootEpoch,
      exec_start_epoch: this.#bootEpoch,
      end_epoch: endEpoch,
      execute_s: endEpoch - this.#bootEpoch,
      schema: 1,
      run_id: runId,
      attempt,
      ...(taskCount > 1 ? { task } : {}),
      step: 'run',
      cause: null,
      boot_id: executionName,
      image_digest: null,
      peak_memory_bytes: null,
      gpu_count: null,
      outputs: [],
      nonce,
      ...change,
    });
    const { store } = this.#world;
    await this.#calls.persist(() => store.write(name, text, { ifGeneration: '0' }));
    this.#reported = true;
  }

  #print(kind: TaskEvent['kind']): void {
    const { runId, attempt, eventKey } = this.#known();
    const { task } = this.#event;
    const seq = taskSequence(task, this.#seq);
    this.#seq += 1;
    const atMs = this.#calls.clock.nowMs();
    this.#world.print(signEvent(eventKey, { runId, attempt, task, seq, kind, atMs, data: {} }));
  }
}

async function untilKilled(life: Promise<void>): Promise<void> {
  try {
    await life;
  } catch (error) {
    if (!(error instanceof PowerOff)) throw error;
  }
}
