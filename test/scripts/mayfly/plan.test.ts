import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callMayfly, runMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

const REQUEST = {
  runId: 'forecast-2026-12-01.eu',
  image: 'europe-docker.pkg.dev/p/r/forecast:v3',
  args: ['--series', 'αβ "x" $y'],
  resources: { machineTypes: ['n2-standard-8', 'n2d-standard-8'] },
  timeoutSeconds: 3600,
};
const TEXT = JSON.stringify(REQUEST, null, 2);
const AT = ['--at', '2026-12-01T12:00:00Z'];
const SHAPE = [
  ...['runId', 'attempt', 'instanceName', 'deadline', 'candidates', 'instance'],
  ...['startupScript', 'shutdownScript', 'execution', 'estimate', 'warnings'],
];

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-plan-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const planFile = async (name: string, bytes: Uint8Array | string, ...words: string[]) => {
  await writeFile(join(folder, name), bytes);
  return callMayfly(['plan', name, ...AT, ...words], { folder });
};

test('A17: plan --json prints the contract’s keys in their order, twice the same bytes', async () => {
  const [first, second] = await Promise.all([
    planFile('a.json', TEXT, '--json'),
    planFile('b.json', TEXT, '--json'),
  ]);
  expect(first.code).toBe(0);
  expect(second.stdout).toBe(first.stdout);
  const preview = JSON.parse(first.stdout);
  expect(Object.keys(preview)).toEqual(SHAPE);
  expect(preview).toMatchObject({
    runId: REQUEST.runId,
    attempt: 1,
    // 12:00:00 + 600 s to reach RUNNING + the TTL of 7200 s + 30 s
    deadline: '2026-12-01T14:10:30.000Z',
    execution: null,
    instance: { name: preview.instanceName },
  });
  expect(preview.candidates[0].machineType).toBe('n2-standard-8');
  const script = preview.instance.metadata.items.find(
    (item: { key: string }) => item.key === 'startup-script',
  );
  expect(script.value).toBe(preview.startupScript);
});

test('A18: what a plan does not have is null: an execution for a machine, a price that is not known', async () => {
  const known = await planFile('known.json', TEXT, '--json');
  expect(JSON.parse(known.stdout)).toMatchObject({
    execution: null,
    instance: { machineType: expect.stringContaining('n2-standard-8') },
    estimate: { attemptUsd: expect.any(Number), totalUsd: expect.any(Number) },
  });
  const unknown = { ...REQUEST, resources: { machineType: 'c9-standard-4' } };
  const priced = await planFile('unknown.json', JSON.stringify(unknown), '--json');
  const preview = JSON.parse(priced.stdout);
  expect(preview.estimate).toEqual({ attemptUsd: null, totalUsd: null });
  expect(preview.candidates[0].usdPerHour).toBeNull();
});

const JOB = {
  runId: 'fit-9',
  runtime: 'cloudrun-jobs',
  resources: { class: 'M', base: 'sklearn' },
  command: ['python', 'fit.py'],
  tasks: 8,
  timeoutSeconds: 3600,
};

test('C49, C50, C51, C52, C54: a plan of a job shows the call that would start it, and no machine', async () => {
  const ended = await planFile('job.json', JSON.stringify(JOB), '--json');
  expect(ended.code).toBe(0);
  const preview = JSON.parse(ended.stdout);
  expect(Object.keys(preview)).toEqual(SHAPE);
  expect(preview).toMatchObject({
    deadline: '2026-12-01T15:00:30.000Z',
    instance: null,
    startupScript: null,
    shutdownScript: null,
  });
  expect(preview.execution).toEqual({
    job: 'mayfly-base-ml-m',
    region: 'europe-west1',
    overrides: {
      containerOverrides: [
        {
          env: [
            { name: 'MAYFLY_RUN_ID', value: 'fit-9' },
            { name: 'MAYFLY_ATTEMPT', value: '1' },
            { name: 'MAYFLY_NONCE', value: '0'.repeat(32) },
            { name: 'MAYFLY_DEADLINE', value: '2026-12-01T15:00:30.000Z' },
          ],
        },
      ],
      taskCount: 8,
      timeout: '3720s',
    },
  });
  expect(
    preview.candidates.map(({ machineType, region }: Record<string, string>) => [
      machineType,
      region,
    ]),
  ).toEqual([
    ['mayfly-base-ml-m', 'europe-west1'],
    ['mayfly-base-ml-m', 'us-central1'],
    ['mayfly-base-ml-l', 'europe-west1'],
    ['mayfly-base-ml-l', 'us-central1'],
  ]);
  // 8 tasks of 4 vCPU and 16 GiB for 7200 s, by the price list.
  expect(preview.estimate.attemptUsd).toBeCloseTo(8 * 7200 * (4 * 0.000018 + 16 * 0.000002), 5);
});

test('a plan of a job in words names the Job, its regions and the overrides; and the accounts it lacks', async () => {
  const ended = await planFile('words.json', JSON.stringify(JOB));
  expect(ended.stdout).toContain('execution of the Job mayfly-base-ml-m in europe-west1');
  expect(ended.stdout).toContain('"taskCount":8,"timeout":"3720s"');
  expect(ended.stdout).toContain('us-central1');
  expect(ended.stderr).toContain('MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT');
  const machine = await planFile('machine.json', TEXT);
  expect(machine.stderr).not.toContain('MAYFLY_JOBS_');
});

test('a Job has no startup script to print', async () => {
  const ended = await planFile('script-job.json', JSON.stringify(JOB), '--script');
  expect(ended).toMatchObject({ code: 2, stdout: '' });
});

test('as a process of its own: data on stdout, the rest on stderr, the code', async () => {
  const good = await runMayfly(['plan', '-', ...AT, '--json'], { folder, stdin: TEXT });
  expect(good.code).toBe(0);
  expect(JSON.parse(good.stdout).runId).toBe(REQUEST.runId);
  expect(good.stderr).toMatch(/^warning: not set, so taken from the local cloud: .*\n$/);
  const bad = await runMayfly(['plan', 'nothing.json'], { folder });
  expect(bad).toMatchObject({ code: 2, stdout: '' });
});

test('plan --script prints the startup script alone, as bash reads it', async () => {
  const ended = await planFile('script.json', TEXT, '--script');
  expect(ended.stdout.split('\n')[0]).toBe('#!/bin/bash');
  expect(ended.stdout).toContain(REQUEST.args[1]);
});

test('what the settings lack is the local cloud’s, told in one warning that names it', async () => {
  const lacking = await planFile('warn.json', TEXT);
  const warnings = lacking.stderr.split('\n').filter((line) => line.includes('MAYFLY_PROJECT'));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('MAYFLY_REGIONS');
  const given = await callMayfly(['plan', 'warn.json', '--project', 'my-own', '--json'], {
    folder,
  });
  expect(given.stderr).not.toContain('MAYFLY_PROJECT');
  expect(given.stdout).toContain('my-own');
});

test('a request without an id is planned as run-preview', async () => {
  const { runId: _, ...rest } = REQUEST;
  const ended = await planFile('noid.json', JSON.stringify(rest), '--json');
  expect(JSON.parse(ended.stdout).runId).toBe('run-preview');
});

test.each([
  { name: 'with a byte order mark', bytes: Buffer.from(`\ufeff${TEXT}`, 'utf8') },
  { name: 'with CRLF line ends', bytes: Buffer.from(TEXT.replaceAll('\n', '\r\n'), 'utf8') },
])('P117: a request file saved by Windows tools is read: $name', async ({ bytes }) => {
  const ended = await planFile('windows.json', bytes, '--json');
  expect(ended).toMatchObject({ code: 0 });
  expect(JSON.parse(ended.stdout).runId).toBe(REQUEST.runId);
});

test('P117: a UTF-16 request file ends with code 2 and a sentence that names the encoding', async () => {
  const utf16 = Buffer.from(`\ufeff${TEXT}`, 'utf16le');
  expect([...utf16.subarray(0, 2)]).toEqual([0xff, 0xfe]);
  const ended = await planFile('utf16.json', utf16);
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(/utf16\.json: .*UTF-16.*save or send it as UTF-8/);
});

test('the request comes from stdin as well, flags over it', async () => {
  const words = ['plan', '-', ...AT, '--json', '--ttl', '1h', '--', 'a b', ''];
  const { timeoutSeconds: _, ...request } = REQUEST;
  const ended = await callMayfly(words, { folder, stdin: JSON.stringify(request) });
  expect(ended).toMatchObject({ code: 0 });
  expect(JSON.parse(ended.stdout).deadline).toBe('2026-12-01T13:10:30.000Z');
});

test.each([
  {
    name: 'a refused request',
    words: ['plan', '-'],
    stdin: '{"image":"x","ttlSeconds":1}',
    says: /ttlSeconds is 1: /,
  },
  {
    name: 'no JSON',
    words: ['plan', '-'],
    stdin: "{'image': 1}",
    says: /stdin: the message is not JSON/,
  },
  {
    name: 'a list',
    words: ['plan', '-'],
    stdin: '[1]',
    says: /a request is a JSON object, this is a list/,
  },
  {
    name: 'no file',
    words: ['plan', 'nothing.json'],
    stdin: '',
    says: /there is no file nothing\.json/,
  },
  { name: 'no request', words: ['plan'], stdin: '', says: /which request\?/ },
  {
    name: 'a time that is none',
    words: ['plan', '-', '--at', 'noon'],
    stdin: TEXT,
    says: /--at "noon"/,
  },
  {
    name: 'an unknown verb',
    words: ['plane'],
    stdin: '',
    says: /no verb "plane"; known: plan, submit, watch/,
  },
])('a command that cannot be done ends with code 2 and says why: $name', async (wrong) => {
  const ended = await callMayfly(wrong.words, { folder, stdin: wrong.stdin });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(wrong.says);
  expect(ended.stderr).not.toMatch(/^\s+at /m);
});

test('help says what each verb does and names every flag', async () => {
  const [overview, submit] = await Promise.all([
    callMayfly(['help']),
    callMayfly(['submit', '--help']),
  ]);
  expect(overview).toMatchObject({ code: 0, stderr: '' });
  for (const verb of ['plan', 'submit', 'watch', 'show', 'cancel', 'local']) {
    expect(overview.stdout).toMatch(new RegExp(`^  ${verb} `, 'm'));
  }
  for (const flag of ['--wait', '--image', '--gpu', '--ttl', '--project', '--json']) {
    expect(submit.stdout).toContain(`  ${flag}`);
  }
});

test('a number of GPUs that none has gives those that there are, a mistyped machine the nearest name', async () => {
  // Compute Engine's A2 machines have 1, 2, 4, 8 (a2-highgpu) or 16 (a2-megagpu) A100.
  const odd = await callMayfly(['plan', '--image', 'alpine:3.20', '--gpu', 'A100:3']);
  expect(odd.code).toBe(2);
  expect(odd.stderr).toMatch(/resources\.gpu\.count is 3: .*; accepted: 1, 2, 4, 8, 16\n/);
  const typo = ['plan', '--image', 'alpine:3.20', '--machine', 'e2-standrad-4'];
  expect((await callMayfly(typo)).stderr).toContain('did you mean e2-standard-4');
});

test.each([
  // 3 + 2 + 1 + 0 retries, and the first try (docs/reference.md, retry).
  { name: 'by default', retry: {}, told: /USD for one try, [\d.]+ USD with all 7 tries$/m },
  { name: 'ten at most', retry: { failed: 9 }, told: /USD with all 10 tries$/m },
  {
    name: 'one alone',
    retry: { preempted: 0, infrastructure: 0, outOfMemory: 0 },
    told: /USD for one try, and there is no second$/m,
  },
])('the number of tries is told with their price: $name', async ({ retry, told }) => {
  const { code, stdout } = await planFile('tries.json', JSON.stringify({ ...REQUEST, retry }));
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(told) });
});

test.each([
  { name: 'a GPU', resources: { gpu: { type: 'L4' } }, endpoint: 'http://127.0.0.1:9', told: true },
  {
    name: 'a machine that brings one',
    resources: { machineType: 'g2-standard-4' },
    endpoint: 'http://127.0.0.1:9',
    told: true,
  },
  { name: 'no GPU', resources: { cpus: 2 }, endpoint: 'http://127.0.0.1:9', told: false },
  { name: 'a GPU of Google', resources: { gpu: { type: 'L4' } }, endpoint: '', told: false },
])('$name, asked of $endpoint: that a local cloud has none is told: $told', async (given) => {
  const { resources, endpoint, told } = given;
  const stdin = JSON.stringify({ ...REQUEST, resources });
  const environment = endpoint === '' ? {} : { MAYFLY_ENDPOINT_COMPUTE: endpoint };
  const { code, stderr } = await callMayfly(['plan', '-', ...AT], { stdin, environment });
  expect(code).toBe(0);
  expect(stderr.includes('a local cloud, whose machines have no GPU')).toBe(told);
});
