// What Policy Troubleshooter's answers mean, those too that the local cloud never gives. Source: the v3
// reference of iam.troubleshoot, `overallAccessState` and `allowPolicyExplanation.allowAccessState`.
import { expect, test } from 'vitest';
import { checkAccess } from '#scripts/mayfly/doctor/access.ts';
import type { Answer, Reader } from '#scripts/mayfly/doctor/reader.ts';

const ACCESS = {
  principal: 'mayfly-worker@my-project.iam.gserviceaccount.com',
  permission: 'pubsub.topics.publish',
  resource: '//pubsub.googleapis.com/projects/my-project/topics/mayfly-run-events',
};

function judge(answer: Answer) {
  const reader: Reader = {
    get: () => Promise.reject(new Error('nothing else is read')),
    ask: () => Promise.resolve(answer),
    baseOf: () => '',
  };
  return checkAccess(reader, 'right', ACCESS, 'grant it');
}

const there = (body: object): Answer => ({ kind: 'there', body: { ...body } });

test.each([
  ['may', there({ overallAccessState: 'CAN_ACCESS' }), 'ok', null],
  ['may not', there({ overallAccessState: 'CANNOT_ACCESS' }), 'fault', 'grant it'],
  ['has no such resource', { kind: 'gone' }, 'fault', 'grant it'],
] as const)('P126: an account that %s', async (_, answer, state, fix) => {
  expect(await judge(answer)).toMatchObject({ check: 'right', state, fix });
});

test.each(['UNKNOWN_INFO', 'UNKNOWN_CONDITIONAL'])(
  'P126: %s is neither a right nor a fault',
  async (overallAccessState) => {
    const finding = await judge(there({ overallAccessState }));
    expect(finding).toMatchObject({
      state: 'unknown',
      fix: expect.stringContaining('roles/iam.securityReviewer'),
    });
    expect(finding.what).toContain('you cannot see all that decides it');
  },
);

test('P126: a grant that can be seen is told, where only deny policies above it cannot', async () => {
  const finding = await judge(
    there({
      overallAccessState: 'UNKNOWN_INFO',
      allowPolicyExplanation: { allowAccessState: 'ALLOW_ACCESS_STATE_GRANTED' },
    }),
  );
  expect(finding).toMatchObject({ state: 'unknown' });
  expect(finding.what).toContain('is granted on ');
});
