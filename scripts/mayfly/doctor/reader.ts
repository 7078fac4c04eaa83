// Reads of Google's APIs with the caller's own rights. What cannot be read is its own answer beside
// there and gone: a 403 says nothing of the thing that was asked for.
import { asObject, type JsonObject } from '#scripts/local-cloud/json.ts';
import { clientOptions } from '#scripts/mayfly/cloud.ts';
import { type Finding, fault, unknown } from '#scripts/mayfly/doctor/finding.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { createRest, type Rest } from '#shared/cloud/rest.ts';
import { applicationCredentials, createTransport } from '#shared/cloud/token.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';

const BASES = {
  STORAGE: GOOGLE_ENDPOINTS.storage,
  COMPUTE: GOOGLE_ENDPOINTS.compute,
  PUBSUB: GOOGLE_ENDPOINTS.pubsub,
  RUN: GOOGLE_ENDPOINTS.run,
  SCHEDULER: GOOGLE_ENDPOINTS.scheduler,
  LOGGING: GOOGLE_ENDPOINTS.logging,
  IAM: 'https://iam.googleapis.com',
  CLOUDFUNCTIONS: 'https://cloudfunctions.googleapis.com',
  SERVICEUSAGE: 'https://serviceusage.googleapis.com',
  POLICYTROUBLESHOOTER: 'https://policytroubleshooter.googleapis.com',
} as const;

type Api = keyof typeof BASES;

export type Answer =
  | { readonly kind: 'there'; readonly body: JsonObject }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly error: CloudError };

export interface Reader {
  /** `path` as in Google's reference, without a slash at its front; a verb may follow a colon. */
  get(api: Api, path: string, query?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Of methods that change nothing and are POST all the same. */
  ask(api: Api, path: string, body: object): Promise<Answer>;
  /** The base URL that calls of the API go to. */
  baseOf(api: Api): string;
}

export function openReader(project: string, environment: Terminal['environment']): Reader {
  const rests = new Map<Api, Rest>();
  const credentials = applicationCredentials(project);
  const options = (api: Api) => clientOptions(project, environment, api, credentials);
  const baseOf = (api: Api) => options(api).endpoint ?? BASES[api];
  const restOf = (api: Api): Rest => {
    const known = rests.get(api);
    if (known !== undefined) return known;
    const transport = createTransport(options(api).credentials);
    const made = createRest(baseOf(api), { transport });
    rests.set(api, made);
    return made;
  };
  const call = async (api: Api, path: string, more: object, verb: 'GET' | 'POST') => {
    const action = /:(\w+)$/.exec(path)?.[1];
    const bare = action === undefined ? path : path.slice(0, -action.length - 1);
    const named = {
      path: bare.split('/').map(decodeURIComponent),
      ...(action === undefined ? {} : { verb: action }),
    };
    try {
      const body = await restOf(api).read(`${verb} ${path}`, { ...named, ...more }, verb);
      return { kind: 'there', body: asObject(body) } as const;
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      return error.code === 'not-found' ? ({ kind: 'gone' } as const) : refusal(error);
    }
  };
  return {
    get: (api, path, query) => call(api, path, query === undefined ? {} : { query }, 'GET'),
    ask: (api, path, body) => call(api, path, { body }, 'POST'),
    baseOf,
  };
}

/** Without credentials, or without a project to count calls on, no check can say anything. */
function refusal(error: CloudError): Answer {
  if (error.code === 'unauthenticated' || needsQuotaProject(error)) throw error;
  return { kind: 'unknown', error };
}

export const needsQuotaProject = ({ code, message }: CloudError) =>
  code === 'forbidden' && message.includes('requires a quota project');

/** What follows from a read: the finding of a thing that is gone or unknown, else what `judge` says. */
export function judgeAnswer(
  check: string,
  answer: Answer,
  rules: { readonly missing: string; readonly judge: (body: JsonObject) => Finding },
): Finding {
  switch (answer.kind) {
    case 'there':
      return rules.judge(answer.body);
    case 'gone':
      return fault(check, 'is missing', rules.missing);
    case 'unknown':
      return unreadable(check, answer.error);
    default:
      return answer satisfies never;
  }
}

export const unreadable = (check: string, error: CloudError): Finding =>
  unknown(
    check,
    `cannot be read: ${error.message}`,
    error.code === 'forbidden'
      ? 'have the owner of the project give you roles/viewer and roles/iam.securityReviewer'
      : 'mayfly doctor (once more: this may pass)',
  );

const AT_ONCE = 8;

/** Like Promise.all over `work`, a few at a time. */
export const eachOf = <Item, Value>(
  items: readonly Item[],
  work: (item: Item) => Promise<Value>,
): Promise<Value[]> => mapBounded(items, work, AT_ONCE);
