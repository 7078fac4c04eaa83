// HTTP ↔ call: finds the API method behind a REST path and takes path and query apart. The same router
// serves the server and the in-process transport.
import type { Call } from '#scripts/local-cloud/call.ts';
import { ROUTES, type Route } from '#scripts/local-cloud/rest/routes.ts';

interface CompiledRoute {
  readonly method: string;
  /** A literal, or the parameter that the segment fills. */
  readonly segments: readonly ({ readonly literal: string } | { readonly param: string })[];
  /** `publish` of `{topic}:publish`; empty when the last segment has no verb. */
  readonly action: string;
}

function compile({ path, method }: Route): CompiledRoute {
  const [bare = '', action = ''] = path.split(':');
  const segments = bare.split('/').map((segment) => {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    return name === undefined ? { literal: segment } : { param: name };
  });
  return { method, segments, action };
}

/** By HTTP verb and number of segments, so that a look-up compares a handful. */
const INDEX = new Map<string, CompiledRoute[]>();
for (const route of ROUTES) {
  const compiled = compile(route);
  const key = `${route.verb} ${compiled.segments.length}`;
  INDEX.set(key, [...(INDEX.get(key) ?? []), compiled]);
}

/** Null when the percent signs make no text. */
export function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function match(route: CompiledRoute, parts: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [index, segment] of route.segments.entries()) {
    const last = index === route.segments.length - 1;
    const suffix = last && route.action !== '' ? `:${route.action}` : '';
    const raw = parts[index] ?? '';
    const text = raw.endsWith(suffix) ? decode(raw.slice(0, raw.length - suffix.length)) : null;
    const literal = 'literal' in segment ? segment.literal : null;
    if (text === null || (literal !== null && literal !== text)) {
      return null;
    }
    if ('param' in segment) {
      params[segment.param] = text;
    }
  }
  return params;
}

export interface RestTarget {
  readonly method: string;
  readonly params: Record<string, string>;
}

/**
 * The method and parameters of a request, or null when no API has such a path. `/local/a/b` is the
 * control `local.a.b`. Query parameters that repeat keep their first value.
 *
 * @param url absolute, or path and query alone
 */
export function routeRequest(verb: string, url: string): RestTarget | null {
  const { pathname, searchParams } = splitUrl(url);
  const query: Record<string, string> = {};
  for (const [key, value] of searchParams) {
    query[key] ??= value;
  }
  if (pathname.startsWith('/local/') && verb === 'POST') {
    return { method: pathname.slice(1).replaceAll('/', '.'), params: query };
  }
  const parts = pathname.split('/');
  const action = /:(\w+)$/.exec(parts.at(-1) ?? '')?.[1] ?? '';
  const routes = INDEX.get(`${verb} ${parts.length}`) ?? [];
  // A route with that very verb comes first: `:` is legal in the names of other routes.
  for (const wanted of action === '' ? [''] : [action, '']) {
    for (const route of routes) {
      const params = route.action === wanted ? match(route, parts) : null;
      if (params !== null) {
        return { method: route.method, params: { ...query, ...params } };
      }
    }
  }
  return null;
}

/** Without `URL`, which would resolve `..` and dots that are legal in object names. */
function splitUrl(url: string): { pathname: string; searchParams: URLSearchParams } {
  const local = url.replace(/^https?:\/\/[^/]+/, '');
  const mark = local.indexOf('?');
  return mark < 0
    ? { pathname: local, searchParams: new URLSearchParams() }
    : { pathname: local.slice(0, mark), searchParams: new URLSearchParams(local.slice(mark + 1)) };
}

/** A JSON request as a call. */
export function jsonCall(target: RestTarget, principal: string | null, body: unknown): Call {
  return { ...target, principal, ...(body === undefined ? {} : { body }) };
}
