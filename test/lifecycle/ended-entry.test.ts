// What an entry of the index tells of a result: the same as the result where a report counts, in characters
// and a length that custom metadata may have (8 KiB an object with its keys: Cloud Storage, quotas).
import { expect, test } from 'vitest';
import { type CountedPart, countedText, endedMetadata } from '#shared/lifecycle/ended-entry.ts';

const RESULT: CountedPart & { readonly detail: string } = {
  ...{ status: 'FAILED', cause: 'exit', labels: { team: 'größe-🪰' }, costUsd: null },
  attempts: [{ costUsd: 0.2, billedSeconds: 200, executeSeconds: null }],
  detail: 'of no interest',
};

const labelled = (value: string): CountedPart => ({ ...RESULT, labels: { a: value } });
const bytesOf = (metadata: Readonly<Record<string, string>>) =>
  Object.entries(metadata).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);

test('status, cause, labels and costs, unknown as null, and nothing else; in ASCII', () => {
  const metadata = endedMetadata(RESULT);
  const { detail: _, ...counted } = RESULT;
  expect(JSON.parse(countedText(metadata) ?? '')).toEqual(counted);
  expect(Object.values(metadata).join('')).toMatch(/^[ -~]+$/);
});

test('what fits is there to the last byte; one more, and the entry tells nothing', () => {
  const short = bytesOf(endedMetadata(labelled('')));
  expect(bytesOf(endedMetadata(labelled('x'.repeat(8192 - short))))).toBe(8192);
  const metadata = endedMetadata(labelled('x'.repeat(8193 - short)));
  expect(metadata).toEqual({});
  expect(countedText(metadata)).toBeNull();
});
