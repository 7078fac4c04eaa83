// The bootstrap object: read and deleted with the account's own token, the only thing that it is for.

import { ask } from '#shared/guest/supervisor/http.ts';
import { readText } from '#shared/guest/supervisor/send.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import type { TaskEnvironment } from '#shared/guest/supervisor/task-environment.ts';
import { BOOTSTRAP_SCHEMA, type Bootstrap } from '#shared/plan/bootstrap.ts';

export type BootstrapReading =
  | { readonly kind: 'bootstrap'; readonly bootstrap: Bootstrap }
  /** The attempt was fenced off, or another task has begun it. */
  | { readonly kind: 'none'; readonly reason: string };

const TOKEN_PATH = '/computeMetadata/v1/instance/service-accounts/default/token';
/** Time to ask for it: an execution that begins later than this is as good as lost. */
const READ_MS = 300_000;
const DELETE_MS = 30_000;

/** Throws NoAnswer when it cannot be had in time. */
export async function readBootstrap(
  deps: SupervisorDeps,
  task: TaskEnvironment,
): Promise<BootstrapReading> {
  const untilMs = deps.clock.nowMs() + READ_MS;
  const headers = { authorization: `Bearer ${await accountToken(deps, task, untilMs)}` };
  const call = { method: 'GET', url: task.bootstrapUrl, headers, untilMs } as const;
  const reply = await ask(deps, { ...call, stop: deps.terminated }, readText);
  if (reply.status !== 200) return { kind: 'none', reason: `bootstrap: HTTP ${reply.status}` };
  return parseBootstrap(reply.value, task);
}

/** Best effort: the claim is the fence, this is what a later task stumbles over first. */
export async function deleteBootstrap(deps: SupervisorDeps, task: TaskEnvironment): Promise<void> {
  const untilMs = deps.clock.nowMs() + DELETE_MS;
  const headers = { authorization: `Bearer ${await accountToken(deps, task, untilMs)}` };
  const call = { method: 'DELETE', url: task.bootstrapUrl, headers, untilMs } as const;
  const { status } = await ask(deps, call, readText);
  if (status !== 204 && status !== 200 && status !== 404) throw new Error(`HTTP ${status}`);
}

async function accountToken(
  deps: SupervisorDeps,
  { metadataHost }: TaskEnvironment,
  untilMs: number,
): Promise<string> {
  const headers = { 'metadata-flavor': 'Google' };
  const call = {
    method: 'GET',
    url: `http://${metadataHost}${TOKEN_PATH}`,
    headers,
    untilMs,
  } as const;
  const { value, status } = await ask(deps, call, readText);
  const token =
    status === 200 ? (JSON.parse(value) as { access_token?: unknown }).access_token : '';
  if (typeof token !== 'string' || token === '') throw new Error(`no token: HTTP ${status}`);
  return token;
}

/** What submit wrote is trusted; that it is this attempt's, and of this version, is checked. */
function parseBootstrap(text: string, task: TaskEnvironment): BootstrapReading {
  let value: Partial<Bootstrap> | null;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (value?.schema !== BOOTSTRAP_SCHEMA) {
    return {
      kind: 'none',
      reason: `bootstrap: schema ${value?.schema}, this one reads ${BOOTSTRAP_SCHEMA}`,
    };
  }
  const bootstrap = value as Bootstrap;
  const same =
    bootstrap.runId === task.runId &&
    bootstrap.attempt === task.attempt &&
    bootstrap.nonce === task.nonce &&
    bootstrap.taskCount === task.taskCount;
  return same
    ? { kind: 'bootstrap', bootstrap }
    : { kind: 'none', reason: 'bootstrap: of another run, attempt or task count' };
}
