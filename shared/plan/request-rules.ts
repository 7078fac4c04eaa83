// Rules that need more than one field of a request, or the deployment's settings. Each rule names
// the fields that it reads and is left out when one of them is faulty by itself.
import { allowanceRules } from '#shared/plan/allowance-rules.ts';
import { contentRules } from '#shared/plan/content-rules.ts';
import type { Fault } from '#shared/plan/model.ts';
import { resourceRules } from '#shared/plan/resource-rules.ts';
import type { RuleInput } from '#shared/plan/rule.ts';

const RULES = [...contentRules, ...resourceRules, ...allowanceRules];

/** What the rules find wrong; `faulty` holds the paths of fields that are wrong by themselves. */
export function crossFaults(input: RuleInput, faulty: ReadonlySet<string>): Fault[] {
  const sensible = RULES.filter((rule) => !rule.reads.some((path) => faulty.has(path)));
  return sensible.flatMap((rule) => [...rule.check(input)]);
}
