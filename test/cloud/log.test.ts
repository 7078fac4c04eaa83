import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloudError } from '#shared/cloud/errors.ts';
import { createLog, type Severity } from '#shared/cloud/log.ts';

const NOW = Date.parse('2026-12-01T12:00:00.123Z');

function logged(
  fields?: Readonly<Record<string, unknown>>,
  message = 'a message',
  severity: Severity = 'INFO',
) {
  const writes: string[] = [];
  const log = createLog((line) => writes.push(line), {
    labels: { deployment: 'mayfly' },
    nowMs: () => NOW,
  });
  log(severity, 'run-ended', message, fields);
  expect(writes).toHaveLength(1);
  const [line = ''] = writes;
  return { line, entry: JSON.parse(line) as Record<string, unknown> };
}

test('a line is one JSON object in Cloud Logging’s own field names', () => {
  const trace = 'projects/p/traces/0123456789abcdef0123456789abcdef';
  const { line, entry } = logged({ runId: 'r-1', trace, attempt: 2 }, 'first\nsecond', 'WARNING');
  expect(entry).toEqual({
    severity: 'WARNING',
    event: 'run-ended',
    message: 'first\nsecond',
    time: '2026-12-01T12:00:00.123Z',
    runId: 'r-1',
    attempt: 2,
    'logging.googleapis.com/labels': { deployment: 'mayfly', run_id: 'r-1' },
    'logging.googleapis.com/trace': trace,
  });
  expect(line.indexOf('\n')).toBe(line.length - 1);
});

test('fields cannot take the place of the line’s own', () => {
  const { entry } = logged({ severity: 'DEBUG', event: 'x', message: 'y', time: 'z' });
  expect(entry).toMatchObject({ severity: 'INFO', event: 'run-ended', message: 'a message' });
});

test.each([
  ['an access token', { detail: 'got ya29.a0AfH6SMBx-y_z.1' }, 'a0AfH6SMBx'],
  ['a bearer header', { headers: { note: 'Bearer abc.def-123' } }, 'abc.def-123'],
  ['a JSON web token', { detail: 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwIn0.c2ln' }, 'eyJpc3Mi'],
  [
    'a private key',
    { detail: '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----' },
    'MIIE',
  ],
  ['a field named authorization', { authorization: 'whatever-it-is' }, 'whatever-it-is'],
  ['a nonce', { claim: { nonce: '00112233' } }, '00112233'],
  ['a token', { pushToken: 'hunter2-hunter2' }, 'hunter2'],
  ['a body', { body: { args: ['private'] } }, 'private'],
  ['bytes', { read: new TextEncoder().encode('private') }, '112,114'],
])('%s is never printed', (_, fields, secret) => {
  const { line } = logged(fields);
  expect(line).not.toContain(secret);
  expect(line).toContain('[masked]');
});

test('a token in the message or in an error is not printed either', () => {
  expect(logged({}, 'sent Bearer abc.def').line).not.toContain('abc.def');
  expect(logged({ error: new Error('sent Bearer abc.def') }).line).not.toContain('abc.def');
});

test('an error of a service is printed by code, never with its cause', () => {
  const error = new CloudError({
    code: 'forbidden',
    method: 'storage.objects.get',
    status: 403,
    reason: 'forbidden',
    message: 'no',
    cause: { config: { headers: { x: 'inner' } } },
  });
  const { entry, line } = logged({ error });
  expect(entry.error).toEqual({
    name: 'CloudError',
    message: 'no',
    code: 'forbidden',
    method: 'storage.objects.get',
    status: 403,
    reason: 'forbidden',
  });
  expect(line).not.toContain('inner');
});

test('a line stays within Cloud Logging’s 256 KiB, and keeps event and run', () => {
  const many = Array.from({ length: 100 }, () => 'ü'.repeat(20_000));
  const { line, entry } = logged({ runId: 'r-1', many }, 'x'.repeat(1_000_000));
  expect(Buffer.byteLength(line)).toBeLessThan(256 * 1024);
  expect(entry).toMatchObject({ event: 'run-ended', runId: 'r-1', truncated: true });
});

test('whatever the fields hold, a line is one bounded JSON object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything({ withBigInt: true })), (fields) => {
      const { line, entry } = logged(fields);
      expect(entry.event).toBe('run-ended');
      expect(line.split('\n')).toHaveLength(2);
      expect(Buffer.byteLength(line)).toBeLessThan(256 * 1024);
    }),
    { seed: 20261201, numRuns: 300 },
  );
});

test('a field that refers to itself does no harm', () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  expect(logged({ loop }).line).toContain('[deeper]');
});
