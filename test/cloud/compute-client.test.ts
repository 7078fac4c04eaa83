import { expect, test } from 'vitest';
import { createCompute } from '#shared/cloud/compute-client.ts';
import {
  BASE,
  body,
  instance,
  NAME,
  openCompute as open,
  operation,
  REQUEST_ID,
  ZONE,
} from '#test/cloud/compute-fixtures.ts';
import { type Answer, googleError } from '#test/cloud/loopback.ts';

test('A60: a delete that is accepted gives its operation, and is sent once with its request id', async () => {
  await using opened = await open(() => ({
    status: 200,
    json: { ...operation, operationType: 'delete' },
  }));
  const reply = await opened.compute.deleteInstance(ZONE, NAME, REQUEST_ID);
  expect(reply).toMatchObject({ kind: 'accepted', operation: { operationType: 'delete' } });
  const [request] = opened.server.seen;
  expect(opened.server.seen).toHaveLength(1);
  expect(request?.method).toBe('DELETE');
  expect(request?.path).toBe(`${BASE}/instances/${NAME}`);
  expect(request?.query.get('requestId')).toBe(REQUEST_ID);
});

test('A61: a delete that finds nothing says gone', async () => {
  await using opened = await open(() => googleError(404, 'notFound'));
  expect(await opened.compute.deleteInstance(ZONE, NAME, REQUEST_ID)).toEqual({ kind: 'gone' });
});

test('A62: any other refusal of a delete is unknown, with its status and 300 characters of it', async () => {
  await using opened = await open(() => googleError(403, 'forbidden', `no! ${'x'.repeat(5000)}`));
  const reply = await opened.compute.deleteInstance(ZONE, NAME, REQUEST_ID);
  expect(reply).toMatchObject({
    kind: 'unknown',
    error: {
      code: 'forbidden',
      status: 403,
      reason: 'forbidden',
      method: 'compute.instances.delete',
    },
  });
  if (reply.kind !== 'unknown') throw new Error('unreachable');
  expect(reply.error.message).toContain('403');
  expect(reply.error.message.match(/no! x*/)?.[0]).toHaveLength(300);
});

test.each([
  { name: 'a reset', answer: 'reset' as Answer, code: 'unavailable' },
  {
    name: 'a reply that is no operation',
    answer: { status: 200, text: '<html>' } as Answer,
    code: 'unreadable',
  },
  {
    name: 'a 404 without an error body',
    answer: { status: 404, text: '<html>' } as Answer,
    code: 'unreadable',
  },
])('A63: $name never escapes from a delete', async ({ answer, code }) => {
  await using opened = await open(() => answer);
  expect(await opened.compute.deleteInstance(ZONE, NAME, REQUEST_ID)).toMatchObject({
    kind: 'unknown',
    error: { code, method: 'compute.instances.delete' },
  });
});

test.each([
  { status: 200, json: operation, kind: 'accepted' },
  { status: 404, json: undefined, kind: 'gone' },
  { status: 503, json: undefined, kind: 'unknown' },
])('D26: a delete answered $status is $kind', async ({ status, json, kind }) => {
  await using opened = await open(() =>
    json === undefined ? googleError(status, 'x') : { status, json },
  );
  expect((await opened.compute.deleteInstance(ZONE, NAME, REQUEST_ID)).kind).toBe(kind);
  expect((await opened.compute.deleteDisk(ZONE, `${NAME}-1`)).kind).toBe(kind);
});

test('A64: an instance that is not there is gone', async () => {
  await using opened = await open(() => googleError(404, 'notFound'));
  expect(await opened.compute.getInstance(ZONE, NAME)).toEqual({ kind: 'gone' });
});

test('A64: a 404 that is not the platform’s own says nothing', async () => {
  await using opened = await open(() => ({ status: 404, text: '<html>wrong host</html>' }));
  expect((await opened.compute.getInstance(ZONE, NAME)).kind).toBe('unknown');
});

test.each([
  { status: 503, reason: 'backendError', code: 'unavailable', retriable: true, tries: 3 },
  { status: 500, reason: 'backendError', code: 'unavailable', retriable: true, tries: 3 },
  { status: 408, reason: 'timeout', code: 'unavailable', retriable: true, tries: 3 },
  { status: 429, reason: 'rateLimitExceeded', code: 'rate-limited', retriable: true, tries: 3 },
  { status: 403, reason: 'rateLimitExceeded', code: 'rate-limited', retriable: true, tries: 3 },
  { status: 403, reason: 'quotaExceeded', code: 'forbidden', retriable: false, tries: 1 },
  { status: 401, reason: 'authError', code: 'unauthenticated', retriable: false, tries: 1 },
  { status: 400, reason: 'invalid', code: 'invalid', retriable: false, tries: 1 },
])('A65: $status $reason on get is unknown with code $code', async (row) => {
  await using opened = await open(() => googleError(row.status, row.reason));
  expect(await opened.compute.getInstance(ZONE, NAME)).toMatchObject({
    kind: 'unknown',
    error: { code: row.code, retriable: row.retriable, status: row.status, reason: row.reason },
  });
  expect(opened.server.seen).toHaveLength(row.tries);
});

test.each([
  { name: 'a list', answer: { status: 200, json: [] } as Answer },
  { name: 'text', answer: { status: 200, text: 'ok' } as Answer },
  { name: 'nothing', answer: { status: 200 } as Answer },
  { name: 'an object without a status', answer: { status: 200, json: { name: NAME } } as Answer },
  {
    name: 'another instance',
    answer: { status: 200, json: { ...instance, name: 'other' } } as Answer,
  },
])('A66: an instance answered with $name is unreadable, not gone', async ({ answer }) => {
  await using opened = await open(() => answer);
  expect(await opened.compute.getInstance(ZONE, NAME)).toMatchObject({
    kind: 'unknown',
    error: { code: 'unreadable', retriable: false },
  });
});

test('A67: a call that hangs ends at its deadline and closes its connection', async () => {
  await using opened = await open(() => 'hang', 150);
  expect(await opened.compute.getInstance(ZONE, NAME)).toMatchObject({
    kind: 'unknown',
    error: { code: 'timeout', method: 'compute.instances.get' },
  });
  await expect.poll(() => opened.server.isAbandoned()).toBe(true);
});

test('A67: the transport is handed in', async () => {
  const compute = createCompute({
    project: 'p1',
    endpoint: null,
    transport: async ({ url }) => ({
      status: 200,
      body: { ...instance, name: url.split('/').at(-1) },
    }),
  });
  expect(await compute.getInstance(ZONE, 'by-hand')).toMatchObject({
    machine: { name: 'by-hand' },
  });
});

test('D3: a single 5xx while polling does not make a machine unknown', async () => {
  await using opened = await open((_, index) =>
    index === 0 ? googleError(503, 'backendError') : { status: 200, json: instance },
  );
  expect((await opened.compute.getInstance(ZONE, NAME)).kind).toBe('there');
  expect(opened.waits).toEqual([250]);
});

test('D3: lasting 5xx, cuts and time-outs are unknown, neither gone nor thrown', async () => {
  for (const answer of [googleError(503, 'backendError'), 'reset', 'hang'] as const) {
    await using opened = await open(() => answer, answer === 'hang' ? 100 : 5_000);
    expect((await opened.compute.getInstance(ZONE, NAME)).kind).toBe('unknown');
    expect((await opened.compute.getOperation(ZONE, 'operation-1')).kind).toBe('unknown');
    expect((await opened.compute.listOperations(ZONE, '1')).kind).toBe('unknown');
  }
});

test('an instance is read with its own words and times', async () => {
  await using opened = await open(() => ({ status: 200, json: instance }));
  expect(await opened.compute.getInstance(ZONE, NAME)).toEqual({
    kind: 'there',
    machine: {
      name: NAME,
      id: '8712345678901234567',
      zone: ZONE,
      status: 'RUNNING',
      machineType: 'n2-standard-4',
      labels: { 'managed-by': 'mayfly', deployment: 'mayfly' },
      metadata: { 'mayfly-attempt': '1' },
      createdMs: Date.parse('2025-12-01T00:00:01Z'),
      lastStartMs: Date.parse('2025-12-01T00:00:09Z'),
      provisioningModel: 'SPOT',
    },
  });
});

test('A109: an insert is one POST to its zone’s instances, with request id and body', async () => {
  await using opened = await open(() => ({ status: 200, json: operation }));
  expect(await opened.compute.insertInstance(ZONE, REQUEST_ID, body)).toEqual({
    kind: 'accepted',
    operation: {
      name: 'operation-1764547200123-64abc',
      zone: ZONE,
      operationType: 'insert',
      status: 'RUNNING',
      targetId: '8712345678901234567',
      targetName: NAME,
      user: 'submit@p1.iam.gserviceaccount.com',
      requestId: null,
      insertMs: Date.parse('2025-12-01T00:00:00.123Z'),
      endMs: null,
      errors: [],
    },
  });
  const [request] = opened.server.seen;
  expect(opened.server.seen).toHaveLength(1);
  expect(request?.method).toBe('POST');
  expect(request?.path).toBe(`${BASE}/instances`);
  expect(request?.query.get('requestId')).toBe(REQUEST_ID);
  expect(request?.headers['content-type']).toContain('application/json');
  expect(JSON.parse(request?.body ?? '')).toEqual(body);
});

test.each([
  { name: '400', answer: googleError(400, 'invalid'), kind: 'refused' },
  { name: '404', answer: googleError(404, 'notFound'), kind: 'refused' },
  { name: '403 quota', answer: googleError(403, 'quotaExceeded'), kind: 'refused' },
  { name: '409', answer: googleError(409, 'alreadyExists'), kind: 'conflict' },
  { name: '429', answer: googleError(429, 'rateLimitExceeded'), kind: 'rate-limited' },
  { name: '403 rate', answer: googleError(403, 'rateLimitExceeded'), kind: 'rate-limited' },
  { name: '408', answer: googleError(408, 'timeout'), kind: 'unknown' },
  { name: '500', answer: googleError(500, 'backendError'), kind: 'unknown' },
  { name: '503', answer: googleError(503, 'backendError'), kind: 'unknown' },
  { name: 'a cut', answer: 'reset' as Answer, kind: 'unknown' },
  { name: 'a hang', answer: 'hang' as Answer, kind: 'unknown' },
  {
    name: '200 without an operation',
    answer: { status: 200, json: {} } as Answer,
    kind: 'unknown',
  },
  { name: '302', answer: { status: 302, text: '' } as Answer, kind: 'unknown' },
  { name: '403 of a proxy', answer: { status: 403, text: '<html>' } as Answer, kind: 'unknown' },
])('an insert answered by $name is $kind, and sent once', async ({ answer, kind }) => {
  await using opened = await open(() => answer, answer === 'hang' ? 150 : 5_000);
  expect((await opened.compute.insertInstance(ZONE, REQUEST_ID, body)).kind).toBe(kind);
  expect(opened.server.seen).toHaveLength(1);
});

test.each([
  {
    name: 'a regional quota',
    answer: googleError(
      403,
      'quotaExceeded',
      'Quota CPUS exceeded. Limit: 24.0 in region us-central1.',
    ),
    expected: { kind: 'refused', error: { status: 403, code: 'quotaExceeded' } },
  },
  {
    name: 'the rate limit',
    answer: googleError(403, 'rateLimitExceeded'),
    expected: { kind: 'rate-limited', error: { code: 'rateLimitExceeded' } },
  },
  {
    name: 'no capacity',
    answer: googleError(503, 'insufficientCapacity'),
    expected: { kind: 'refused', error: { status: 503, code: 'insufficientCapacity' } },
  },
])('P39: $name is told by its reason', async ({ answer, expected }) => {
  await using opened = await open(() => answer);
  expect(await opened.compute.insertInstance(ZONE, REQUEST_ID, body)).toMatchObject(expected);
});

test('P39: a concurrent-operations limit in the newer error shape is a rate limit', async () => {
  const error = {
    code: 403,
    message: 'Operation rate exceeded.',
    status: 'PERMISSION_DENIED',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED',
        domain: 'compute.googleapis.com',
        metadata: { containerType: 'project', containerId: '123' },
      },
    ],
  };
  await using opened = await open(() => ({ status: 403, json: { error } }));
  expect(await opened.compute.insertInstance(ZONE, REQUEST_ID, body)).toMatchObject({
    kind: 'rate-limited',
    error: {
      code: 'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED',
      details: { containerType: 'project', containerId: '123' },
    },
  });
});

test.each(['metadatas', 'metadata'])(
  'P25: the zones with stock are read from %s',
  async (field) => {
    const errorInfo = {
      reason: 'resource_availability',
      [field]: {
        zone: ZONE,
        vmType: 'n1-standard-4',
        attachment: 'nvidia-tesla-t4:1',
        zonesAvailable: 'us-central1-a,us-central1-f',
      },
    };
    const code = 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS';
    const error = { errors: [{ code, message: 'no stock', errorDetails: [{ errorInfo }] }] };
    await using opened = await open(() => ({
      status: 200,
      json: { ...operation, status: 'DONE', error },
    }));
    expect(await opened.compute.getOperation(ZONE, operation.name)).toMatchObject({
      kind: 'there',
      operation: {
        status: 'DONE',
        errors: [
          {
            code,
            message: 'no stock',
            details: {
              reason: 'resource_availability',
              zonesAvailable: 'us-central1-a,us-central1-f',
            },
          },
        ],
      },
    });
  },
);

test('P25: a quota error carries its metric, limit and dimensions', async () => {
  const quotaInfo = {
    metricName: 'compute.googleapis.com/nvidia_t4_gpus',
    limitName: 'NVIDIA-T4-GPUS-per-project-region',
    limit: 1,
    dimensions: { region: 'us-central1' },
  };
  const error = {
    errors: [{ code: 'QUOTA_EXCEEDED', message: 'q', errorDetails: [{ quotaInfo }] }],
  };
  await using opened = await open(() => ({
    status: 200,
    json: { ...operation, status: 'DONE', error },
  }));
  expect(await opened.compute.getOperation(ZONE, operation.name)).toMatchObject({
    operation: {
      errors: [
        { details: { metricName: quotaInfo.metricName, limit: '1', region: 'us-central1' } },
      ],
    },
  });
});

test('P28: an operation that is over without its error list still failed', async () => {
  await using opened = await open(() => ({
    status: 200,
    json: { ...operation, status: 'DONE', httpErrorStatusCode: 404, httpErrorMessage: 'NOT FOUND' },
  }));
  expect(await opened.compute.getOperation(ZONE, operation.name)).toMatchObject({
    operation: { errors: [{ code: 'HTTP_404', message: 'NOT FOUND' }] },
  });
});

test('P28: "not found" of an operation and a live instance are two answers', async () => {
  const error = { errors: [{ code: 'RESOURCE_NOT_FOUND', message: 'n' }] };
  await using opened = await open(({ path }) =>
    path.includes('/operations/')
      ? { status: 200, json: { ...operation, status: 'DONE', error } }
      : { status: 200, json: instance },
  );
  expect(await opened.compute.getOperation(ZONE, operation.name)).toMatchObject({
    operation: { errors: [{ code: 'RESOURCE_NOT_FOUND' }] },
  });
  expect(await opened.compute.getInstance(ZONE, NAME)).toMatchObject({
    machine: { status: 'RUNNING' },
  });
});

test('operations of one machine come newest first, from all pages, and of no other machine', async () => {
  const make = (name: string, insertTime: string, targetId: string) => ({
    ...operation,
    name,
    insertTime,
    targetId,
    operationType: name === 'c' ? 'compute.instances.preempted' : 'insert',
  });
  await using opened = await open((_, index) => ({
    status: 200,
    json:
      index === 0
        ? {
            items: [make('a', '2026-01-01T00:00:00Z', '1'), make('b', '2026-01-01T00:02:00Z', '2')],
            nextPageToken: 'n',
          }
        : { items: [make('c', '2026-01-01T00:03:00Z', '1')] },
  }));
  const reply = await opened.compute.listOperations(ZONE, '1');
  if (reply.kind !== 'listed') throw new Error('not listed');
  expect(reply.operations.map(({ name }) => name)).toEqual(['c', 'a']);
  expect(reply.operations[0]?.operationType).toBe('compute.instances.preempted');
  expect(opened.server.seen[0]?.query.get('filter')).toBe('targetId=1');
  expect(opened.server.seen[1]?.query.get('pageToken')).toBe('n');
});

test('a partial list of operations is unknown', async () => {
  await using opened = await open(() => ({
    status: 200,
    json: { items: [operation], warning: { code: 'UNREACHABLE' } },
  }));
  expect((await opened.compute.listOperations(ZONE, operation.targetId)).kind).toBe('unknown');
});

test('endless pages of operations end as unknown', async () => {
  await using opened = await open(() => ({ status: 200, json: { nextPageToken: 'again' } }));
  expect((await opened.compute.listOperations(ZONE, '1')).kind).toBe('unknown');
  expect(opened.server.seen).toHaveLength(10);
});

test('B53: guest attributes come by key, and are null when there are none', async () => {
  const items = [
    { namespace: 'mayfly', key: 'status', value: 'FAILED' },
    { namespace: 'mayfly', key: 'detail', value: 'no disk' },
  ];
  await using there = await open(() => ({
    status: 200,
    json: { queryPath: 'mayfly/', queryValue: { items } },
  }));
  expect(await there.compute.getGuestAttributes(ZONE, NAME)).toEqual({
    status: 'FAILED',
    detail: 'no disk',
  });
  expect(there.server.seen[0]?.path).toBe(`${BASE}/instances/${NAME}/getGuestAttributes`);
  expect(there.server.seen[0]?.query.get('queryPath')).toBe('mayfly/');
  await using none = await open(() => googleError(404, 'notFound'));
  expect(await none.compute.getGuestAttributes(ZONE, NAME)).toBeNull();
  await using broken = await open(() => 'reset');
  expect(await broken.compute.getGuestAttributes(ZONE, NAME)).toBeNull();
});

test.each([403, 404, 429, 503])(
  'B61: guest attributes behind a %d cannot be read, and are asked for once',
  async (status) => {
    await using refused = await open(() => googleError(status, 'rateLimitExceeded'));
    expect(await refused.compute.getGuestAttributes(ZONE, NAME)).toBeNull();
    expect(refused.server.seen).toHaveLength(1);
  },
);

test('a transport that breaks its contract is not taken for the platform', async () => {
  const compute = createCompute({
    project: 'p1',
    endpoint: null,
    transport: () => Promise.reject(new TypeError('bug')),
  });
  await expect(compute.getInstance(ZONE, NAME)).rejects.toThrow(TypeError);
});
