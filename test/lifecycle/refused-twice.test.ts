import { expect, test } from 'vitest';
import { refusedPlace } from '#shared/lifecycle/walk.ts';
import { attempt, context, intent, record } from '#test/lifecycle/fixtures.ts';

const error = { code: 'QUOTA_EXCEEDED', message: 'no room', details: {} };
const refuse = (runtime: 'gce' | 'cloudrun-jobs', repeated: boolean) => {
  const called = intent({ status: 'accepted', ...(repeated ? { repeated } : {}) });
  const run = record({ runtime, attempts: [attempt({ intents: [called] })] });
  return refusedPlace(run, run.attempts[0] ?? attempt(), error, context()).attempts[0]?.intents;
};

test('a refused creation is settled', () => {
  expect(refuse('gce', true)).toEqual([]);
  expect(refuse('cloudrun-jobs', false)).toEqual([]);
});

test('C75: of an execution that was asked for twice the other call may still land', () => {
  expect(refuse('cloudrun-jobs', true)).toMatchObject([{ status: 'abandoned' }]);
});
