import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { MARKER_BYTES_MAX, readMarker, speaksFor } from '#shared/lifecycle/marker.ts';
import { attempt, marker, NONCE } from '#test/lifecycle/fixtures.ts';

const BODY = {
  status: 'SUCCEEDED',
  exit_code: 0,
  instance: 'mayfly-x-1',
  zone: 'us-central1-a',
  detail: 'done',
  boot_epoch: 1_700_000_000,
  exec_start_epoch: 1_700_000_030,
  end_epoch: 1_700_000_090,
  execute_s: 60,
  schema: 1,
  run_id: 'run-1',
  attempt: 1,
  step: 'run',
  cause: 'exit',
  boot_id: 'b',
  image_digest: 'r@sha256:aa',
  peak_memory_bytes: 1024,
  gpu_count: null,
  nonce: NONCE,
};
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe('reading a marker', () => {
  test('A46: the nine fields and ours are read', () => {
    const reading = readMarker(bytes(BODY));
    expect(reading).toMatchObject({
      kind: 'marker',
      marker: {
        status: 'SUCCEEDED',
        exitCode: 0,
        zone: 'us-central1-a',
        bootEpoch: 1_700_000_000,
        execStartEpoch: 1_700_000_030,
        endEpoch: 1_700_000_090,
        step: 'run',
        cause: 'exit',
        imageDigest: 'r@sha256:aa',
      },
    });
  });

  test('D5: invalid UTF-8 inside a text does not make a finished run unreadable', () => {
    const whole = bytes({ ...BODY, detail: 'X' });
    const at = whole.indexOf('X'.charCodeAt(0), whole.indexOf('d'.charCodeAt(0)));
    const broken = Uint8Array.from(whole);
    broken[Buffer.from(whole).indexOf('"detail":"X"') + 10] = 0xff;
    expect(at).toBeGreaterThan(0);
    const reading = readMarker(broken);
    expect(reading).toMatchObject({ kind: 'marker', marker: { detail: '\ufffd' } });
  });

  const unreadable: [string, Uint8Array][] = [
    ['half a document', bytes(BODY).slice(0, 80)],
    ['a list', bytes([])],
    ['no object', bytes(null)],
    ['an unknown status', bytes({ ...BODY, status: 'DONE' })],
    ['no run id', bytes({ ...BODY, run_id: 7 })],
    ['more bytes than any marker has', new Uint8Array(MARKER_BYTES_MAX + 1).fill(0x20)],
    ['nothing', new Uint8Array()],
  ];
  test.each(unreadable)(
    'A86: %s is unreadable, which says nothing about the run',
    (_name, body) => {
      expect(readMarker(body).kind).toBe('unreadable');
    },
  );

  test('D27: what a machine did not measure is null, never 0', () => {
    const early = { ...BODY, status: 'RUNNING', exec_start_epoch: null, end_epoch: null };
    const reading = readMarker(bytes({ ...early, exit_code: null, peak_memory_bytes: null }));
    expect(reading).toMatchObject({
      marker: { execStartEpoch: null, endEpoch: null, exitCode: null, peakMemoryBytes: null },
    });
  });
});

describe('what a failed step says of a further try', () => {
  const failed = { ...BODY, status: 'FAILED', cause: 'step-failed', step: 'pull' };
  const said = [
    { name: 'permanent', fields: { permanent: true }, permanent: true },
    { name: 'it may pass', fields: { permanent: false }, permanent: false },
    { name: 'nothing', fields: {}, permanent: null },
    { name: 'something else', fields: { permanent: 'no' }, permanent: null },
  ];
  test.each(said)('$name is read as $permanent', ({ fields, permanent }) => {
    expect(readMarker(bytes({ ...failed, ...fields }))).toMatchObject({ marker: { permanent } });
  });

  test('B56: step, cause and measures of a failed step are read', () => {
    const reading = readMarker(bytes({ ...failed, gpu_count: 2, peak_memory_bytes: 7 }));
    expect(reading).toMatchObject({
      marker: { step: 'pull', cause: 'step-failed', gpuCount: 2, peakMemoryBytes: 7 },
    });
  });
});

describe('what a machine may say of its end', () => {
  const said = (cause: string) => readMarker(bytes({ ...BODY, status: 'FAILED', cause }));

  test.each([
    'exit',
    'out-of-memory',
    'step-failed',
    'gpu-idle',
    'timeout',
    'ttl',
    'preempted',
    'interrupted',
  ])('%s', (cause) => expect(said(cause)).toMatchObject({ marker: { cause } }));

  test.each([
    'stock-out',
    'quota',
    'cancelled',
    'cancelled-outside',
    'refused',
    'host-error',
    'machine-lost',
    'toString',
  ])('%s is not its to say', (cause) => {
    expect(said(cause)).toMatchObject({ marker: { cause: null } });
  });
});

describe('whose word a marker is', () => {
  const hash = createHash('sha256').update(NONCE).digest('hex');

  test('D11: before the end it shows the hash of the nonce, at the end the nonce itself', () => {
    expect(speaksFor(marker({ status: 'RUNNING', nonce: hash }), attempt())).toBe(true);
    expect(speaksFor(marker({ status: 'RUNNING', nonce: NONCE }), attempt())).toBe(false);
    expect(speaksFor(marker({ status: 'FAILED', nonce: NONCE }), attempt())).toBe(true);
    expect(speaksFor(marker({ status: 'FAILED', nonce: hash }), attempt())).toBe(false);
  });

  test('D11: another attempt’s marker is not this attempt’s word', () => {
    expect(speaksFor(marker({ attempt: 2 }), attempt())).toBe(false);
  });
});
