// One question to Policy Troubleshooter (v3): may this account do this there? Its answer counts roles of
// the resource, the project and all above it, conditions and deny policies.
import { asObject, asString } from '#scripts/local-cloud/json.ts';
import { type Finding, fault, ok, unknown } from '#scripts/mayfly/doctor/finding.ts';
import { type Reader, unreadable } from '#scripts/mayfly/doctor/reader.ts';

export interface Access {
  readonly principal: string;
  readonly permission: string;
  /** `//pubsub.googleapis.com/projects/P/topics/T`. */
  readonly resource: string;
  /** What a condition on names is judged by, where there is one. */
  readonly named?: { readonly service: string; readonly type: string; readonly name: string };
}

/** `fix` is said when the account may not. */
export async function checkAccess(
  reader: Reader,
  check: string,
  access: Access,
  fix: string,
): Promise<Finding> {
  const { principal, permission, resource, named } = access;
  const accessTuple = {
    principal,
    fullResourceName: resource,
    permission,
    ...(named === undefined ? {} : { conditionContext: { resource: named } }),
  };
  const answer = await reader.ask('POLICYTROUBLESHOOTER', 'v3/iam:troubleshoot', { accessTuple });
  const where = named?.name ?? resource;
  if (answer.kind === 'unknown') return unreadable(check, answer.error);
  const state = answer.kind === 'gone' ? 'CANNOT_ACCESS' : asString(answer.body.overallAccessState);
  if (state === 'CAN_ACCESS') return ok(check, where);
  if (state === 'CANNOT_ACCESS') return fault(check, `${principal} may not, on ${where}`, fix);
  const allow = answer.kind === 'there' ? asObject(answer.body.allowPolicyExplanation) : {};
  const granted = allow.allowAccessState === 'ALLOW_ACCESS_STATE_GRANTED';
  const what = granted
    ? `is granted on ${where}; whether a deny policy above the project takes it away cannot be read`
    : `you cannot see all that decides it, on ${where} (${state})`;
  return unknown(
    check,
    what,
    'have someone give you roles/iam.securityReviewer on the organisation',
  );
}
