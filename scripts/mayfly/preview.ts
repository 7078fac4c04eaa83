// A run's plan as the command shows it (contract §4): pure, with zeros for the nonce and with inputs as
// they are named, because only submit may look at the bucket.
import { executionDeadlineSeconds } from '#shared/plan/deadline.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import type {
  Candidate,
  Estimate,
  Fault,
  GuestScripts,
  InstanceBody,
  PlanSettings,
  ResolvedInput,
  RunPlan,
  RunRequest,
} from '#shared/plan/model.ts';
import { instanceName } from '#shared/plan/names.ts';
import { executionOverrides, overrideBody } from '#shared/plan/override-body.ts';
import { planIntent, planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';

const PREVIEW_RUN_ID = 'run-preview';
const NONCE_ZEROS = '0'.repeat(32);

/** The shape of `mayfly plan --json`. */
export interface Preview {
  readonly runId: string;
  readonly attempt: number;
  readonly instanceName: string;
  readonly deadline: string;
  readonly candidates: readonly Candidate[];
  /** The insert body for the first candidate; null for another runtime. */
  readonly instance: InstanceBody | null;
  readonly startupScript: string | null;
  readonly shutdownScript: string | null;
  /** The call that starts an execution of the first candidate; null for machines. */
  readonly execution: PlannedExecution | null;
  readonly estimate: Estimate;
  readonly warnings: readonly string[];
}

export interface PlannedExecution {
  readonly job: string;
  readonly region: string;
  readonly overrides: ReturnType<typeof overrideBody>;
}

export type PreviewReply =
  | { readonly kind: 'planned'; readonly request: RunRequest; readonly preview: Preview }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] };

export function previewRun(fields: unknown, context: PreviewContext): PreviewReply {
  const { settings } = context;
  const parsed = parseRequest(fields, { defaultRunId: PREVIEW_RUN_ID, settings });
  if (parsed.kind === 'invalid') return { kind: 'refused', faults: parsed.faults };
  const planned = planRun(parsed.request, settings);
  if (planned.kind !== 'planned') return { kind: 'refused', faults: planned.faults };
  const inputs = nameInputs(parsed.request);
  const { plan } = planned;
  const made =
    plan.request.runtime === 'gce'
      ? machineParts(plan, context, inputs.resolved)
      : executionParts(plan, context);
  const found = [...parsed.warnings, ...plan.warnings, ...inputs.warnings];
  const { request, estimate } = plan;
  const shape = { runId: request.runId, attempt: 1, ...made, estimate };
  return { kind: 'planned', request, preview: { ...shape, warnings: [...new Set(found)] } };
}

interface PreviewContext {
  readonly settings: PlanSettings;
  readonly scripts: GuestScripts;
  readonly atMs: number;
}

type Made = Omit<Preview, 'runId' | 'attempt' | 'estimate' | 'warnings'>;

function machineParts(
  plan: RunPlan,
  { settings, scripts, atMs }: PreviewContext,
  inputs: readonly ResolvedInput[],
): Made {
  const intent = planIntent({
    plan,
    settings,
    scripts,
    inputs,
    attempt: 1,
    intent: 1,
    nonce: NONCE_ZEROS,
    candidate: firstOf(plan),
    createdSeconds: Math.floor(atMs / 1000),
    pinnedImage: null,
  });
  return {
    instanceName: intent.instanceName,
    deadline: rfc3339(intent.deadlineSeconds),
    candidates: plan.candidates,
    instance: intent.body,
    startupScript: intent.startupScript,
    shutdownScript: intent.shutdownScript,
    execution: null,
  };
}

function executionParts(plan: RunPlan, { settings, atMs }: PreviewContext): Made {
  const { request, candidates } = plan;
  const { machineType: job, region } = firstOf(plan);
  const deadline = rfc3339(executionDeadlineSeconds(Math.floor(atMs / 1000), request));
  const execution = { attempt: 1, nonce: NONCE_ZEROS, deadline };
  const overrides = overrideBody(executionOverrides(request, settings.jobs, execution));
  return {
    instanceName: instanceName(settings.deployment, request.runId, 1),
    deadline,
    candidates,
    instance: null,
    startupScript: null,
    shutdownScript: null,
    execution: { job, region, overrides },
  };
}

const rfc3339 = (seconds: number) => new Date(seconds * 1000).toISOString();

function firstOf({ candidates: [candidate] }: RunPlan): Candidate {
  if (candidate === undefined) throw new Error('a plan without a candidate');
  return candidate;
}

/** Inputs as they are named: one object each, generation 0; a prefix stands for what is under it. */
function nameInputs(request: RunRequest): {
  readonly resolved: readonly ResolvedInput[];
  readonly warnings: readonly string[];
} {
  const entries = Object.entries(request.inputs);
  if (entries.length === 0) return { resolved: [], warnings: [] };
  const resolved = entries.map(([path, uri]) => {
    const { bucket, object } = requireGsUri(uri);
    return { path, bucket, object, generation: '0', bytes: 0 };
  });
  const warning =
    'inputs are looked up when the run is submitted: generations are 0 in this script';
  return { resolved, warnings: [warning] };
}
