// `mayfly rerun` and `mayfly cancel` of runs known and unknown.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asArray, asObject } from '#scripts/local-cloud/json.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { requestObject, resultObject } from '#shared/plan/objects.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, PROJECT, put, putRecord, RUN } from '#test/scripts/mayfly/stored-run.ts';

const SUBSCRIPTION = { project: PROJECT, subscription: 'requests' };

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await startLocalCloud();
  cloud.call('pubsub.topics.create', { project: PROJECT, topic: 'mayfly-run-requests' });
  const body = { topic: `projects/${PROJECT}/topics/mayfly-run-requests` };
  const made = cloud.call('pubsub.subscriptions.create', SUBSCRIPTION, body);
  expect(made.status).toBe(200);
});
afterEach(() => cloud[Symbol.asyncDispose]());

const mayfly = (...words: string[]) => callMayfly(words, { environment: environmentOf(cloud) });

/** The data of the messages that were published. */
function published(): unknown[] {
  const reply = cloud.call('pubsub.subscriptions.pull', SUBSCRIPTION, { maxMessages: 10 });
  return asArray(reply.body?.receivedMessages).map((one) =>
    JSON.parse(Buffer.from(String(asObject(asObject(one).message).data), 'base64').toString()),
  );
}

const REQUEST = {
  ...{ runId: RUN, image: 'alpine:3.20', args: ['--slow', 'x'], timeoutSeconds: 600 },
  ...{ resources: { cpus: 2, memoryGiB: 4 }, annotations: { why: 'test' } },
};

test('the same request under a new id, which says whose it is', async () => {
  put(cloud.call, requestObject(RUN), JSON.stringify(REQUEST));
  const { code, stdout, stderr } = await mayfly('rerun', RUN);
  expect(code, stderr).toBe(0);
  const runId = stdout.trim();
  expect(runId).not.toBe(RUN);
  expect(published()).toEqual([
    { ...REQUEST, runId, annotations: { why: 'test', 'mayfly.dev/rerun-of': RUN } },
  ]);
});

test('an id that another request has is refused unsent; the same request again is said to start nothing', async () => {
  put(cloud.call, requestObject(RUN), JSON.stringify(REQUEST));
  put(cloud.call, requestObject('taken'), JSON.stringify({ ...REQUEST, runId: 'taken' }));
  put(cloud.call, requestObject('torn'), '{"runId":');
  for (const id of ['taken', 'torn']) {
    const taken = await mayfly('rerun', RUN, '--set', `runId=${id}`);
    expect(taken).toMatchObject({ code: 2, stdout: '' });
    expect(taken.stderr).toContain(
      `the id ${id} belongs to another request already, nothing was sent`,
    );
  }
  expect(published()).toEqual([]);
  const stdin = JSON.stringify(REQUEST);
  const again = await callMayfly(['submit', '-'], { environment: environmentOf(cloud), stdin });
  expect(again, again.stderr).toMatchObject({ code: 0, stdout: `${RUN}\n` });
  expect(again.stderr).toContain('nothing starts a second time');
  expect(published()).toEqual([REQUEST]);
});

test('a cancellation given as a request is told its verb, and a text of digits its quotes', async () => {
  const stdin = JSON.stringify({ cancel: RUN });
  const sent = await callMayfly(['submit', '-'], { environment: environmentOf(cloud), stdin });
  expect(sent).toMatchObject({ code: 2, stdout: '' });
  expect(sent.stderr).toContain('mayfly cancel RUN');
  put(cloud.call, requestObject(RUN), JSON.stringify(REQUEST));
  const [quoted = ''] =
    /(?<=--set ')args.0=[^']+/.exec((await mayfly('rerun', '--help')).stdout) ?? [];
  expect((await mayfly('rerun', RUN, '--set', quoted)).code).toBe(0);
  expect(published()).toMatchObject([{ args: ['1', 'x'] }]);
});

test('who may not read the bucket may send', async () => {
  const environment = { ...environmentOf(cloud), MAYFLY_BUCKET: 'no-such-bucket' };
  const sent = await callMayfly(['submit', '-'], { environment, stdin: JSON.stringify(REQUEST) });
  expect(sent, sent.stderr).toMatchObject({ code: 0 });
  expect(published()).toEqual([REQUEST]);
});

test('--set changes fields: JSON, text, inner fields, list places; null takes one away', async () => {
  put(cloud.call, requestObject(RUN), JSON.stringify(REQUEST));
  const sets = [
    'resources.memoryGiB=64',
    'image=alpine:3.21',
    'args.0=--fast',
    'labels.team=a=b',
    'timeoutSeconds=null',
    'runId=again',
  ].flatMap((one) => ['--set', one]);
  const { code, stderr } = await mayfly('rerun', RUN, ...sets, '--json');
  expect(code, stderr).toBe(0);
  expect(published()).toEqual([
    {
      ...{ runId: 'again', image: 'alpine:3.21', args: ['--fast', 'x'], labels: { team: 'a=b' } },
      resources: { cpus: 2, memoryGiB: 64 },
      annotations: { why: 'test', 'mayfly.dev/rerun-of': RUN },
    },
  ]);
});

test('a change that no deployment could take is refused, as submit does, and nothing is sent', async () => {
  put(cloud.call, requestObject(RUN), JSON.stringify(REQUEST));
  const wrong = await mayfly('rerun', RUN, '--set', 'ttlSeconds=1');
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toContain('ttlSeconds is 1');
  for (const set of ['memory', '=1', 'a..b=1', '__proto__.x=1']) {
    expect(await mayfly('rerun', RUN, '--set', set)).toMatchObject({ code: 2 });
  }
  expect(published()).toEqual([]);
});

test('a place beyond the end of a list is a field like any other, and so refused; the next one adds', async () => {
  put(cloud.call, requestObject(RUN), JSON.stringify(REQUEST));
  const beyond = await mayfly('rerun', RUN, '--set', 'args.3=x');
  expect(beyond).toMatchObject({ code: 2, stdout: '' });
  expect((await mayfly('rerun', RUN, '--set', 'args.2=y')).code).toBe(0);
  expect(published()).toMatchObject([{ args: ['--slow', 'x', 'y'] }]);
});

test('a run that nobody knows ends with 4 and says where to look', async () => {
  const ended = await mayfly('rerun', 'nobody');
  expect(ended.code).toBe(4);
  expect(ended.stderr).toContain('mayfly list');
});

test('cancel says whether the run is known, and when it has ended already', async () => {
  const unknown = await mayfly('cancel', 'nobody');
  expect(unknown.code).toBe(0);
  expect(unknown.stderr).toContain('nothing is known of nobody yet');
  putRecord(cloud.call);
  const known = await mayfly('cancel', RUN, '--json');
  expect(JSON.parse(known.stdout)).toMatchObject({ runId: RUN, known: true });
  expect(known.stderr).not.toContain('nothing is known');
  put(cloud.call, resultObject(RUN), '{}');
  expect((await mayfly('cancel', RUN)).stderr).toContain('has ended already');
  // Records may expire before results.
  put(cloud.call, resultObject('old'), '{}');
  expect((await mayfly('cancel', 'old')).stderr).not.toContain('nothing is known');
  expect(published()).toHaveLength(4);
});
