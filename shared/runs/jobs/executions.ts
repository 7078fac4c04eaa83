// Executions of Cloud Run Jobs, asked for on behalf of an attempt: by the names that the record knows,
// else by the nonce that only this attempt's executions carry.
import { CloudError } from '#shared/cloud/errors.ts';
import type { Execution, ExecutionName } from '#shared/cloud/run-jobs.ts';
import type { MachineFact } from '#shared/lifecycle/observation.ts';
import type { Attempt } from '#shared/lifecycle/record.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import type { Work } from '#shared/runs/runtime.ts';

const PAGES_MAX = 100;

/** The executions of an attempt in a region that the record knows, the claim's holder first. */
export function knownExecutions({ claim, intents }: Attempt, region: string): ExecutionName[] {
  const here = intents.filter(({ candidate }) => candidate.region === region);
  const job = here.at(-1)?.candidate.machineType ?? '';
  const holder =
    claim?.by === 'machine' && claim.zone === region
      ? [{ region, job: jobOf(claim.instanceId, here, job), execution: claim.instanceId }]
      : [];
  const others = here.flatMap(({ instanceId, candidate }) =>
    instanceId === null ? [] : [{ region, job: candidate.machineType, execution: instanceId }],
  );
  const all = [...holder, ...others];
  return all.filter((one, index) => all.findIndex((o) => o.execution === one.execution) === index);
}

const jobOf = (execution: string, intents: Attempt['intents'], otherwise: string) =>
  intents.find(({ candidate }) => execution.startsWith(`${candidate.machineType}-`))?.candidate
    .machineType ?? otherwise;

/** What runs of the attempt in the region. One that has ended is gone. */
export async function readExecutionFact(
  deps: RunDeps,
  { record, attempt }: Work,
  region: string,
): Promise<MachineFact> {
  const known = knownExecutions(attempt, region);
  const live = attempt.end === null && record.end === null;
  if (known.length === 0) return await lookUp(deps, attempt, region, live);
  // Of a live attempt the one that works counts; of an ended one whichever is still there.
  const asked = live ? known.slice(0, 1) : known;
  let fact: MachineFact = { kind: 'gone' };
  for (const name of asked) {
    const reply = await deps.jobs.getExecution(name);
    if (reply.kind === 'unknown') fact = { kind: 'unknown' };
    if (reply.kind !== 'there') continue;
    if (reply.execution.completedMs === null) return there(reply.execution);
  }
  return fact;
}

const there = ({ name, startedMs, completedMs, conditions }: Execution): MachineFact => ({
  kind: 'there',
  id: name,
  status: completedMs !== null ? 'COMPLETED' : startedMs === null ? 'PROVISIONING' : 'RUNNING',
  ours: true,
  startedMs,
  ...(startedMs === null ? { waitsFor: openConditions(conditions) } : {}),
});

/** What is not fulfilled yet, in the platform's words. */
const openConditions = (conditions: Execution['conditions']) =>
  conditions
    .filter(({ state, message }) => state !== 'CONDITION_SUCCEEDED' && message !== '')
    .map(({ message }) => message)
    .join('; ')
    .slice(0, 500);

/** The oldest execution with the attempt's nonce; of a live attempt also one that has ended. */
async function lookUp(
  deps: RunDeps,
  attempt: Attempt,
  region: string,
  live: boolean,
): Promise<MachineFact> {
  try {
    const all = await executionsOf(deps, attempt, region);
    const running = all.filter(({ completedMs }) => completedMs === null);
    const [ended] = all;
    if (!live && running.length === 0 && ended !== undefined) {
      return { kind: 'gone', id: ended.name };
    }
    const found = live ? all : running;
    const [oldest] = found.sort((a, b) => (a.createdMs ?? 0) - (b.createdMs ?? 0));
    return oldest === undefined ? { kind: 'gone' } : there(oldest);
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    return { kind: 'unknown' };
  }
}

/** The running executions with the attempt's nonce; throws when they cannot be listed. */
export async function lookUpNames(
  deps: RunDeps,
  attempt: Attempt,
  region: string,
): Promise<ExecutionName[]> {
  const found = await executionsOf(deps, attempt, region);
  return found
    .filter(({ completedMs }) => completedMs === null)
    .map(({ name, job }) => ({ region, job, execution: name }));
}

/** All with the attempt's nonce, of every Job in the region that it was asked of. */
async function executionsOf(
  deps: RunDeps,
  { intents, nonce }: Attempt,
  region: string,
): Promise<Execution[]> {
  const here = intents.filter(({ candidate }) => candidate.region === region);
  const jobs = new Set(here.map(({ candidate }) => candidate.machineType));
  const { adoptLookbackSeconds } = deps.settings.plan.jobs;
  const sinceMs = deps.clock.nowMs() - adoptLookbackSeconds * 1000;
  const found: Execution[] = [];
  for (const job of jobs) {
    for await (const execution of listExecutions(deps, region, job)) {
      const recent = execution.createdMs === null || execution.createdMs >= sinceMs;
      if (recent && execution.env.MAYFLY_NONCE === nonce) found.push(execution);
    }
  }
  return found;
}

/** All executions of a Job. Throws a CloudError when they cannot be listed. */
export async function* listExecutions(
  { jobs }: Pick<RunDeps, 'jobs'>,
  region: string,
  job: string,
): AsyncGenerator<Execution> {
  let pageToken: string | null = null;
  for (let count = 0; count < PAGES_MAX; count++) {
    const page = await jobs.listExecutions(region, job, pageToken);
    yield* page.items;
    pageToken = page.nextPageToken;
    if (pageToken === null) return;
  }
}
