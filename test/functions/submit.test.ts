import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { DELIVERY_BUDGET_MS } from '#functions/submit/accept.ts';
import { handleSubmit } from '#functions/submit/handler.ts';
import { markerObject, offersObject, requestObject } from '#shared/plan/objects.ts';
import { type CountedCall, Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const SUBMIT = 'submit@local-project.iam.gserviceaccount.com';
const one = (prefix: string, kernel: Kernel) => {
  const names = kernel.objects(prefix);
  expect(names).toHaveLength(1);
  return JSON.parse(kernel.object(names[0] ?? '') ?? 'null');
};

describe('messages that cannot be read', () => {
  const cases: [string, string, RegExp][] = [
    ['P93: half a document', '{"image":"alpine:3.20",', /not JSON/],
    ['P91: quotes eaten by a shell', '{command:stop}', /position 1.*double quotes/],
    ['not JSON at all', 'hello', /not JSON/],
    ['a list', '[]', /a message is a JSON object/],
    ['1 MiB and a byte', JSON.stringify({ image: 'a', x: 'y'.repeat(1_048_576) }), /1048576/],
  ];
  test.each(cases)(
    '%s: one dead letter or rejection with the reason, acknowledged once',
    async (_name, data, reason) => {
      const kernel = new Kernel();
      kernel.publish('run-requests', data);
      await kernel.run(HOUR_MS, { sweeps: false });
      const letters = [...kernel.objects('runs/dead/'), ...kernel.objects('runs/rejected/')];
      expect(letters).toHaveLength(1);
      const letter = JSON.parse(kernel.object(letters[0] ?? '') ?? 'null');
      expect(letter.reason ?? letter.detail).toMatch(reason);
      expect(kernel.pushes.filter((push) => push.function === 'submit')).toEqual([
        { function: 'submit', status: 204 },
      ]);
      expect(kernel.machines()).toEqual([]);
    },
  );

  test('P85: a storage notification on the request topic is a dead letter with a reason', async () => {
    const kernel = new Kernel();
    kernel.publish('run-requests', '', {
      objectId: 'runs/gce-status/mayfly-x-1a2b3c4d5e6f-1.json',
      objectGeneration: '1700000000000001',
      eventType: 'OBJECT_FINALIZE',
      bucketId: 'mayfly-local',
    });
    await kernel.run(MINUTE_MS);
    const letter = one('runs/dead/', kernel);
    expect(letter.reason).toMatch(/no data/);
    expect(letter.attributes.objectId).toBe('runs/gce-status/mayfly-x-1a2b3c4d5e6f-1.json');
  });

  test('a byte order mark is accepted', async () => {
    const kernel = new Kernel();
    kernel.publish('run-requests', `\ufeff${JSON.stringify({ ...REQUEST, runId: 'bom' })}`);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('bom')?.status).toBe('SUCCEEDED');
  });
});

describe('requests that break a rule', () => {
  const cases: [string, object, string][] = [
    ['an unknown field', { imagee: 'a' }, 'imagee'],
    ['a NUL in an argument', { args: ['a\u0000b'] }, 'args[0]'],
    ['no image', { image: undefined }, 'image'],
  ];
  test.each(cases)('%s: a rejection that names the field; no run', async (_name, change, field) => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, runId: 'bad', ...change });
    await kernel.run(MINUTE_MS);
    const rejection = one('runs/rejected/', kernel);
    expect(rejection).toMatchObject({ status: 'REJECTED', cause: 'invalid', attempts: [] });
    const fields = rejection.errors.map((fault: { field: string }) => fault.field);
    expect(
      fields.some((name: string) => name.includes(field)),
      fields.join(),
    ).toBe(true);
    expect(kernel.object(requestObject('bad'))).toBeNull();
    expect(kernel.pushes.filter((push) => push.function === 'submit')).toEqual([
      { function: 'submit', status: 204 },
    ]);
    expect(kernel.events()).toMatchObject([
      { 'ce-type': 'dev.mayfly.run.rejected', 'ce-subject': 'bad', status: 'REJECTED' },
    ]);
  });

  test('A5: without an image there is a rejection that names it, acknowledged once, and no machine', async () => {
    const kernel = new Kernel();
    const { image: _, ...request } = REQUEST;
    kernel.request({ ...request, runId: 'r1' });
    await kernel.run(HOUR_MS, { sweeps: false });
    expect(one('runs/rejected/', kernel)).toMatchObject({
      cause: 'invalid',
      errors: [{ field: 'image' }],
    });
    expect(kernel.pushes.filter((push) => push.function === 'submit')).toEqual([
      { function: 'submit', status: 204 },
    ]);
    expect(kernel.inserts).toEqual([]);
  });

  test('A5: the machine is told the request’s own image', async () => {
    const kernel = new Kernel();
    const image = 'europe-docker.pkg.dev/p/r/app:v1';
    kernel.request({ ...REQUEST, runId: 'r1', image });
    await kernel.run(10_000, { sweeps: false });
    const [insert] = kernel.inserts;
    expect(JSON.stringify(insert?.body)).toContain(`\\nIMAGE='${image}'\\n`);
  });

  test('C196: a base that the deployment lacks is refused, not ignored', async () => {
    const kernel = new Kernel();
    const resources = { class: 'S', base: 'base-other' };
    kernel.request({ runId: 'j', runtime: 'cloudrun-jobs', command: ['fit'], resources });
    await kernel.run(MINUTE_MS);
    expect(one('runs/rejected/', kernel).errors).toMatchObject([{ field: 'resources.base' }]);
  });

  test('an invalid message with a live run’s id never touches that run', async () => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(20_000);
    kernel.request({ ...REQUEST, runId: 'r1', ttlSeconds: 5 });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.objects('runs/rejected/r1/')).toHaveLength(1);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
  });

  test('an input that does not exist is refused before anything is made; its id stays free', async () => {
    const kernel = new Kernel();
    const inputs = { '/data/in.csv': 'gs://mayfly-local/data/none.csv' };
    kernel.request({ ...REQUEST, runId: 'r1', inputs });
    await kernel.run(MINUTE_MS);
    expect(one('runs/rejected/r1/', kernel).errors[0].field).toMatch(/^inputs/);
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
  });
});

describe('buckets that a run will need', () => {
  const NAMES = {
    runtime: 'cloudrun-jobs',
    command: ['fit'],
    runId: 'r1',
    package: { uri: `gs://no-code/app-${'a'.repeat(64)}.tar.gz` },
    outputs: { '/out': 'gs://no-data/out/', '/own': 'gs://mayfly-local/outputs/' },
    checkpoint: { '/ckpt': 'gs://no-data/ckpt/' },
  };
  const looked = (status: number, times: number) => ({
    match: { principal: SUBMIT, method: 'storage.objects.list', nameIncludes: 'out/' },
    ...({ effect: 'before', kind: 'status' } as const),
    ...{ status, times },
  });

  test('one that is missing is refused with each field that names it, before the work', async () => {
    const kernel = new Kernel();
    kernel.request(NAMES);
    await kernel.run(10 * MINUTE_MS);
    const { errors } = one('runs/rejected/r1/', kernel);
    expect(errors.map(({ field, rule }: Record<string, string>) => [field, rule])).toEqual([
      ['outputs["/out"]', 'there is no bucket no-data'],
      ['checkpoint["/ckpt"]', 'there is no bucket no-data'],
      ['package.uri', 'there is no bucket no-code'],
    ]);
    expect(kernel.objects('runs/active/')).toEqual([]);
  });

  test('one that submit may not look into is left to the machine, which may', async () => {
    const kernel = new Kernel();
    kernel.world.faults.plant(looked(403, 9));
    kernel.request({ ...REQUEST, runId: 'r1', outputs: NAMES.outputs });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.objects('runs/rejected/')).toEqual([]);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
  });

  test('a look that fails is no answer: the delivery comes again', async () => {
    const kernel = new Kernel();
    kernel.world.faults.plant(looked(503, 6));
    kernel.request(NAMES);
    await kernel.run(10 * MINUTE_MS);
    const answers = kernel.pushes.filter((push) => push.function === 'submit');
    expect(answers.map(({ status }) => status)).toEqual([500, 204]);
    expect(kernel.objects('runs/rejected/r1/')).toHaveLength(1);
  });

  test('one that goes while the run is there ends nothing', async () => {
    const kernel = new Kernel();
    kernel.world.faults.plant(looked(403, 1));
    const request = { ...REQUEST, runId: 'r1', outputs: NAMES.outputs };
    kernel.request(request);
    await kernel.run(5000);
    kernel.request(request);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.objects('runs/rejected/')).toEqual([]);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
  });
});

describe('the idempotency key', () => {
  test('a repeat with equal JSON values starts no second machine, whatever the order of keys', async () => {
    const kernel = new Kernel();
    const request = { ...REQUEST, runId: 'r1', labels: { a: '1', b: '2' } };
    kernel.request(request);
    kernel.request({
      labels: { b: '2', a: '1' },
      ...Object.fromEntries(Object.entries(request).reverse()),
    });
    await kernel.run(20_000);
    kernel.request(request);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.works).toHaveLength(1);
    expect(kernel.objects('runs/rejected/')).toEqual([]);
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
  });

  test('a repeat of an ended run publishes the stored result again, with the same event id', async () => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(10 * MINUTE_MS);
    const before = kernel.events().length;
    const generation = kernel.result('r1');
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.events().length).toBe(before + 1);
    expect(new Set(kernel.events().map((event) => event['ce-id']))).toEqual(new Set(['r1/ended']));
    expect(kernel.result('r1')).toEqual(generation);
    expect(kernel.works).toHaveLength(1);
  });

  test.each(['before', 'after'])(
    'other content %s the end is a conflict; the run is not touched',
    async (when) => {
      const kernel = new Kernel();
      kernel.request({ ...REQUEST, runId: 'r1' });
      await kernel.run(when === 'before' ? 20_000 : 10 * MINUTE_MS);
      kernel.request({ ...REQUEST, runId: 'r1', args: ['other'] });
      await kernel.run(10 * MINUTE_MS);
      expect(one('runs/rejected/r1/', kernel)).toMatchObject({ cause: 'conflict' });
      expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
      expect(kernel.works).toHaveLength(1);
    },
  );

  test('A92: a request without an image is refused with the field, and is acknowledged', async () => {
    const kernel = new Kernel();
    kernel.request({ runId: 'r1', resources: REQUEST.resources });
    await kernel.run(10 * MINUTE_MS);
    expect(one('runs/rejected/r1/', kernel).errors).toMatchObject([{ field: 'image' }]);
    expect(kernel.pushes.filter((push) => push.function === 'submit')).toHaveLength(1);
    expect(kernel.inserts).toEqual([]);
  });

  test('P86: without a runId the message’s own id names the run', async () => {
    const kernel = new Kernel();
    kernel.request(REQUEST);
    await kernel.run(10 * MINUTE_MS);
    const [name] = kernel.objects('runs/results/');
    expect(name).toMatch(/^runs\/results\/run-\d+\.json$/);
  });
});

describe('what submit writes, in which order', () => {
  test('A94: request, active entry, record, marker, then the insert; six writes and one insert', async () => {
    const kernel = new Kernel({ world: { storage: { objectWriteGapMs: 0 } } });
    // Where the type is on offer was asked before, today.
    const offers = { zones: ['us-central1-a'], atMs: kernel.clock.nowMs() };
    kernel.put(offersObject('e2-standard-4'), JSON.stringify(offers));
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(10_000, { sweeps: false });
    const effects = kernel.calls
      .filter((call) => call.function === 'submit')
      .filter((call) => !/\.(get|list)$/.test(call.method));
    expect(effects.map((call) => call.method.replace(/^.*\.(\w+\.\w+)$/, '$1'))).toEqual([
      'objects.insert',
      'objects.insert',
      'objects.insert',
      'objects.insert',
      'instances.insert',
      'objects.insert',
    ]);
    const names = effects.map((call) => call.name.replace(/^.*\/(?=[^/]+$)/, ''));
    expect(names[0]).toBe('request.json');
    expect(names[1]).toBe('r1');
    expect(names[2]).toBe('record.json');
    expect(names[3]).toMatch(/-1\.json$/);
    expect(names[5]).toBe('record.json');
  });

  test('A1: one request makes exactly one machine', async () => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(20_000);
    expect(kernel.machines()).toHaveLength(1);
    expect(kernel.inserts).toHaveLength(1);
  });
});

describe('the PROVISIONING marker', () => {
  const isMarkerWrite = (call: CountedCall) =>
    call.method === 'storage.objects.insert' && call.name.includes('runs/gce-status/');

  test('A105: it stands before the insert, without an exit code, with the nonce’s hash', async () => {
    let atInsert: Record<string, unknown> = {};
    const kernel = new Kernel({
      before: (call, world) => {
        if (call.method !== 'compute.instances.insert') return;
        const [name = ''] = world.objects('runs/gce-status/');
        atInsert = JSON.parse(world.object(name) ?? '{}');
      },
    });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(3_000, { sweeps: false });
    const attempt = kernel.record('r1')?.attempts[0];
    expect(atInsert).toMatchObject({
      status: 'PROVISIONING',
      exit_code: null,
      instance: attempt?.instance,
      run_id: 'r1',
      attempt: 1,
      nonce: createHash('sha256')
        .update(attempt?.nonce ?? '')
        .digest('hex'),
    });
  });

  test('D13: it never takes the place of what the machine wrote, and a further zone writes none', async () => {
    const words: string[] = [];
    const kernel = new Kernel({
      world: { storage: { objectWriteGapMs: 0 } },
      before: (call, world) => {
        if (call.function !== 'submit' || !isMarkerWrite(call)) return;
        const instance = world.record('r1')?.attempts[0]?.instance ?? '';
        words.push(JSON.stringify({ status: 'FAILED', instance, word: words.length }));
        world.put(markerObject(instance), words.at(-1) ?? '');
      },
    });
    const zones = ['us-central1-a', 'us-central1-b'];
    const stock = { zone: 'us-central1-a', machineType: 'e2-standard-4', available: '0' };
    kernel.call({ method: 'local.compute.stock', params: stock });
    kernel.request({ ...REQUEST, runId: 'r1', place: { zones } });
    await kernel.run(13_000, { sweeps: false });
    expect(kernel.inserts.map((call) => zones.find((zone) => call.url.includes(zone)))).toEqual(
      zones,
    );
    expect(words).toHaveLength(1);
    const [name = ''] = kernel.objects('runs/gce-status/');
    expect(kernel.object(name)).toBe(words[0]);
  });
});

describe('one message on two instances', () => {
  test('P92: a second copy while the first still walks zones makes no second machine', async () => {
    const kernel = new Kernel({ world: { compute: { refusalMs: 12_000 } } });
    const stock = { zone: 'us-central1-a', machineType: 'e2-standard-4', available: '0' };
    kernel.call({ method: 'local.compute.stock', params: stock });
    const place = { zones: ['us-central1-a', 'us-central1-b'] };
    const message = {
      messageId: '7',
      data: new TextEncoder().encode(JSON.stringify({ ...REQUEST, runId: 'r1', place })),
      attributes: {},
      publishTimeMs: null,
      subscription: null,
      deliveryAttempt: null,
    };
    const ended: string[] = [];
    const deliver = async (name: string) => {
      const { kind } = await handleSubmit(message, kernel.deps('submit'));
      ended.push(`${name} ${kind}`);
    };
    const first = deliver('first');
    await kernel.run(10_000, { sweeps: false });
    expect(ended).toEqual([]);
    const second = deliver('second');
    await kernel.run(HOUR_MS);
    await Promise.all([first, second]);
    expect(ended.toSorted()).toEqual(['first done', 'second done']);
    expect(kernel.works).toHaveLength(1);
    expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED', placesCount: 1 });
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
    expect(kernel.objects('runs/rejected/')).toEqual([]);
  });

  test('P92: the subscription waits 600 s for an answer, and a delivery begins nothing so late', () => {
    const kernel = new Kernel();
    const subscription = 'projects/local-project/subscriptions/mayfly-submit';
    const reply = kernel.call({ method: 'pubsub.subscriptions.get', params: { subscription } });
    expect(reply.body).toMatchObject({ ackDeadlineSeconds: 600 });
    expect(DELIVERY_BUDGET_MS).toBeLessThanOrEqual(300_000);
  });
});

describe('dead letters of the broker', () => {
  test('what Pub/Sub gave up is kept with its reason and never retried', async () => {
    const kernel = new Kernel();
    kernel.publish('dead', JSON.stringify({ ...REQUEST, runId: 'r1' }), {
      CloudPubSubDeadLetterSourceSubscription: 'mayfly-submit',
      CloudPubSubDeadLetterSourceDeliveryCount: '100',
    });
    await kernel.run(MINUTE_MS);
    expect(one('runs/dead/', kernel).reason).toMatch(/deliveries-exhausted.*mayfly-submit.*100/);
    expect(kernel.machines()).toEqual([]);
  });
});
