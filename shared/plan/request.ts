// A request's validation: `unknown` in, the complete typed request or every fault at once out. A
// field that the runtime cannot honour is refused, never ignored. Pure.
import { fault, valueText } from '#shared/plan/fault.ts';
import { type Findings, parseFields } from '#shared/plan/field.ts';
import { legalLabels } from '#shared/plan/labels.ts';
import { FAULTS_MAX } from '#shared/plan/limits.ts';
import type { Fault, PlanSettings, RunRequest, Runtime } from '#shared/plan/model.ts';
import { completeRequest } from '#shared/plan/request-defaults.ts';
import { type ParsedRequest, requestFields } from '#shared/plan/request-fields.ts';
import { crossFaults } from '#shared/plan/request-rules.ts';
import { isRunId, RUN_ID_RULE } from '#shared/plan/run-id.ts';
import { isLatestVersion } from '#shared/plan/secret-version.ts';

export interface RequestOptions {
  /** Stands for a `runId` that the request leaves out; null makes the field required. */
  readonly defaultRunId: string | null;
  readonly settings: PlanSettings;
}

export type ParsedRunRequest =
  | { readonly kind: 'valid'; readonly request: RunRequest; readonly warnings: readonly string[] }
  | {
      readonly kind: 'invalid';
      /** The id that the request would have had, when that much of it is right. */
      readonly runId: string | null;
      readonly faults: readonly Fault[];
    };

/** Validates a request (contract §1) and fills in its defaults. */
export function parseRequest(json: unknown, options: RequestOptions): ParsedRunRequest {
  const { settings, defaultRunId } = options;
  const whole = requestFields;
  const findings: Findings = { whole, faults: [], given: [], faulty: new Set() };
  const parsed = parseFields(requestFields, json, '', findings);
  const runId = parsed.runId ?? (findings.faulty.has('runId') ? null : defaultRunId);
  if (findings.faulty.has('')) return { kind: 'invalid', runId: null, faults: findings.faults };
  if (runId === null && !findings.faulty.has('runId')) {
    findings.faults.push(fault('runId', undefined, RUN_ID_RULE));
  }
  const runtime = parsed.runtime ?? settings.defaultRuntime;
  if (!findings.faulty.has('runtime')) findings.faults.push(...refusedFields(findings, runtime));
  findings.faults.push(...crossFaults({ request: parsed, settings, runtime }, findings.faulty));
  if (findings.faults.length > 0 || !isRunId(runId)) {
    return { kind: 'invalid', runId, faults: findings.faults.slice(0, FAULTS_MAX) };
  }
  const request = completeRequest(parsed, runId, runtime, settings);
  return { kind: 'valid', request, warnings: warningsOf(parsed) };
}

/** Fields that were given although this runtime cannot honour them. */
function refusedFields(findings: Findings, runtime: Runtime): Fault[] {
  return findings.given.flatMap(({ path, value, field }) => {
    const why = field.refusedOn[runtime];
    if (why === undefined) return [];
    const rule = `the runtime ${runtime} does not take this field: ${why}`;
    return [fault(path, value, { rule, accepted: 'leave it out, or ask for the other runtime' })];
  });
}

function warningsOf(parsed: ParsedRequest): string[] {
  const latest = Object.entries({ ...parsed.secrets, imageCredentials: parsed.imageCredentials })
    .filter(([, version]) => version !== undefined && isLatestVersion(version))
    .map(
      ([key]) =>
        `secret ${valueText(key)}: versions/latest can be another secret at the next attempt`,
    );
  return [...legalLabels(parsed.labels ?? {}).warnings, ...latest];
}
