// Lets the sweep pass, as its schedule would, and counts what is left after it.
import { type LocalDeployment, sweepJobName } from '#scripts/local-cloud/deployment/layout.ts';
import { countLeft, isNothing, type Left } from '#scripts/start/proof.ts';
import { systemClock } from '#shared/cloud/clock.ts';

const SETTLE_MS_MAX = 120_000;
const PASS_MS_MAX = 20_000;
const POLL_MS = 100;
const PAUSE_MS = 1000;
const CALL_TIMEOUT_MS = 10_000;

/** Counts finished passes from the sweep's own log lines. */
export class SweepWatch {
  passes = 0;

  see(line: string): void {
    if (line.includes('"event":"sweep-done"')) this.passes += 1;
  }
}

/**
 * Waits until the machines have gone the way that they go by themselves, sweeps, and counts; sweeps again
 * while something is left, for a bounded time. The count is always one after a pass.
 */
export async function sweepUntilNothing(
  deployment: LocalDeployment,
  watch: SweepWatch,
  interruption: AbortSignal,
): Promise<Left> {
  const endMs = systemClock.nowMs() + SETTLE_MS_MAX;
  const goesOn = () => systemClock.nowMs() < endMs && !interruption.aborted;
  while ((await countLeft(deployment)).machines > 0 && goesOn()) {
    await systemClock.sleep(POLL_MS, interruption);
  }
  while (true) {
    await sweepOnce(deployment, watch, interruption);
    const left = await countLeft(deployment);
    if (isNothing(left) || !goesOn()) return left;
    await systemClock.sleep(PAUSE_MS, interruption);
  }
}

async function sweepOnce(
  deployment: LocalDeployment,
  watch: SweepWatch,
  interruption: AbortSignal,
): Promise<void> {
  const before = watch.passes;
  const url = `${deployment.baseUrl}/v1/${sweepJobName(deployment)}:run`;
  const reply = await fetch(url, { method: 'POST', signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
  if (!reply.ok) throw new Error(`POST ${url} answered ${reply.status}: ${await reply.text()}`);
  const endMs = systemClock.nowMs() + PASS_MS_MAX;
  while (watch.passes === before && systemClock.nowMs() < endMs && !interruption.aborted) {
    await systemClock.sleep(POLL_MS, interruption);
  }
}
