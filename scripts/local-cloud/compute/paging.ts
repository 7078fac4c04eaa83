// Pages of Compute's lists: at most 500 entries, in the order of their keys, and a token that names the
// last entry given out, so that what vanishes meanwhile moves nothing.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';

const PAGE_MAX = 500;

export type Page<Item> =
  | { readonly items: readonly Item[]; readonly fields: JsonObject }
  | { readonly refusal: Reply };

export interface Paging {
  readonly size: number;
  /** The key of the last entry that was given out; empty for the first page. */
  readonly after: string;
}

/** What `maxResults` and `pageToken` ask for. */
export function readPaging(params: Call['params']): Paging | { readonly refusal: Reply } {
  const size = Number(params.maxResults ?? PAGE_MAX);
  if (!Number.isInteger(size) || size < 0 || size > PAGE_MAX) {
    return refuseField('maxResults', params.maxResults, ' Must be between 0 and 500.');
  }
  const after = keyOfToken(params.pageToken);
  return after === null
    ? refuseField('pageToken', params.pageToken, '')
    : { size: size === 0 ? PAGE_MAX : size, after };
}

/** `nextPageToken` of a page that ends with this entry and has more after it. */
export function moreAfter(key: string): JsonObject {
  return { nextPageToken: Buffer.from(`after ${key}`).toString('base64url') };
}

/**
 * The page that `maxResults` and `pageToken` ask for. `fields` holds `nextPageToken` when there is
 * more after it.
 */
export function pageOf<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  params: Call['params'],
): Page<Item> {
  const paging = readPaging(params);
  if ('refusal' in paging) {
    return paging;
  }
  const rest = items
    .map((item) => ({ key: keyOf(item), item }))
    .filter(({ key }) => key > paging.after)
    .sort((left, right) => (left.key < right.key ? -1 : 1));
  const page = rest.slice(0, paging.size);
  const last = page.at(-1);
  const more = last !== undefined && page.length < rest.length;
  return { items: page.map(({ item }) => item), fields: more ? moreAfter(last.key) : {} };
}

function refuseField(field: string, value: string | undefined, rule: string) {
  const message = `Invalid value for field '${field}': '${value}'.${rule}`;
  return { refusal: refuse(400, 'invalid', message, field) };
}

/** Empty for the first page; null for a token that nobody gave out. */
function keyOfToken(token: string | undefined): string | null {
  if (token === undefined || token === '') {
    return '';
  }
  return /^after (.+)$/s.exec(Buffer.from(token, 'base64url').toString())?.[1] ?? null;
}
