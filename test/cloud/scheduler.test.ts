import { expect, test } from 'vitest';
import { createScheduler } from '#shared/cloud/scheduler.ts';
import { noCredentials } from '#shared/cloud/token.ts';
import { type Answer, type SeenRequest, startLoopback } from '#test/cloud/loopback.ts';
import { instantTiming } from '#test/cloud/timing.ts';

const JOB = 'projects/p1/locations/europe-west1/jobs/mayfly-sweep';
const job = {
  name: JOB,
  state: 'ENABLED',
  scheduleTime: '2026-12-01T00:02:00Z',
  lastAttemptTime: '2026-12-01T00:00:00Z',
};

async function open(answer: (request: SeenRequest, index: number) => Answer) {
  const server = await startLoopback(answer);
  const scheduler = createScheduler({
    endpoint: server.url,
    credentials: noCredentials('p1'),
    ...instantTiming(),
  });
  return { scheduler, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test.each([
  { verb: 'run', request: `POST /v1/${JOB}:run` },
  { verb: 'pause', request: `POST /v1/${JOB}:pause` },
  { verb: 'resume', request: `POST /v1/${JOB}:resume` },
  { verb: 'get', request: `GET /v1/${JOB}` },
] as const)('$verb is one request', async ({ verb, request }) => {
  await using opened = await open(() => ({ status: 200, json: job }));
  expect(await opened.scheduler[verb](JOB)).toEqual({
    name: JOB,
    state: 'ENABLED',
    nextRunMs: Date.parse('2026-12-01T00:02:00Z'),
    lastAttemptMs: Date.parse('2026-12-01T00:00:00Z'),
  });
  expect(opened.server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([request]);
});

test('a job that never ran has no last attempt', async () => {
  await using opened = await open(() => ({ status: 200, json: { name: JOB, state: 'PAUSED' } }));
  expect(await opened.scheduler.get(JOB)).toEqual({
    name: JOB,
    state: 'PAUSED',
    nextRunMs: null,
    lastAttemptMs: null,
  });
});

test('looking is repeated, running is not: a second run would be a second sweep', async () => {
  const error = { error: { code: 503, message: 'planted', status: 'UNAVAILABLE' } };
  await using opened = await open(() => ({ status: 503, json: error }));
  await expect(opened.scheduler.get(JOB)).rejects.toMatchObject({ code: 'unavailable' });
  expect(opened.server.seen).toHaveLength(4);
  await expect(opened.scheduler.run(JOB)).rejects.toMatchObject({ code: 'unavailable' });
  expect(opened.server.seen).toHaveLength(5);
});

test('a job that does not exist is not found', async () => {
  const error = { error: { code: 404, message: 'Job not found.', status: 'NOT_FOUND' } };
  await using opened = await open(() => ({ status: 404, json: error }));
  await expect(opened.scheduler.pause(JOB)).rejects.toMatchObject({
    code: 'not-found',
    reason: 'NOT_FOUND',
  });
});
