// The README as a newcomer takes it: its commands are run and its JSON is used as printed.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { localSettings } from '#scripts/local-cloud/deployment/environment.ts';
import { openInstallation } from '#scripts/local-cloud/deployment/installation.ts';
import { publish } from '#scripts/local-cloud/deployment/layout.ts';
import { inProcessStore } from '#scripts/local-cloud/in-process-ports.ts';
import { followRun } from '#scripts/mayfly/follow.ts';
import { uploadExampleData } from '#scripts/start/job.ts';
import { systemClock } from '#shared/cloud/clock.ts';
import { planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';

const run = promisify(execFile);
const LIMIT_MS = 300_000;
const README = await readFile('README.md', 'utf8');
const blocks = (language: string) =>
  [...README.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    (match) => match[1] ?? '',
  );
const [request = '', result = '', gpuRequest = ''] = blocks('json');

/** Times, ports and ids differ from run to run; everything else on the page must be printed. */
const steady = (line: string) =>
  line
    .replace(/run-\d{8}-\d{6}-[0-9a-f]{6}/g, 'RUN')
    .replace(/RUN-[0-9a-f]{12}-1/g, 'MACHINE')
    .replace(/127\.0\.0\.1:\d+/g, 'HOST')
    .replace(/\d+\.\d+/g, 'N')
    .replace(/\s+/g, ' ')
    .trim();

describe('the README', () => {
  test('stays short, and its first page has no inner words', () => {
    const lines = README.split('\n');
    expect(lines.length).toBeLessThanOrEqual(150);
    expect(lines.slice(0, 40).join('\n')).not.toMatch(/\b(sweep|marker|orphan|attempt)\b/i);
    expect(request.trim().split('\n').length).toBe(6);
    expect(result.trim().split('\n').length).toBe(8);
  });

  test('the GPU request is planned as it stands, the cheapest Spot machine with that card first', () => {
    const settings = localSettings().plan;
    const parsed = parseRequest(JSON.parse(gpuRequest), { defaultRunId: 'x', settings });
    if (parsed.kind === 'invalid') throw new Error(JSON.stringify(parsed.faults));
    const planned = planRun(parsed.request, settings);
    if (planned.kind === 'invalid') throw new Error(JSON.stringify(planned.faults));
    expect(planned.plan.candidates[0]).toMatchObject({
      machineType: 'g2-standard-4',
      provisioningModel: 'SPOT',
    });
    expect(planned.plan.candidates.at(-1)?.provisioningModel).toBe('STANDARD');
  });

  test(
    'npm start prints what the page shows',
    async () => {
      const { stdout, stderr } = await run('npm', ['start', '--silent']);
      const printed = new Set(`${stdout}\n${stderr}`.split('\n').map(steady));
      const shown = (blocks('text')[0] ?? '').trim().split('\n').map(steady);
      expect(shown.length).toBe(10);
      expect(shown.filter((line) => !printed.has(line))).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'the request gives the result that the page shows',
    async () => {
      await using installation = await openInstallation({
        port: 0,
        environment: process.env,
        objects: [],
        onLog: () => {},
      });
      const { cloud, deployment } = installation;
      await uploadExampleData(deployment);
      const messageId = await publish(deployment, request);
      const store = inProcessStore(
        async ({ method, params, body }) => cloud.call(method, params, body),
        deployment.bucket,
      );
      const end = await followRun(
        {
          store,
          clock: systemClock,
          note: () => {},
          move: () => {},
          interruption: AbortSignal.timeout(LIMIT_MS),
        },
        { runId: JSON.parse(request).runId, messageId, foreignResult: false, pollMs: 200 },
      );
      if (end.kind !== 'ended') throw new Error(`the run is ${end.kind}`);
      expect(end.result).toMatchObject(JSON.parse(result));
    },
    LIMIT_MS,
  );

  test(
    'mayfly plan takes the request and prints the same bytes twice',
    async () => {
      const words = [
        'run',
        '--silent',
        'mayfly',
        '--',
        'plan',
        '-',
        '--json',
        '--at',
        '2026-12-01T12:00:00Z',
      ];
      const plan = async () => {
        const child = run('npm', words);
        child.child.stdin?.end(request);
        return (await child).stdout;
      };
      const [first, second] = [await plan(), await plan()];
      expect(second).toBe(first);
      expect(Object.keys(JSON.parse(first))).toEqual([
        'runId',
        'attempt',
        'instanceName',
        'deadline',
        'candidates',
        'instance',
        'startupScript',
        'shutdownScript',
        'execution',
        'estimate',
        'warnings',
      ]);
    },
    LIMIT_MS,
  );
});
