import { expect, test } from 'vitest';
import { translateFailure, translateReply, translateRpcError } from '#shared/cloud/errors.ts';

const METHOD = 'compute.instances.insert';

test.each([
  { status: 400, code: 'invalid', retriable: false },
  { status: 401, code: 'unauthenticated', retriable: false },
  { status: 403, code: 'forbidden', retriable: false },
  { status: 404, code: 'not-found', retriable: false },
  { status: 408, code: 'unavailable', retriable: true },
  { status: 409, code: 'conflict', retriable: false },
  { status: 412, code: 'precondition-failed', retriable: false },
  { status: 413, code: 'invalid', retriable: false },
  { status: 429, code: 'rate-limited', retriable: true },
  { status: 500, code: 'unavailable', retriable: true },
  { status: 502, code: 'unavailable', retriable: true },
  { status: 503, code: 'unavailable', retriable: true },
  { status: 504, code: 'unavailable', retriable: true },
  { status: 302, code: 'unreadable', retriable: false },
])('$status is $code', ({ status, code, retriable }) => {
  expect(translateReply(METHOD, status, undefined)).toMatchObject({ code, retriable, status });
});

// Bodies as the error pages of Compute Engine, Cloud Storage and Pub/Sub print them.
test.each([
  {
    name: 'Compute: a rate limit as 403',
    status: 403,
    body: {
      error: {
        code: 403,
        message: 'Rate Limit Exceeded',
        errors: [
          { domain: 'usageLimits', reason: 'rateLimitExceeded', message: 'Rate Limit Exceeded' },
        ],
      },
    },
    expected: { code: 'rate-limited', reason: 'rateLimitExceeded' },
  },
  {
    name: 'Compute: a quota as 403',
    status: 403,
    body: {
      error: {
        code: 403,
        message: "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.",
        errors: [{ domain: 'usageLimits', reason: 'quotaExceeded', message: 'q' }],
      },
    },
    expected: { code: 'forbidden', reason: 'quotaExceeded', retriable: false },
  },
  {
    name: 'Storage: too many writes of one object',
    status: 429,
    body: {
      error: {
        code: 429,
        message: 'The object b/o exceeded the rate limit for object mutation operations.',
        errors: [{ domain: 'usageLimits', reason: 'rateLimitExceeded', message: 'x' }],
      },
    },
    expected: { code: 'rate-limited', reason: 'rateLimitExceeded' },
  },
  {
    name: 'Pub/Sub: the newer shape',
    status: 403,
    body: {
      error: {
        code: 403,
        message: 'User not authorized to perform this action.',
        status: 'PERMISSION_DENIED',
      },
    },
    expected: { code: 'forbidden', reason: 'PERMISSION_DENIED' },
  },
  {
    name: 'the newer shape with details',
    status: 403,
    body: {
      error: {
        code: 403,
        message: 'x',
        status: 'PERMISSION_DENIED',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'IAM_PERMISSION_DENIED',
            domain: 'iam.googleapis.com',
            metadata: { permission: 'compute.instances.create' },
          },
        ],
      },
    },
    expected: { code: 'forbidden', reason: 'IAM_PERMISSION_DENIED' },
  },
  {
    name: 'a page of a proxy',
    status: 502,
    body: '<html>Bad Gateway</html>',
    expected: { code: 'unavailable', reason: '' },
  },
  { name: 'nothing', status: 503, body: undefined, expected: { code: 'unavailable', reason: '' } },
  {
    name: 'an error that is a text',
    status: 400,
    body: { error: 'invalid_grant' },
    expected: { code: 'invalid', reason: '' },
  },
])('$name is read', ({ status, body, expected }) => {
  const error = translateReply(METHOD, status, body);
  expect(error).toMatchObject(expected);
  expect(error.message).toContain(METHOD);
  expect(error.message).toContain(String(status));
});

test('a failure without a reply may pass, unless there are no credentials', () => {
  const cut = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  expect(translateFailure(METHOD, cut)).toMatchObject({
    code: 'unavailable',
    reason: 'ECONNRESET',
    retriable: true,
    cause: cut,
  });
  const bare = new Error('Could not load the default credentials. Browse to …');
  expect(translateFailure(METHOD, bare)).toMatchObject({
    code: 'unauthenticated',
    retriable: false,
  });
});

test('a generated client’s error is read by its HTTP status, else by what happened', () => {
  const refused = Object.assign(new Error('Resource not found'), { code: 5, httpStatusCode: 404 });
  expect(translateRpcError(METHOD, refused)).toMatchObject({
    code: 'not-found',
    status: 404,
    reason: 'NOT_FOUND',
  });
  const cut = Object.assign(new Error('socket hang up'), { code: 14 });
  expect(translateRpcError(METHOD, cut)).toMatchObject({ code: 'unavailable', status: null });
});
