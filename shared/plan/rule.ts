// The shape of a rule that needs more than one field of a request, or the deployment's settings.
import type { Fault, PlanSettings, Runtime } from '#shared/plan/model.ts';
import type { ParsedRequest } from '#shared/plan/request-fields.ts';

/** What a rule is asked. */
export interface RuleInput {
  readonly request: ParsedRequest;
  readonly settings: PlanSettings;
  readonly runtime: Runtime;
}

export interface Rule {
  /** Paths of the fields that must be right, or absent, for the rule to make sense. */
  readonly reads: readonly string[];
  readonly check: (input: RuleInput) => readonly Fault[];
}

export const NONE: readonly Fault[] = [];
