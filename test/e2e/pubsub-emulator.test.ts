// A whole deployment whose broker is Google's Pub/Sub emulator: the scenarios of the other files, and what
// is the broker's own affair. What it does not do (delivery counts, filters) nothing here may need.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uploadExampleData } from '#scripts/start/job.ts';
import { instanceName } from '#shared/plan/names.ts';
import {
  deadObject,
  markerObject,
  recordObject,
  rejectedObject,
  resultObject,
} from '#shared/plan/objects.ts';
import { commandScenarios } from '#test/e2e/command-scenarios.ts';
import { type EmulatedTopics, emulatedTopics, type Received } from '#test/e2e/emulated-topics.ts';
import {
  ECHO_IMAGE,
  eventually,
  LIMIT_MS,
  nothingLeft,
  openScene,
  type Scene,
} from '#test/e2e/scene.ts';
import { signalScenarios } from '#test/e2e/signal-scenarios.ts';
import {
  emulatorMissing,
  emulatorSuffix,
  type PubsubEmulator,
  startEmulator,
} from '#test/pubsub-emulator.ts';

const REQUESTS = 'mayfly-run-requests';
const EVENTS = 'events-of-the-test';
const REQUEST = { image: ECHO_IMAGE, resources: { cpus: 2, memoryGiB: 4 } };

describe.skipIf(emulatorMissing)(`on Google’s Pub/Sub emulator${emulatorSuffix}`, () => {
  const stack = new AsyncDisposableStack();
  let scene: Scene;
  let topics: EmulatedTopics;
  const received: Received[] = [];
  beforeAll(async () => {
    const emulator: PubsubEmulator = stack.use(await startEmulator());
    scene = stack.use(await openScene(emulator.host));
    topics = emulatedTopics(emulator.host, scene.installation.deployment.project);
    await topics.subscribe(EVENTS, 'mayfly-run-events');
  }, LIMIT_MS);
  afterAll(() => stack.disposeAsync(), LIMIT_MS);

  /** The events of one subject, when at least one has come. */
  const eventsOf = (subject: string) =>
    eventually(async () => {
      received.push(...(await topics.pull(EVENTS)));
      const found = received.filter(({ attributes }) => attributes?.['ce-subject'] === subject);
      expect(found).not.toEqual([]);
      return found;
    });

  /** Ids of the machines that were ever made for its first attempt: a repeated insert makes none. */
  const machinesOf = (runId: string) => {
    const { operations } = scene.installation.cloud.world.compute;
    const inserts = [...operations.values()].filter(
      ({ operationType, target }) =>
        operationType === 'insert' && target.endsWith(`/${instanceName('mayfly', runId, 1)}`),
    );
    return new Set(inserts.map(({ targetId }) => targetId));
  };

  describe('told by the log sink', () => signalScenarios(() => scene));
  describe('by the command', () => commandScenarios(() => scene));

  test('P88, P92: one request in two messages is one run, whose result comes to a subscriber', {
    timeout: LIMIT_MS,
  }, async () => {
    const text = JSON.stringify({ ...REQUEST, runId: 'in-two-messages', args: ['α'] });
    const ids = await topics.publish(REQUESTS, text, text);
    expect(new Set(ids).size).toBe(2);
    const events = await eventsOf('in-two-messages');
    expect(new Set(events.map(({ attributes }) => attributes?.['ce-id']))).toEqual(
      new Set(['in-two-messages/ended']),
    );
    expect(events[0]?.attributes).toMatchObject({
      'ce-type': 'dev.mayfly.run.ended',
      status: 'SUCCEEDED',
      runtime: 'gce',
    });
    const result = Buffer.from(events[0]?.data ?? '', 'base64').toString();
    expect(result).toBe(scene.text(resultObject('in-two-messages')));
    expect(JSON.parse(result).attempts).toHaveLength(1);
    expect(machinesOf('in-two-messages').size).toBe(1);
    // The local cloud's own broker had no part in it.
    expect(scene.installation.cloud.world.pubsub.deliveriesMade).toBe(0);
  });

  test('C11, P88: a package runs as an execution of a Cloud Run Job', {
    timeout: LIMIT_MS,
  }, async () => {
    await uploadExampleData(scene.installation.deployment);
    const request = JSON.parse(await readFile('scripts/examples/forecast-jobs.json', 'utf8'));
    await topics.publish(REQUESTS, JSON.stringify({ ...request, runId: 'as-an-execution' }));
    const [event] = await eventsOf('as-an-execution');
    expect(event?.attributes).toMatchObject({ status: 'SUCCEEDED', runtime: 'cloudrun-jobs' });
    const { outputs } = JSON.parse(scene.text(resultObject('as-an-execution')));
    expect(outputs).not.toEqual([]);
  });

  test('P85, P93: what cannot be read is a dead letter, what breaks a rule is rejected and told', {
    timeout: LIMIT_MS,
  }, async () => {
    const [half = '', wrong = ''] = await topics.publish(
      REQUESTS,
      '{"runId": "half',
      JSON.stringify({ ...REQUEST, runId: 'against-a-rule', ttlSeconds: 1 }),
    );
    const [event] = await eventsOf('against-a-rule');
    expect(event?.attributes).toMatchObject({
      'ce-id': `against-a-rule/rejected/${wrong}`,
      'ce-type': 'dev.mayfly.run.rejected',
    });
    const rejection = JSON.parse(scene.text(rejectedObject('against-a-rule', wrong)));
    expect(rejection).toMatchObject({ cause: 'invalid', errors: [{ field: 'ttlSeconds' }] });
    await eventually(() => expect(scene.text(deadObject(half))).toContain('"reason"'));
    const letter = JSON.parse(scene.text(deadObject(half)));
    expect(Buffer.from(letter.dataBase64, 'base64').toString()).toBe('{"runId": "half');
  });

  test('a cancel ends a run at work', { timeout: LIMIT_MS }, async () => {
    const runId = 'to-be-cancelled';
    const command = ['node', '-e', 'setTimeout(() => {}, 600_000)'];
    await topics.publish(REQUESTS, JSON.stringify({ ...REQUEST, runId, command }));
    const marker = markerObject(instanceName('mayfly', runId, 1));
    await eventually(() => expect(scene.text(marker)).toContain('"status":"RUNNING"'));
    // A machine here can be quicker than the record of its creation.
    const placed = /"state":"(PROVISIONING|RUNNING)"/;
    await eventually(() => expect(scene.text(recordObject(runId))).toMatch(placed));
    await topics.publish(REQUESTS, JSON.stringify({ cancel: runId, reason: 'enough' }));
    const [event] = await eventsOf(runId);
    expect(event?.attributes).toMatchObject({ status: 'CANCELLED' });
    await nothingLeft(scene);
  });

  test('a delivery that fails comes again, to one run', { timeout: LIMIT_MS }, async () => {
    const { cloud } = scene.installation;
    const runId = 'at-the-second-try';
    const match = { method: 'storage.objects.insert', nameIncludes: runId };
    const fault = { match, effect: 'before', kind: 'status', status: 503, times: 'always' };
    expect(cloud.call('local.faults.plant', {}, fault).status).toBe(200);
    await topics.publish(REQUESTS, JSON.stringify({ ...REQUEST, runId }));
    const failed = () =>
      scene.logged.filter(({ line }) => /"(push-retry|request-failed)"/.test(line));
    await eventually(() => expect(failed()).not.toEqual([]));
    expect(cloud.call('local.faults.clear').status).toBe(200);
    const [event] = await eventsOf(runId);
    expect(event?.attributes).toMatchObject({ status: 'SUCCEEDED' });
    expect(machinesOf(runId).size).toBe(1);
  });

  test('pushed without a token it is refused, and given up it is a dead letter', {
    timeout: LIMIT_MS,
  }, async () => {
    const { functionUrls, project } = scene.installation.deployment;
    await topics.create('given-up');
    await topics.subscribe('straight-to-submit', 'given-up', {
      pushConfig: { pushEndpoint: functionUrls.submit },
      // The fewest that Pub/Sub takes.
      deadLetterPolicy: {
        deadLetterTopic: `projects/${project}/topics/mayfly-dead`,
        maxDeliveryAttempts: 5,
      },
    });
    await topics.publish('given-up', JSON.stringify({ ...REQUEST, runId: 'never-accepted' }));
    const letters = await eventually(() => {
      const found = scene.names('runs/dead/').map((name) => JSON.parse(scene.text(name)));
      const given = found.filter(({ topic }) => topic === 'straight-to-submit');
      expect(given).toHaveLength(1);
      return given;
    });
    const reason = 'deliveries-exhausted: straight-to-submit gave up after 5 deliveries';
    expect(letters).toMatchObject([{ reason }]);
    expect(scene.names('runs/state/never-accepted/')).toEqual([]);
  });
});

test.skipIf(emulatorMissing)(
  `npm start runs its job over an emulator that PUBSUB_EMULATOR_HOST names, and leaves nothing${emulatorSuffix}`,
  async () => {
    await using emulator = await startEmulator();
    const env = { ...process.env, PUBSUB_EMULATOR_HOST: emulator.host };
    const { stdout } = await promisify(execFile)('sh', ['scripts/run.sh', 'scripts/start.ts'], {
      env,
    });
    expect(stdout).toMatch(/: SUCCEEDED \(exit, exit code 0\)/);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(
      '0 machines, 0 disks, 0 executions, 0 active entries left',
    );
    const reply = await fetch(`http://${emulator.host}/v1/projects/local-project/topics`);
    expect(JSON.stringify(await reply.json())).toContain('mayfly-run-requests');
  },
  LIMIT_MS,
);
