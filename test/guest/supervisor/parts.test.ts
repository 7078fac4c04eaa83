// Parts of the supervisor by themselves: checksums, lines, the end of an output, progress, environment.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crc32cText } from '#scripts/local-cloud/storage/crc32c.ts';
import { readGoogHash, sumsOfBytes } from '#shared/guest/supervisor/checksums.ts';
import { PROGRESS_BYTES_MAX } from '#shared/guest/supervisor/events.ts';
import { OutputRelay, Tail } from '#shared/guest/supervisor/lines.ts';
import { markerText } from '#shared/guest/supervisor/marker-report.ts';
import { ProgressLines } from '#shared/guest/supervisor/progress-lines.ts';
import { formBody, readText, sendWithin } from '#shared/guest/supervisor/send.ts';
import { PERIODS } from '#shared/guest/supervisor/supervisor-deps.ts';
import { readTaskEnvironment } from '#shared/guest/supervisor/task-environment.ts';
import { MARKER_BYTES_MAX } from '#shared/lifecycle/marker.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';

const bytes = (text: string) => Buffer.from(text);

describe('checksums', () => {
  test.each([
    // RFC 3720, appendix B.4, where they stand least significant byte first.
    ['32 zeros', Buffer.alloc(32), '8a9136aa'],
    ['32 bytes of ones', Buffer.alloc(32, 0xff), '62a8ab43'],
    ['32 rising bytes', Buffer.from(Array.from({ length: 32 }, (_, n) => n)), '46dd794e'],
    ['32 falling bytes', Buffer.from(Array.from({ length: 32 }, (_, n) => 31 - n)), '113fdb5c'],
  ])('C149: CRC32C of %s', (_name, data, hex) => {
    expect(sumsOfBytes(data).crc32c).toBe(Buffer.from(hex, 'hex').toString('base64'));
  });

  test('C149: CRC32C is that of another implementation', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (data) => {
        expect(sumsOfBytes(data).crc32c).toBe(crc32cText(data));
      }),
      { seed: 42 },
    );
  });

  test('x-goog-hash is read in both orders, and what is missing is null', () => {
    expect(readGoogHash('crc32c=AAAAAA==,md5=1B2M2Y8AsgTpgAmY7PhCfg==')).toEqual({
      crc32c: 'AAAAAA==',
      md5: '1B2M2Y8AsgTpgAmY7PhCfg==',
    });
    expect(readGoogHash('md5=x, crc32c=y')).toEqual({ crc32c: 'y', md5: 'x' });
    expect(readGoogHash(undefined)).toEqual({ crc32c: null, md5: null });
  });
});

describe('output', () => {
  test('the tail is the end of all that went by, however it was cut into pieces', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 4, max: 64 }), (given, max) => {
        const tail = new Tail(max);
        for (const piece of given) tail.add(piece.map((byte) => byte & 0x7f));
        const all = Buffer.concat(given).map((byte) => byte & 0x7f);
        expect(tail.text()).toBe(
          Buffer.from(all.subarray(Math.max(0, all.length - max))).toString('latin1'),
        );
      }),
      { seed: 42, numRuns: 500 },
    );
  });

  test('half a character at the cut is left out, other bytes that are no text are replaced', () => {
    const tail = new Tail(5);
    tail.add(bytes('aαβγ'));
    expect(tail.text()).toBe('βγ');
    const other = new Tail(10);
    other.add(Buffer.from([0x61, 0xff, 0x62]));
    expect(other.text()).toBe('a\ufffdb');
  });

  test('the supervisor’s own lines stand alone, whatever the command has left open', () => {
    let out = '';
    const relay = new OutputRelay((_stream, part) => {
      out += Buffer.from(part).toString();
    }, new Tail(100));
    const cutter = relay.cutter('stdout');
    cutter.take(bytes('one\ntw'));
    relay.print('{"event":1}\n');
    cutter.take(bytes('o\n'));
    cutter.take(bytes('x'.repeat(70_000)));
    relay.print('{"event":2}\n');
    cutter.take(bytes('end'));
    cutter.end();
    relay.print('{"event":3}\n');
    expect(out).toBe(
      `one\n{"event":1}\ntwo\n${'x'.repeat(70_000)}\n{"event":2}\nend\n{"event":3}\n`,
    );
    expect(relay.tail.text().endsWith('xend')).toBe(true);
  });
});

describe('progress lines', () => {
  function lines(nowMs: { value: number }) {
    const told: unknown[] = [];
    const wakes: { atMs: number; wake: () => void }[] = [];
    const clock = {
      nowMs: () => nowMs.value,
      sleep: (milliseconds: number) =>
        new Promise<void>((wake) => wakes.push({ atMs: nowMs.value + milliseconds, wake })),
    };
    const progress = new ProgressLines({ clock, periods: PERIODS }, (data) => told.push(data));
    const passTo = async (atMs: number) => {
      nowMs.value = atMs;
      for (const { wake } of wakes.splice(0).filter((one) => one.atMs <= atMs)) wake();
      await Promise.resolve();
      await Promise.resolve();
    };
    return { told, progress, passTo };
  }

  test('at most one every 5 s, and the latest wins', async () => {
    const { told, progress, passTo } = lines({ value: 0 });
    for (let n = 1; n <= 4; n += 1) progress.take(bytes(`{"n":${n}}\n`));
    expect(told).toEqual([{ n: 1 }]);
    await passTo(5_000);
    expect(told).toEqual([{ n: 1 }, { n: 4 }]);
    progress.take(bytes('{"n":5}\n'));
    expect(told).toHaveLength(2);
    await passTo(10_000);
    expect(told).toEqual([{ n: 1 }, { n: 4 }, { n: 5 }]);
    await passTo(15_000);
    progress.take(bytes('{"n":6}\n'));
    expect(told.at(-1)).toEqual({ n: 6 });
  });

  test('a line is one, however it comes; one that is too long is passed over as a whole', () => {
    const { told, progress } = lines({ value: 0 });
    progress.take(bytes(`{"long":"${'x'.repeat(PROGRESS_BYTES_MAX)}`));
    progress.take(bytes('y"}\n{"n'));
    progress.take(bytes('":7}\n'));
    expect(told).toEqual([{ n: 7 }]);
  });

  test('what waits is given at the end', () => {
    const { told, progress } = lines({ value: 0 });
    progress.take(bytes('{"n":1}\n{"n":2}\n{"n":3}'));
    progress.end();
    expect(told).toEqual([{ n: 1 }, { n: 3 }]);
  });
});

describe('one request', () => {
  const ask = { method: 'GET', headers: {}, body: null, signal: new AbortController().signal };

  test('P115: one on which nothing moves any more is given up', async () => {
    await using silent = await listen(() => {});
    const reply = sendWithin(50)({ ...ask, url: silent.url });
    await expect(reply).rejects.toThrow('nothing moved for 50 ms');
  });

  test('P115: and so is an answer that stops in the middle', async () => {
    await using half = await listen((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half');
    });
    const reply = await sendWithin(50)({ ...ask, url: half.url });
    await expect(readText(reply)).rejects.toThrow();
  });

  test('a form that is aborted while it is sent is an error of that request, and of nothing else', async () => {
    await using slow = await listen((request) => void request.pause());
    const stop = new AbortController();
    const file = { bytes: 1 << 30, open: endless };
    const { contentType, body } = formBody({ key: 'x' }, file, 'boundary');
    const headers = { 'content-type': contentType };
    const sent = sendWithin(5_000)({
      method: 'POST',
      url: slow.url,
      headers,
      body,
      signal: stop.signal,
    });
    await slow.asked;
    stop.abort();
    await expect(sent).rejects.toThrow();
  });
});

async function* endless() {
  for (;;) yield Buffer.alloc(65_536);
}

async function listen(answer: RequestListener) {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    resolve();
    answer(request, response);
  });
  const { promise: up, resolve: listening } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening);
  await up;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    async [Symbol.asyncDispose]() {
      const { promise, resolve: closed } = Promise.withResolvers<void>();
      server.close(() => closed());
      server.closeAllConnections();
      await promise;
    },
  };
}

test('a report stays readable, whatever the command has printed and however many files it has left', () => {
  const about = { taskCount: 1, instance: 'i', region: 'r', runId: 'x', attempt: 1, nonce: 'n' };
  const task = { execution: 'e', task: 0 } as Parameters<typeof markerText>[0];
  const outputs = Array.from({ length: 5_000 }, (_, index) => ({
    path: `/out/${index}`,
    uri: `gs://b/${'long/'.repeat(20)}${index}`,
    generation: '1',
    crc32c: 'AAAAAA==',
    bytes: 1,
  }));
  const end = { status: 'SUCCEEDED', cause: 'exit', step: 'report', exitCode: 0, outputs } as const;
  const facts = { bootMs: 0, startMs: 0, endMs: 0, peakMemoryBytes: null, gpuCount: null };
  const detail = `${'\u0001'.repeat(65_000)}\ud800 the end`;
  const text = markerText(task, about as Bootstrap, { ...end, detail }, facts);
  expect(Buffer.byteLength(text)).toBeLessThan(MARKER_BYTES_MAX);
  const read = JSON.parse(text) as { detail: string; outputs: unknown[] };
  expect(read.detail.endsWith('\ufffd the end')).toBe(true);
  expect(read.outputs.length).toBeGreaterThan(500);
});

test('what is missing or wrong in a task’s environment is named, all at once', () => {
  const right = {
    MAYFLY_RUN_ID: 'r',
    MAYFLY_NONCE: '0'.repeat(32),
    MAYFLY_ATTEMPT: '1',
    MAYFLY_BOOTSTRAP_URL: 'https://storage.googleapis.com/b/runs/bootstrap/{nonce}',
    MAYFLY_REGION: 'europe-west1',
    CLOUD_RUN_EXECUTION: 'e',
    CLOUD_RUN_TASK_INDEX: '0',
    CLOUD_RUN_TASK_COUNT: '1',
  };
  expect(readTaskEnvironment(right)).toMatchObject({
    bootstrapUrl: `https://storage.googleapis.com/b/runs/bootstrap/${'0'.repeat(32)}`,
    taskAttempt: 0,
    metadataHost: 'metadata.google.internal',
  });
  const wrong = { ...right, MAYFLY_ATTEMPT: '0', MAYFLY_NONCE: '../x', CLOUD_RUN_TASK_INDEX: '-1' };
  expect(() => readTaskEnvironment({ ...wrong, MAYFLY_REGION: undefined })).toThrow(
    'missing or wrong: MAYFLY_NONCE, MAYFLY_ATTEMPT, MAYFLY_REGION, CLOUD_RUN_TASK_INDEX',
  );
});
