// A run's plan as the command shows it (contract §4): pure, with zeros for the nonce and with inputs as
// they are named, because only submit may look at the bucket.
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
  /** The override of a Cloud Run Jobs execution; null for machines. */
  readonly execution: unknown;
  readonly estimate: Estimate;
  readonly warnings: readonly string[];
}

export type PreviewReply =
  | { readonly kind: 'planned'; readonly preview: Preview }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] };

export function previewRun(
  fields: unknown,
  context: {
    readonly settings: PlanSettings;
    readonly scripts: GuestScripts;
    readonly atMs: number;
  },
): PreviewReply {
  const { settings } = context;
  const parsed = parseRequest(fields, { defaultRunId: PREVIEW_RUN_ID, settings });
  if (parsed.kind === 'invalid') return { kind: 'refused', faults: parsed.faults };
  const planned = planRun(parsed.request, settings);
  if (planned.kind !== 'planned') return { kind: 'refused', faults: planned.faults };
  const [candidate] = planned.plan.candidates;
  if (candidate === undefined) throw new Error('a plan without a candidate');
  const inputs = nameInputs(parsed.request);
  const intent = planIntent({
    plan: planned.plan,
    settings,
    scripts: context.scripts,
    inputs: inputs.resolved,
    attempt: 1,
    intent: 1,
    nonce: NONCE_ZEROS,
    candidate,
    createdSeconds: Math.floor(context.atMs / 1000),
    pinnedImage: null,
  });
  const found = [...parsed.warnings, ...planned.plan.warnings, ...inputs.warnings];
  const warnings = [...new Set(found)];
  return { kind: 'planned', preview: { ...shape(planned.plan, intent), warnings } };
}

function shape(plan: RunPlan, intent: ReturnType<typeof planIntent>): Omit<Preview, 'warnings'> {
  return {
    runId: plan.request.runId,
    attempt: 1,
    instanceName: intent.instanceName,
    deadline: new Date(intent.deadlineSeconds * 1000).toISOString(),
    candidates: plan.candidates,
    instance: intent.body,
    startupScript: intent.startupScript,
    shutdownScript: intent.shutdownScript,
    execution: null,
    estimate: plan.estimate,
  };
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
