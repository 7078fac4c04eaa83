// Pages of the v2 lists: newest first, and a token that names the last entry given out, so that what
// comes and goes meanwhile moves nothing.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import { type Call, ok, type Reply } from '#scripts/local-cloud/call.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import { selectFields } from '#scripts/local-cloud/partial.ts';

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1000;

const tokenOf = (key: string) => Buffer.from(`after ${key}`).toString('base64url');

/** Null: nobody gave that token out. */
function keyOf(token: string | undefined): string | null {
  return token === undefined || token === ''
    ? ''
    : (/^after (.+)$/s.exec(Buffer.from(token, 'base64url').toString())?.[1] ?? null);
}

/** Keys in the order of the list; those up to the token's are left out, in the order `before`. */
export function pageReply<Item>(
  { params }: Call,
  list: {
    readonly field: string;
    readonly items: readonly Item[];
    readonly keyOf: (item: Item) => string;
    readonly before: (left: string, right: string) => boolean;
    readonly show: (item: Item) => JsonObject;
  },
): Reply {
  const wanted = Number(params.pageSize ?? 0);
  const after = keyOf(params.pageToken);
  if (!Number.isInteger(wanted) || wanted < 0) {
    return refuseRpc(400, `Invalid page size: ${params.pageSize}`);
  }
  if (after === null) {
    return refuseRpc(400, `Invalid page token: ${params.pageToken}`);
  }
  const size = wanted === 0 ? PAGE_DEFAULT : Math.min(wanted, PAGE_MAX);
  const rest = list.items.filter((item) => after === '' || list.before(after, list.keyOf(item)));
  const page = rest.slice(0, size);
  const last = page.at(-1);
  const more = last !== undefined && rest.length > page.length;
  const body = {
    ...(page.length === 0 ? {} : { [list.field]: page.map(list.show) }),
    ...(more ? { nextPageToken: tokenOf(list.keyOf(last)) } : {}),
  };
  const selected = params.fields === undefined ? body : selectFields(body, params.fields);
  return typeof selected === 'string'
    ? refuseRpc(400, `Invalid field selection: ${selected}`)
    : ok(selected);
}
