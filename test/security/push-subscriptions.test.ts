// How the functions' subscriptions are made: each push carries a token of our account for our audience,
// and what cannot be delivered is kept where it must not be lost.
import { expect, test } from 'vitest';
import { setUpCalls } from '#scripts/local-cloud/deployment/layout.ts';
import { DEPLOYMENT } from '#test/simulation/layout.ts';

interface Subscription {
  readonly topic: string;
  readonly pushConfig?: { readonly oidcToken?: unknown };
  readonly deadLetterPolicy?: {
    readonly deadLetterTopic: string;
    readonly maxDeliveryAttempts: number;
  };
}

const subscriptions = setUpCalls(DEPLOYMENT)
  .filter(({ verb, path }) => verb === 'PUT' && path.includes('/subscriptions/'))
  .map(({ body }) => body as Subscription);

test('C108: every push carries a token of the push account for our audience', () => {
  expect(subscriptions.length).toBeGreaterThanOrEqual(4);
  for (const { pushConfig } of subscriptions) {
    const { pushAccount: serviceAccountEmail, audience } = DEPLOYMENT;
    expect(pushConfig?.oidcToken).toEqual({ serviceAccountEmail, audience });
  }
});

test('C123: requests that cannot be delivered go to the dead topic; signals have the sweep as their net', () => {
  const of = (name: string) => subscriptions.find(({ topic }) => topic.endsWith(`-${name}`));
  expect(of('run-requests')?.deadLetterPolicy).toEqual({
    deadLetterTopic: 'projects/local-project/topics/mayfly-dead',
    maxDeliveryAttempts: 100,
  });
  expect(of('run-signals')).toBeDefined();
  expect(of('run-signals')?.deadLetterPolicy).toBeUndefined();
});
