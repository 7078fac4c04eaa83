// Starting an execution: its bootstrap with signed addresses first, then the one call that cannot be
// repeated, in its turn.
import { CloudError } from '#shared/cloud/errors.ts';
import type { InsertFact, PlatformError } from '#shared/lifecycle/observation.ts';
import type { Intent } from '#shared/lifecycle/record.ts';
import type { Form, FormRequest, SignedAddress, SignedUrlRequest } from '#shared/plan/bootstrap.ts';
import {
  type BootstrapAccess,
  bootstrapAccess,
  buildBootstrap,
} from '#shared/plan/build-bootstrap.ts';
import { bootstrapObject } from '#shared/plan/objects.ts';
import { executionOverrides } from '#shared/plan/override-body.ts';
import type { Creation } from '#shared/runs/act.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { lastCheckpoints } from '#shared/runs/jobs/checkpoints.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';
import type { Work } from '#shared/runs/runtime.ts';

export async function startExecution(
  deps: RunDeps,
  creation: Creation,
  target: Work & { readonly intent: Intent },
  first: boolean,
): Promise<InsertFact> {
  const { attempt, intent } = target;
  const { region } = intent.candidate;
  try {
    await writeBootstrap(deps, creation, target);
  } catch (error) {
    if (!(error instanceof CloudError) || error.retriable) throw error;
    return { kind: 'refused', definite: first, error: platformError(error) };
  }
  const nowMs = deps.clock.nowMs();
  const coolMs = await deps.turns.coolUntilMs(deps.store, region, nowMs);
  if (coolMs !== null) {
    const error = { code: 'RATE_LIMIT_EXCEEDED', message: 'calls are paused', details: {} };
    return { kind: 'rate-limited', definite: first, asked: false, error, untilMs: coolMs };
  }
  const { request } = creation.plan;
  const overrides = executionOverrides(request, deps.settings.plan.jobs, {
    attempt: attempt.number,
    nonce: attempt.nonce,
    deadline: rfc3339(intent.deadlineSeconds),
  });
  const reply = await deps.jobs.runJob(region, intent.candidate.machineType, overrides);
  const fact = await factOf(deps, reply, region, first);
  const fields = {
    runId: request.runId,
    attempt: attempt.number,
    intent: intent.number,
    region,
    job: intent.candidate.machineType,
    operation: reply.kind === 'accepted' ? reply.operation : null,
    execution: reply.kind === 'accepted' ? reply.execution : null,
    code: 'error' in fact ? fact.error.code : null,
  };
  deps.log('INFO', 'run-sent', `${attempt.instance} in ${region}: ${reply.kind}`, fields);
  return fact;
}

async function factOf(
  deps: RunDeps,
  reply: Awaited<ReturnType<RunDeps['jobs']['runJob']>>,
  region: string,
  first: boolean,
): Promise<InsertFact> {
  switch (reply.kind) {
    case 'accepted':
      return { kind: 'accepted', operation: reply.operation, instanceId: reply.execution };
    case 'refused':
      return { kind: 'refused', definite: first, error: reply.error };
    case 'rate-limited': {
      const { error, retryAfterMs } = reply;
      const { store, turns, clock } = deps;
      const nowMs = clock.nowMs();
      const untilMs = await turns.coolDown(store, region, retryAfterMs, nowMs);
      const alarm = `ALARM cloudrun-jobs: jobs.run answered 429 in ${region}: ${error.message}`;
      deps.log('ERROR', 'run-throttled', alarm, { region, waitMs: untilMs - nowMs });
      return { kind: 'rate-limited', definite: first, error, untilMs };
    }
    case 'unknown':
      return { kind: 'unknown', error: platformError(reply.error) };
  }
}

const platformError = ({ status, code, reason, message }: CloudError): PlatformError => ({
  ...(status === null ? {} : { status }),
  code: reason || code,
  message,
  details: {},
});

/** Anew before each call: deadline, region and addresses are its intent's. The claim decides who works. */
async function writeBootstrap(
  deps: RunDeps,
  creation: Creation,
  { record, attempt, intent }: Work & { readonly intent: Intent },
): Promise<void> {
  const { deployment, bucket } = deps.settings.plan;
  const { request } = creation.plan;
  const input = {
    request,
    deployment,
    bucket,
    inputs: creation.inputs,
    attempt: attempt.number,
    nonce: attempt.nonce,
    region: intent.candidate.region,
    deadline: rfc3339(intent.deadlineSeconds),
    eventKey: attempt.eventKey ?? '',
    traceparent: record.terms.traceparent ?? null,
    checkpoints: await lastCheckpoints(creation.openBucket, request),
  };
  const access = await sign(deps, bootstrapAccess(input));
  const text = JSON.stringify(buildBootstrap(input, access));
  const name = bootstrapObject(attempt.nonce);
  const there = await deps.store.read(name);
  await deps.store.write(name, text, {
    ifGeneration: there.kind === 'found' ? there.generation : '0',
    contentType: 'application/json',
  });
}

async function sign(
  { signer }: RunDeps,
  asked: BootstrapAccess<SignedUrlRequest, FormRequest>,
): Promise<BootstrapAccess<SignedAddress, Form>> {
  const url = (request: SignedUrlRequest) => signer.signUrl(request);
  const form = (request: FormRequest) => signer.signForm(request);
  const [put, get, marker, code] = await Promise.all([
    url(asked.claim.put),
    url(asked.claim.get),
    form(asked.marker),
    asked.package === null ? null : url(asked.package),
  ]);
  return {
    claim: { put, get },
    marker,
    package: code,
    inputs: await mapBounded(asked.inputs, url),
    outputs: await mapBounded(asked.outputs, form),
    checkpoints: await mapBounded(asked.checkpoints, async (checkpoint) => ({
      form: await form(checkpoint.form),
      restore: Object.fromEntries(
        await mapBounded(
          Object.entries(checkpoint.restore),
          async ([task, files]) => [task, await mapBounded(files, url)] as const,
        ),
      ),
    })),
  };
}

const rfc3339 = (seconds: number) => new Date(seconds * 1000).toISOString();
