// Who may do what. The owner (no Authorization header) may do everything; any other principal only what
// a grant says, optionally for resource names with a given beginning, as an IAM condition would.
import { refuse, refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import type { Context, Reply } from '#scripts/local-cloud/call.ts';

export interface Grant {
  readonly principal: string;
  /** `storage.objects.get`; a trailing `*` takes all that begin so. */
  readonly permissions: readonly string[];
  /**
   * What the full resource name must begin with: `projects/_/buckets/B/objects/runs/work/` for
   * objects, `projects/P/zones/Z/instances/N` for machines; one `*` is one part of the name. Absent: every
   * resource.
   */
  readonly resourcePrefix?: string;
}

export interface AccessToken {
  readonly principal: string;
  readonly expiresMs: number;
}

export interface IamState {
  /** Null: rights are not looked at. */
  grants: Grant[] | null;
  readonly tokens: Map<string, AccessToken>;
  /** What was allowed so far: each grant, with those of its permissions that were made use of. */
  readonly used: Map<Grant, Set<string>>;
  /** What was refused so far, each once: `principal permission resource`. */
  readonly refused: Set<string>;
}

export const ACCESS_TOKEN_LIFETIME_MS = 3_599_000;

function covers(granted: string, permission: string): boolean {
  return granted.endsWith('*')
    ? permission.startsWith(granted.slice(0, -1))
    : granted === permission;
}

function isWithin(resource: string, prefix: string): boolean {
  const [before = '', after] = prefix.split('*');
  if (after === undefined) return resource.startsWith(prefix);
  if (!resource.startsWith(before)) return false;
  const [part] = /^[^/]+/.exec(resource.slice(before.length)) ?? [];
  return part !== undefined && resource.startsWith(after, before.length + part.length);
}

/** The grant that covers exactly this, of several the one for the fewest names. */
function grantFor(
  grants: readonly Grant[],
  principal: string,
  permission: string,
  resource: string,
): Grant | null {
  let found: Grant | null = null;
  for (const grant of grants) {
    const prefix = grant.resourcePrefix ?? '';
    if (
      grant.principal === principal &&
      isWithin(resource, prefix) &&
      grant.permissions.some((granted) => covers(granted, permission)) &&
      prefix.length >= (found?.resourcePrefix ?? '').length
    ) {
      found = grant;
    }
  }
  return found;
}

/** Whether an account could, asked by somebody else: nothing has been made use of. */
export function wouldBeAllowed(
  context: Context,
  principal: string,
  permission: string,
  resource: string,
): boolean {
  const { grants } = context.world.iam;
  return grants === null || grantFor(grants, principal, permission, resource) !== null;
}

export function isAllowed(
  context: Context,
  principal: string | null,
  permission: string,
  resource: string,
): boolean {
  const { grants, used, refused } = context.world.iam;
  if (principal === null || grants === null) {
    return true;
  }
  const grant = grantFor(grants, principal, permission, resource);
  if (grant === null) {
    refused.add(`${principal} ${permission} ${resource}`);
    return false;
  }
  used.set(grant, (used.get(grant) ?? new Set()).add(permission));
  return true;
}

/** The 403 of a caller without the permission; null when he has it. */
export function denied(
  context: Context,
  principal: string | null,
  permission: string,
  resource: string,
): Reply | null {
  if (isAllowed(context, principal, permission, resource)) {
    return null;
  }
  const message = `${principal} does not have ${permission} access to ${resource}. Permission '${permission}' denied on resource (or it may not exist).`;
  const older = permission.startsWith('storage.') || permission.startsWith('compute.');
  return older ? refuse(403, 'forbidden', message) : refuseRpc(403, message);
}

/** A new opaque bearer token that speaks for the account. */
export function issueToken(context: Context, principal: string): string {
  const token = `ya29.local-${context.world.random.hexadecimal(32)}`;
  context.world.iam.tokens.set(token, {
    principal,
    expiresMs: context.nowMs + ACCESS_TOKEN_LIFETIME_MS,
  });
  return token;
}

/** Whom a bearer token speaks for; undefined when nobody gave it out or it has expired. */
export function principalOf(iam: IamState, nowMs: number, token: string): string | undefined {
  const known = iam.tokens.get(token);
  if (known === undefined) {
    return undefined;
  }
  if (known.expiresMs <= nowMs) {
    iam.tokens.delete(token);
    return undefined;
  }
  return known.principal;
}
