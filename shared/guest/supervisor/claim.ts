// The fence of an attempt: one create-only object an execution. Whoever does not hold it does not work.

import { sumsOfBytes } from '#shared/guest/supervisor/checksums.ts';
import { ask, NoAnswer } from '#shared/guest/supervisor/http.ts';
import { readText } from '#shared/guest/supervisor/send.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import type { TaskEnvironment } from '#shared/guest/supervisor/task-environment.ts';
import { checkStored } from '#shared/guest/supervisor/transfer.ts';
import { hashNonce } from '#shared/lifecycle/marker.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';

/**
 * True when this execution holds the claim: it was free, or another task of the execution took it, or
 * our own reply was lost. Throws NoAnswer when that cannot be learnt before the deadline.
 */
export async function takeClaim(
  deps: SupervisorDeps,
  task: TaskEnvironment,
  { claim, deadline }: Bootstrap,
): Promise<boolean> {
  const text = JSON.stringify({
    by: 'machine',
    instanceId: task.execution,
    zone: task.region,
    bootId: `task-${task.task}`,
    nonceSha256: hashNonce(task.nonce),
  });
  const bytes = Buffer.from(text);
  const body = { bytes: bytes.length, open: () => [bytes] };
  const limits = { untilMs: Date.parse(deadline), stop: deps.terminated };
  const { url, headers } = claim.put;
  const put = { method: 'PUT', url, headers, body, ...limits } as const;
  const { status, value } = await ask(deps, put, async (reply) => {
    const said = await readText(reply);
    if (reply.status === 200) checkStored('claim', reply, sumsOfBytes(bytes));
    return said;
  });
  if (status === 200) return true;
  // Who may only create is told 403 where something is there: which of the two comes first is not documented.
  if (status !== 412 && status !== 403) throw new NoAnswer(`claim: HTTP ${status} ${value}`);
  const get = { method: 'GET', ...claim.get, ...limits } as const;
  const held = await ask(deps, get, readText);
  if (held.status !== 200)
    throw new NoAnswer(`claim: HTTP ${status}, and read back: HTTP ${held.status}`);
  return holderOf(held.value) === task.execution;
}

/** The control plane's own claim names no holder. */
function holderOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { instanceId?: unknown } | null)?.instanceId;
  } catch {
    return null;
  }
}
