// What docs/orchestrators.md tells an orchestrator to do, with Google's own clients and with the rights that
// the page gives it, against a whole local deployment. Publishing and looking are as Airflow's
// PubSubPublishMessageOperator, GCSObjectExistenceSensor and GCSObjectsWithPrefixExistenceSensor do them.
import { PubSub, v1 } from '@google-cloud/pubsub';
import { Storage } from '@google-cloud/storage';
import { GoogleAuth, OAuth2Client } from 'google-auth-library';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Mayfly, runAndWait } from '#scripts/examples/run-and-wait.ts';
import { LOCAL_DEPLOYMENT } from '#scripts/local-cloud/deployment/environment.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import type { MachineHost } from '#scripts/local-cloud/host/machine-host.ts';
import type { Grant } from '#scripts/local-cloud/iam.ts';
import { rpcClientOptions } from '#shared/cloud/rpc-client.ts';
import { instanceName } from '#shared/plan/names.ts';
import {
  REJECTED_PREFIX,
  recordObject,
  rejectedObject,
  resultObject,
} from '#shared/plan/objects.ts';
import { faultsOf } from '#test/docs/published-schemas.ts';

const LIMIT_MS = 240_000;
const POLL = { timeout: 120_000, interval: 50 };
const ACCOUNT = 'orchestrator@local-project.iam.gserviceaccount.com';
const ECHO = { image: 'mayfly.local/examples/echo-args:1', resources: { cpus: 2, memoryGiB: 4 } };
const EXIT = { ...ECHO, image: 'mayfly.local/examples/exit-code:1' };

interface Orchestrator extends Mayfly {
  readonly subscriber: InstanceType<typeof v1.SubscriberClient>;
}

let installation: Installation;
/** The name of every machine that was started. */
const started: string[] = [];
let orchestrator: Orchestrator;

beforeAll(async () => {
  const { env: environment } = process;
  installation = await openInstallation({
    port: 0,
    environment,
    objects: [],
    onLog: () => {},
    aroundHost: noteStarts,
  });
  installation.cloud.world.iam.grants?.push(...grantsOfPage());
  orchestrator = await openClients();
}, LIMIT_MS);
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
}, LIMIT_MS);

const noteStarts = (real: MachineHost): MachineHost => ({
  start: (machine) => {
    started.push(machine.name);
    return real.start(machine);
  },
  softOff: (id) => real.softOff(id),
  kill: (id) => real.kill(id),
  discard: (id) => real.discard(id),
  [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
});

/** The section on rights, and that on subscriptions. */
function grantsOfPage(): readonly Grant[] {
  const { project, bucket, deployment } = installation.deployment;
  const objects = `projects/_/buckets/${bucket}/objects/runs`;
  const one = (permission: string, resourcePrefix: string) => ({
    principal: ACCOUNT,
    permissions: [permission],
    resourcePrefix,
  });
  return [
    one('pubsub.topics.publish', `projects/${project}/topics/${deployment}-run-requests`),
    one('storage.objects.list', `projects/_/buckets/${bucket}`),
    one('storage.objects.get', `${objects}/results/`),
    one('storage.objects.get', `${objects}/rejected/`),
    one('pubsub.subscriptions.consume', `projects/${project}/subscriptions/one-run`),
    one('pubsub.subscriptions.consume', `projects/${project}/subscriptions/all-runs`),
  ];
}

/** Google's clients with a token of the account; for Pub/Sub over REST. */
async function openClients(): Promise<Orchestrator> {
  const { cloud, deployment } = installation;
  await using metadata = await cloud.openMetadata({ kind: 'account', email: ACCOUNT });
  const path = 'computeMetadata/v1/instance/service-accounts/default/token';
  const headers = { 'Metadata-Flavor': 'Google' };
  const reply = await fetch(`http://${metadata.host}/${path}`, { headers });
  const { access_token } = (await reply.json()) as { readonly access_token: string };
  const authClient = new OAuth2Client();
  authClient.setCredentials({ access_token });
  const { project: projectId, bucket, deployment: name } = deployment;
  const auth = new GoogleAuth({ authClient, projectId });
  const rest = rpcClientOptions(cloud.baseUrl, auth);
  const apiEndpoint = cloud.baseUrl;
  return {
    pubsub: new PubSub({ ...rest, projectId, apiEndpoint, emulatorMode: false }),
    subscriber: new v1.SubscriberClient(rest),
    storage: new Storage({ projectId, apiEndpoint, authClient, useAuthWithCustomEndpoint: true }),
    bucket,
    deployment: name,
  };
}

/** As PubSubHook.publish: bytes, and attributes. */
function publish(message: object): Promise<string> {
  const topic = orchestrator.pubsub.topic(`${orchestrator.deployment}-run-requests`);
  return topic.publishMessage({ data: Buffer.from(JSON.stringify(message)), attributes: {} });
}

const fileOf = (name: string) => orchestrator.storage.bucket(orchestrator.bucket).file(name);

/** Waits as an existence sensor does, and reads. */
async function waitForResult(runId: string) {
  const file = fileOf(resultObject(runId));
  await vi.waitFor(async () => expect((await file.exists())[0]).toBe(true), POLL);
  return JSON.parse((await file.download())[0].toString());
}

async function listRejected(runId: string): Promise<readonly string[]> {
  const bucket = orchestrator.storage.bucket(orchestrator.bucket);
  const [files] = await bucket.getFiles({ prefix: `${REJECTED_PREFIX}${runId}/` });
  return files.map(({ name }) => name);
}

function subscribe(subscription: string, filter?: string): string {
  const { cloud, deployment } = installation;
  const { project } = deployment;
  const topic = `projects/${project}/topics/${deployment.deployment}-run-events`;
  const body = { topic, ackDeadlineSeconds: 600, ...(filter === undefined ? {} : { filter }) };
  const { status } = cloud.call('pubsub.subscriptions.create', { project, subscription }, body);
  expect(status).toBe(200);
  return `projects/${project}/subscriptions/${subscription}`;
}

async function pullIds(subscription: string): Promise<string[]> {
  const [reply] = await orchestrator.subscriber.pull({ subscription, maxMessages: 100 });
  const received = reply.receivedMessages ?? [];
  const ackIds = received.map(({ ackId }) => ackId ?? '');
  if (ackIds.length > 0) await orchestrator.subscriber.acknowledge({ subscription, ackIds });
  return received.map(({ message }) => {
    const attributes = message?.attributes ?? {};
    const data = JSON.parse(Buffer.from(message?.data ?? '').toString());
    expect(faultsOf('event', { attributes, data })).toEqual([]);
    return attributes['ce-id'] ?? '';
  });
}

test(
  'a request is published, its result appears, and tells SUCCEEDED',
  async () => {
    await publish({ ...ECHO, runId: 'good', args: ['αβ "x"'], annotations: { dag: 'forecast' } });
    const result = await waitForResult('good');
    expect(result).toMatchObject({
      runId: 'good',
      status: 'SUCCEEDED',
      annotations: { dag: 'forecast' },
    });
    expect(faultsOf('result', result)).toEqual([]);
    expect(await listRejected('good')).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a refused request is seen under the prefix, by the name of its message, and has no result',
  async () => {
    const messageId = await publish({ ...ECHO, runId: 'misspelt', imagee: 'x' });
    const name = rejectedObject('misspelt', messageId);
    await vi.waitFor(async () => expect(await listRejected('misspelt')).toEqual([name]), POLL);
    const rejection = JSON.parse((await fileOf(name).download())[0].toString());
    expect(rejection).toMatchObject({
      status: 'REJECTED',
      cause: 'invalid',
      errors: [{ field: 'imagee' }],
    });
    expect(faultsOf('result', rejection)).toEqual([]);
    expect(await fileOf(resultObject('misspelt')).exists()).toEqual([false]);
  },
  LIMIT_MS,
);

test(
  'a task that is tried again publishes the same, and there is one run; other content is a conflict',
  async () => {
    const request = { ...ECHO, runId: 'again', args: ['a'] };
    await publish(request);
    await publish({ args: ['a'], runId: 'again', ...ECHO });
    const result = await waitForResult('again');
    expect(result).toMatchObject({ status: 'SUCCEEDED', attempts: [{ attempt: 1 }] });
    await publish(request);
    const other = await publish({ ...request, args: ['b'] });
    const conflict = rejectedObject('again', other);
    await vi.waitFor(async () => expect(await listRejected('again')).toEqual([conflict]), POLL);
    expect(await waitForResult('again')).toEqual(result);
    const machine = instanceName(LOCAL_DEPLOYMENT, 'again', 1);
    expect(started.filter((name) => name.includes('-again-'))).toEqual([machine]);
  },
  LIMIT_MS,
);

test(
  'a run that fails has a result that says so',
  async () => {
    await publish({ ...EXIT, runId: 'bad', args: ['37'] });
    expect(await waitForResult('bad')).toMatchObject({
      status: 'FAILED',
      cause: 'exit',
      exitCode: 37,
    });
  },
  LIMIT_MS,
);

test(
  'a filtered subscription gets the ends of its run alone, a repeat under the same id',
  async () => {
    const all = subscribe('all-runs');
    const one = subscribe('one-run', 'attributes.ce-subject = "mine"');
    const mine = { ...ECHO, runId: 'mine' };
    await publish(mine);
    await publish({ ...ECHO, runId: 'other' });
    await publish({ ...ECHO, runId: 'other-2', imagee: 'x' });
    const seen: string[] = [];
    const seeAll = async (ids: readonly string[]) => {
      seen.push(...(await pullIds(all)));
      expect(seen).toEqual(expect.arrayContaining([...ids]));
      expect(seen.some((id) => id.startsWith('other-2/rejected/'))).toBe(true);
    };
    await vi.waitFor(() => seeAll(['mine/ended', 'other/ended']), POLL);
    expect(await pullIds(one)).toEqual(['mine/ended']);
    await publish(mine);
    await vi.waitFor(async () => expect(await pullIds(one)).toEqual(['mine/ended']), POLL);
  },
  LIMIT_MS,
);

test(
  'the program of the page: a result, an error with the cause, a cancel when nobody waits any more',
  async () => {
    const waiting = { signal: new AbortController().signal, pollMs: 50 };
    const run = (request: { readonly runId: string }) => runAndWait(orchestrator, request, waiting);
    const good = run({ ...ECHO, runId: 'program' });
    const failing = { ...EXIT, runId: 'program-37', args: ['37'] };
    const misspelt = { ...ECHO, runId: 'program-bad', imagee: 'x' };
    const sleeping = { ...ECHO, image: 'mayfly.local/examples/sleep:1', args: ['600'] };
    const nobody = { signal: AbortSignal.abort(new Error('nobody waits')), pollMs: 50 };
    const long = runAndWait(orchestrator, { ...sleeping, runId: 'program-long' }, nobody);
    await Promise.all([
      expect(good).resolves.toMatchObject({ runId: 'program', status: 'SUCCEEDED' }),
      expect(run(failing)).rejects.toThrow('program-37: FAILED (exit): '),
      expect(run(misspelt)).rejects.toThrow(/^program-bad: REJECTED \(invalid\): .*imagee/),
      expect(long).rejects.toThrow('nobody waits'),
    ]);
    expect(await waitForResult('program-long')).toMatchObject({ status: 'CANCELLED' });
  },
  LIMIT_MS,
);

test('the rights of the page are those that are needed: each is made use of, no other object opens', async () => {
  await expect(fileOf(recordObject('good')).download()).rejects.toMatchObject({ code: 403 });
  const { used } = installation.cloud.world.iam;
  const mine = installation.cloud.world.iam.grants?.filter((grant) => grant.principal === ACCOUNT);
  expect(mine).toHaveLength(6);
  for (const grant of mine ?? []) {
    expect([...(used.get(grant) ?? [])], grant.resourcePrefix).toEqual(grant.permissions);
  }
});
