// The guest as a small state machine: it claims, says RUNNING, works for a while, says how it ended,
// and deletes its machine, through the same objects and calls as the real scripts.
import type { Clock } from '#shared/cloud/clock.ts';
import type { HttpCall, HttpReply } from '#shared/cloud/http.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { hashNonce } from '#shared/lifecycle/marker.ts';
import { GuestCalls, PowerOff } from '#test/simulation/guest-calls.ts';
import { GuestReport } from '#test/simulation/guest-report.ts';

export interface GuestPlan {
  readonly bootMs: number;
  readonly workMs: number;
  readonly exitCode: number;
  /** After its report: wait so long, then delete itself; null: it never does. */
  readonly selfDeleteMs: number | null;
  /** Why it failed; left out: by its exit code. */
  readonly cause?: string;
  /** Of a failed step: whether the same again would fail again. */
  readonly permanent?: boolean;
  /** From when on nothing more is heard of it, while its machine and container go on. */
  readonly silentFrom?: 'boot' | 'claim' | 'work' | 'report';
  /** How a soft-off is taken; left out: its power goes at once, without a word. */
  readonly shutdown?: { readonly containerMs: number; readonly reports: boolean };
}

export const GOOD_GUEST: GuestPlan = {
  bootMs: 10_000,
  workMs: 30_000,
  exitCode: 0,
  selfDeleteMs: 20_000,
};

export interface Work {
  readonly runId: string;
  readonly attempt: number;
  /** An execution's short name, of a task. */
  readonly instanceId: string;
  /** Of an execution alone. */
  readonly task?: number;
}

export interface GuestWorld {
  readonly clock: Clock;
  readonly store: ObjectStore;
  readonly transport: (call: HttpCall) => Promise<HttpReply>;
  /** False once the machine has lost its power: nothing of this boot happens any more. */
  readonly alive: () => boolean;
  readonly preempted: () => boolean;
  /** Told when the container starts and ends: the law of one worker is checked there. */
  readonly onWork: (work: Work) => void;
  readonly onWorkEnd: (work: Work, exitCode: number | null) => void;
}

export interface GuestMachine {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly project: string;
  readonly boot: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Between the end of a container by its machine's time and that time. */
const END_MARGIN_MS = 120_000;
const ANNOUNCE_TRIES = 6;

export class Guest {
  readonly #machine: GuestMachine;
  readonly #plan: GuestPlan;
  readonly #world: GuestWorld;
  readonly #calls: GuestCalls;
  readonly #report: GuestReport;
  readonly #script: string;
  readonly #work: Work;
  #holds = false;
  #working = false;
  #stopping = false;
  #failed = false;

  constructor(machine: GuestMachine, plan: GuestPlan, world: GuestWorld) {
    this.#machine = machine;
    this.#plan = plan;
    this.#world = world;
    this.#calls = new GuestCalls(world);
    this.#script = machine.metadata['startup-script'] ?? '';
    const runId = this.#blank('RUN_ID');
    const attempt = Number(this.#blank('ATTEMPT'));
    this.#work = { runId, attempt, instanceId: machine.id };
    this.#report = new GuestReport(machine, this.#calls, {
      runId,
      attempt,
      object: this.#blank('MARKER_OBJECT'),
      nonce: this.#blank('NONCE'),
      bootEpoch: Math.floor(world.clock.nowMs() / 1000),
    });
  }

  /** One boot, until it has deleted its machine or its power goes. */
  async live(): Promise<void> {
    await untilPowerOff(this.#live());
  }

  /** The soft-off: the container ends, the shutdown script reports and deletes the machine. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await untilPowerOff(this.#stop());
  }

  /** How long somebody wants to look at a machine that failed. */
  #keptMs(): number {
    return Number(this.#blank('KEEP_SECONDS')) * 1000;
  }

  #blank(name: string): string {
    return new RegExp(`^${name}='(.*)'$`, 'm').exec(this.#script)?.[1] ?? '';
  }

  async #live(): Promise<void> {
    const { bootMs, silentFrom, selfDeleteMs } = this.#plan;
    await this.#calls.pause(bootMs);
    if (silentFrom === 'boot') return;
    const claim = await this.#takeClaim();
    if (claim === 'second-boot') {
      await this.#report.write('FAILED', { cause: 'interrupted', step: 'boot' });
    } else if (claim === 'won') {
      this.#holds = true;
      if (silentFrom === 'claim') return;
      if ((await this.#runContainer()) === 'silent') return;
    }
    if (selfDeleteMs === null) return;
    await this.#calls.pause(Math.max(selfDeleteMs, this.#failed ? this.#keptMs() : 0));
    await this.#deleteMachine();
  }

  async #runContainer(): Promise<'reported' | 'silent'> {
    const { workMs, exitCode, cause, permanent, silentFrom } = this.#plan;
    const announced = await this.#report.write('RUNNING', {}, ANNOUNCE_TRIES);
    if (announced === 'ended' || this.#stopping) return 'reported';
    await this.#calls.pause(0);
    this.#working = true;
    this.#world.onWork(this.#work);
    if (silentFrom === 'work') return 'silent';
    const leftMs = Number(this.#blank('TTL_SECONDS')) * 1000 - END_MARGIN_MS - this.#plan.bootMs;
    const cut = workMs > leftMs;
    await this.#calls.pause(Math.max(0, Math.min(workMs, leftMs)));
    // A power-off ends the container: its exit code then means nothing.
    if (this.#stopping) return 'silent';
    const failed = cut ? 'ttl' : exitCode !== 0 ? (cause ?? 'exit') : null;
    this.#failed = failed !== null;
    this.#endWork(failed === null ? 0 : exitCode);
    if (silentFrom === 'report') return 'silent';
    const why = { cause: failed ?? 'exit', ...(permanent === undefined ? {} : { permanent }) };
    const end = { exit_code: cut ? null : exitCode, step: 'run', ...why };
    await this.#report.write(failed === null ? 'SUCCEEDED' : 'FAILED', end);
    return 'reported';
  }

  async #stop(): Promise<void> {
    const { containerMs, reports } = this.#plan.shutdown ?? { containerMs: 0, reports: false };
    await this.#calls.pause(containerMs);
    this.#endWork(null);
    if (!reports || !this.#holds) return;
    const cause = this.#world.preempted() ? 'preempted' : 'interrupted';
    await this.#report.write('FAILED', { cause, step: 'run' });
    await this.#deleteMachine();
  }

  #endWork(exitCode: number | null): void {
    if (!this.#working) return;
    this.#working = false;
    this.#world.onWorkEnd(this.#work, exitCode);
  }

  /** Own bytes read back count as won: the reply to an earlier write was lost. */
  async #takeClaim(): Promise<'won' | 'second-boot' | 'foreign'> {
    const { id, zone, boot } = this.#machine;
    const bootId = `boot-${id}-${boot}`;
    const nonceSha256 = hashNonce(this.#blank('NONCE'));
    const text = JSON.stringify({ by: 'machine', instanceId: id, zone, bootId, nonceSha256 });
    const name = this.#blank('CLAIM_OBJECT');
    const { store } = this.#world;
    const reply = await this.#calls.persist(() => store.write(name, text, { ifGeneration: '0' }));
    if (reply.kind === 'written') return 'won';
    const held = await this.#calls.persist(() => store.read(name));
    const live = held.kind === 'found' ? new TextDecoder().decode(held.bytes) : '';
    if (live === text) return 'won';
    return live.includes(`"instanceId":"${id}"`) ? 'second-boot' : 'foreign';
  }

  async #deleteMachine(): Promise<void> {
    const { project, zone, name } = this.#machine;
    const base = 'https://compute.googleapis.com/compute/v1';
    const url = `${base}/projects/${project}/zones/${zone}/instances/${name}`;
    const call = { method: 'DELETE', url, timeoutMs: 30_000 } as const;
    await this.#calls.persist(() => this.#world.transport(call));
  }
}

async function untilPowerOff(life: Promise<void>): Promise<void> {
  try {
    await life;
  } catch (error) {
    if (!(error instanceof PowerOff)) throw error;
  }
}
