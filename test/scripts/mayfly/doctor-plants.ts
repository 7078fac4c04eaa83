// Ways to put something wrong into a deployment in the local cloud, by Google's own methods.
import {
  LOCAL_PROJECT,
  LOCAL_REGION,
  localAccount,
} from '#scripts/local-cloud/deployment/environment.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';

export const PROJECT = `/v1/projects/${LOCAL_PROJECT}`;
export const BUCKET = '/storage/v1/b/local-bucket';
export const RUN = `/v2/projects/${LOCAL_PROJECT}/locations/${LOCAL_REGION}`;
export const SCHEDULER = `${PROJECT}/locations/${LOCAL_REGION}/jobs`;
export const PUSH = `${PROJECT}/serviceAccounts/${localAccount('push')}`;

/** One call of the local cloud as its owner; throws when it is refused. */
export type Send = (verb: string, path: string, body?: object) => Promise<JsonObject>;

export type Change = (resource: JsonObject) => JsonObject;

/** Reads a resource, deletes it and makes it again, changed. */
export async function remake(send: Send, path: string, change: Change, make: [string, string]) {
  const { name, ...resource } = await send('GET', path);
  await send('DELETE', path);
  return send(make[0], make[1], { name, ...change(resource) });
}

/** Its policy goes with it, and is set again. */
export const subscription = (name: string, change: Change) => async (send: Send) => {
  const path = `${PROJECT}/subscriptions/mayfly-${name}`;
  const kept = await send('GET', `${path}:getIamPolicy`);
  await remake(send, path, change, ['PUT', path]);
  await send('POST', `${path}:setIamPolicy`, { policy: kept });
};
export const push =
  (change: Change): Change =>
  ({ pushConfig, ...rest }) => ({
    ...rest,
    pushConfig: change(pushConfig as JsonObject),
  });
export const token = (fields: JsonObject) =>
  push(({ oidcToken, ...rest }) => ({
    ...rest,
    oidcToken: { ...(oidcToken as JsonObject), ...fields },
  }));
export const without =
  (field: string): Change =>
  ({ [field]: _, ...rest }) =>
    rest;
export const sweepJob = (change: Change) => (send: Send) =>
  remake(send, `${SCHEDULER}/mayfly-sweep`, change, ['POST', SCHEDULER]);
export const bucket = (body: object) => (send: Send) => send('PATCH', BUCKET, body);
export const revoke = (account: string, permission: string) => (send: Send) =>
  send('POST', '/local/iam/revoke', { principal: localAccount(account), permission });
/** Nobody is bound any more, or those alone. */
export const policy =
  (path: string, bindings: readonly object[] = []) =>
  (send: Send) =>
    send('POST', `${path}:setIamPolicy`, { policy: { bindings } });

export const notification = (prefix: string, change: Change | null) => async (send: Send) => {
  const path = `${BUCKET}/notificationConfigs`;
  const { items } = await send('GET', path);
  const found = (items as JsonObject[]).find((item) => item.object_name_prefix === prefix);
  await send('DELETE', `${path}/${found?.id}`);
  if (change !== null) await send('POST', path, change(found ?? {}));
};
export const sink = (name: string, change: Change | null) => async (send: Send) => {
  const path = `/v2/projects/${LOCAL_PROJECT}/sinks`;
  const found = await send('GET', `${path}/${name}`);
  await send('DELETE', `${path}/${name}`);
  if (change !== null) await send('POST', path, change(found));
};
export const quota = (scope: string, metric: string) => (send: Send) =>
  send('POST', '/local/compute/quota', { scope, metric, limit: 0 });
export const removed = (path: string) => (send: Send) => send('DELETE', path);

export interface PlantedFault {
  readonly name: string;
  readonly plant: (send: Send) => Promise<unknown>;
  /** The one check that finds it. */
  readonly check: string;
  /** Words of the fix. */
  readonly fix: string;
  /** Words of what is wrong, where one check knows several wrongs with one fix. */
  readonly what?: string;
  readonly state?: 'warning';
  /** With which doctor is called. */
  readonly flags?: readonly string[];
}
