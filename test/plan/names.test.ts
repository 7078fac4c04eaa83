import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  deleteRequestId,
  diskName,
  instanceName,
  isOwnDelete,
  requestId,
  runHash,
  uuidV5,
} from '#shared/plan/names.ts';

const LEGAL_NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const runIds = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/, { size: 'max' });
const deployments = fc.stringMatching(/^[a-z][a-z0-9-]{0,15}$/, { size: 'max' });

describe('instance and disk names', () => {
  test('P23: long and similar run ids give six different legal names, the same on replay', () => {
    const ids = [`${'a'.repeat(127)}1`, `${'a'.repeat(127)}2`, 'Run.A', 'run.a', 'run-a', '9~_x'];
    const names = ids.map((id) => instanceName('mayfly', id, 1));
    expect(new Set(names).size).toBe(6);
    for (const name of names) expect(name).toMatch(LEGAL_NAME);
    expect(ids.map((id) => instanceName('mayfly', id, 1))).toEqual(names);
  });

  test('A77: the name is deployment, slug, 12 hex of the id, attempt in base 36', () => {
    // The hash is Python's hashlib.sha256(b'mayfly/Run.A').
    expect(instanceName('mayfly', 'Run.A', 10)).toBe('mayfly-run-a-a426f83cbed8-a');
    expect(diskName('mayfly', 'Run.A', 10, 3)).toBe('mayfly-run-a-a426f83cbed8-a-3');
  });

  test('A77: everything but letters and digits is one hyphen, and none at the ends', () => {
    expect(instanceName('mayfly', 'a._~-b..', 1)).toMatch(/^mayfly-a-b-[0-9a-f]{12}-1$/);
    expect(instanceName('mayfly', '9', 1)).toMatch(/^mayfly-9-[0-9a-f]{12}-1$/);
  });

  test('D11: names differ by attempt and deployment, never by intent', () => {
    const names = [
      instanceName('mayfly', 'r', 1),
      instanceName('mayfly', 'r', 2),
      instanceName('other', 'r', 1),
    ];
    expect(new Set(names).size).toBe(3);
    expect(diskName('mayfly', 'r', 1, 1)).not.toBe(diskName('mayfly', 'r', 1, 2));
  });

  test('D32: every legal run id and deployment gives legal names of at most 63 characters', () => {
    fc.assert(
      fc.property(
        deployments,
        runIds,
        fc.integer({ min: 1, max: 1295 }),
        fc.integer({ min: 1, max: 99_999 }),
        (deployment, runId, attempt, intent) => {
          expect(instanceName(deployment, runId, attempt)).toMatch(LEGAL_NAME);
          expect(diskName(deployment, runId, attempt, intent)).toMatch(LEGAL_NAME);
        },
      ),
      { seed: 17, numRuns: 1000 },
    );
  });
});

describe('request ids', () => {
  test('D4: the request id is a UUIDv5, as the RFC and Python make it', () => {
    // RFC 9562 appendix A.4: name `www.example.com` in the DNS namespace.
    const dns = Buffer.from('6ba7b8109dad11d180b400c04fd430c8', 'hex');
    expect(uuidV5(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
    // Python: uuid5(uuid5(NAMESPACE_DNS, 'mayfly.dev'), 'mayfly/run-1/1/1').
    expect(requestId('mayfly', 'run-1', 1, 1)).toBe('459a9f14-b78e-5c37-b2ed-c394e6d074f4');
    expect(requestId('prod', 'forecast-2026-12-01.eu', 3, 17)).toBe(
      '433876c8-366a-58a0-b236-f6ee1bf87b53',
    );
  });

  test('B68: a delete is a request of its own, legal as a UUIDv4, and known as the deployment’s', () => {
    const nonce = '0123456789abcdef0123456789abcdef';
    const id = deleteRequestId('mayfly', nonce);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(deleteRequestId('mayfly', nonce.replaceAll('8', '9'))).not.toBe(id);
    expect(isOwnDelete('mayfly', id)).toBe(true);
    expect(isOwnDelete('other', id)).toBe(false);
    expect(isOwnDelete('mayfly', null)).toBe(false);
    expect(isOwnDelete('mayfly', requestId('mayfly', 'r', 1, 1))).toBe(false);
  });

  test('D4: a new intent, attempt, run or deployment is a new request', () => {
    const ids = [
      requestId('d', 'r', 1, 1),
      requestId('d', 'r', 1, 2),
      requestId('d', 'r', 2, 1),
      requestId('d', 'r1', 1, 1),
      requestId('e', 'r', 1, 1),
    ];
    expect(new Set(ids).size).toBe(5);
  });
});

test('P01: the run hash tells apart ids whose slugs are equal', () => {
  expect(runHash('Run.A')).toBe('b42ccc53a8cd47d5');
  expect(runHash('run.a')).not.toBe(runHash('Run.A'));
});
