// The guest as a small state machine: it claims, says RUNNING, works for a while, says how it ended,
// and deletes its machine, through the same objects and calls as the real script.
import type { Clock } from '#shared/cloud/clock.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { HttpCall, HttpReply } from '#shared/cloud/http.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { hashNonce } from '#shared/lifecycle/marker.ts';

export interface GuestPlan {
  readonly bootMs: number;
  readonly workMs: number;
  readonly exitCode: number;
  /** After its report: wait so long, then delete itself; null: it never does. */
  readonly selfDeleteMs: number | null;
}

export const GOOD_GUEST: GuestPlan = {
  bootMs: 10_000,
  workMs: 30_000,
  exitCode: 0,
  selfDeleteMs: 20_000,
};

export interface GuestWorld {
  readonly clock: Clock;
  readonly store: ObjectStore;
  readonly transport: (call: HttpCall) => Promise<HttpReply>;
  /** False once the machine has lost its power: nothing of this boot happens any more. */
  readonly alive: () => boolean;
  /** Told when the container starts: the law of one worker is checked here. */
  readonly onWork: (work: { runId: string; attempt: number; instanceId: string }) => void;
  readonly onWorkEnd: (instanceId: string) => void;
}

export interface GuestMachine {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly project: string;
  readonly boot: number;
  readonly metadata: Readonly<Record<string, string>>;
}

class PowerOff extends Error {}

export async function runGuest(
  machine: GuestMachine,
  plan: GuestPlan,
  world: GuestWorld,
): Promise<void> {
  try {
    await live(machine, plan, world);
  } catch (error) {
    if (!(error instanceof PowerOff)) throw error;
  }
}

async function live(machine: GuestMachine, plan: GuestPlan, world: GuestWorld): Promise<void> {
  const script = machine.metadata['startup-script'] ?? '';
  const blank = (name: string) => new RegExp(`^${name}='(.*)'$`, 'm').exec(script)?.[1] ?? '';
  const runId = blank('RUN_ID');
  const attempt = Number(blank('ATTEMPT'));
  const nonce = blank('NONCE');
  const pause = async (milliseconds: number) => {
    await world.clock.sleep(milliseconds);
    if (!world.alive()) throw new PowerOff();
  };
  /** A call that may pass is made until it does, or until the power goes. */
  const persist = async <Reply>(call: () => Promise<Reply>): Promise<Reply> => {
    for (;;) {
      if (!world.alive()) throw new PowerOff();
      const reply = await call().catch((error: unknown) => {
        if (error instanceof CloudError && error.retriable) return null;
        throw error;
      });
      if (reply !== null) return reply;
      await pause(5_000);
    }
  };
  const write = (name: string, value: object, ifGeneration: string) =>
    persist(() => world.store.write(name, JSON.stringify(value), { ifGeneration }));
  await pause(plan.bootMs);
  const bootEpoch = Math.floor(world.clock.nowMs() / 1000);
  const bootId = `boot-${machine.id}-${machine.boot}`;
  const claim = {
    by: 'machine',
    instanceId: machine.id,
    zone: machine.zone,
    bootId,
    nonceSha256: hashNonce(nonce),
  };
  if (await takeClaim(claim)) {
    await report('RUNNING', {});
    await pause(0);
    world.onWork({ runId, attempt, instanceId: machine.id });
    await pause(plan.workMs);
    world.onWorkEnd(machine.id);
    const status = plan.exitCode === 0 ? 'SUCCEEDED' : 'FAILED';
    const end = { exit_code: plan.exitCode, cause: 'exit', step: 'run', nonce };
    await report(status, end);
  }
  if (plan.selfDeleteMs === null) return;
  await pause(plan.selfDeleteMs);
  const base = 'https://compute.googleapis.com/compute/v1';
  const url = `${base}/projects/${machine.project}/zones/${machine.zone}/instances/${machine.name}`;
  await persist(() => world.transport({ method: 'DELETE', url, timeoutMs: 30_000 }));

  /** Own bytes read back count as won: the reply to an earlier write was lost. */
  async function takeClaim(own: object): Promise<boolean> {
    const name = blank('CLAIM_OBJECT');
    const reply = await write(name, own, '0');
    if (reply.kind === 'written') return true;
    const held = await persist(() => world.store.read(name));
    return held.kind === 'found' && new TextDecoder().decode(held.bytes) === JSON.stringify(own);
  }

  async function report(status: string, change: object): Promise<void> {
    const name = blank('MARKER_OBJECT');
    for (;;) {
      const read = await persist(() => world.store.read(name));
      const live = read.kind === 'found' ? JSON.parse(new TextDecoder().decode(read.bytes)) : null;
      if (live?.status === 'SUCCEEDED' || live?.status === 'FAILED') return;
      const generation = read.kind === 'found' ? read.generation : '0';
      const marker = {
        status,
        exit_code: null,
        instance: machine.name,
        zone: machine.zone,
        detail: '',
        boot_epoch: bootEpoch,
        exec_start_epoch: bootEpoch,
        end_epoch: status === 'RUNNING' ? null : Math.floor(world.clock.nowMs() / 1000),
        schema: 1,
        run_id: runId,
        attempt,
        step: null,
        cause: null,
        boot_id: bootId,
        nonce: hashNonce(nonce),
        ...change,
      };
      const reply = await write(name, marker, generation);
      if (reply.kind === 'written') return;
      await pause(1000);
    }
  }
}
