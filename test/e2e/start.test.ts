// `npm start` as a newcomer runs it, in a process of its own; the job's output is checked against a
// calculation of this file's own from the example's data.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';

const NOTHING_LEFT = '0 machines, 0 disks, 0 executions, 0 active entries left';
const LIMIT_MS = 300_000;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-start-'));
  await mkdir(join(folder, 'tmp'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function start(words: readonly string[], onStderr?: (said: string, pid: number) => void) {
  const child = spawn('sh', ['scripts/run.sh', 'scripts/start.ts', ...words], {
    env: { ...process.env, INIT_CWD: folder, TMPDIR: join(folder, 'tmp') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    onStderr?.(said, child.pid ?? 0);
  });
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, code] = await Promise.all([text(child.stdout), exit]);
  return { code, stdout, stderr: said };
}

/** The lines under a heading of the outputs, without the indent. */
function linesOf(stdout: string, name: string): readonly string[] {
  const lines = stdout.split('\n');
  const first = lines.findIndex((line) => line.endsWith(`/${name}:`)) + 1;
  const end = lines.findIndex((line, index) => index >= first && !/^ {2}\d|^ {2}month/.test(line));
  return lines.slice(first, end).map((line) => line.trim());
}

const readSeries = async () => {
  const csv = await readFile('scripts/examples/data/sales.csv', 'utf8');
  return csv
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',')[1]));
};

/** Holt and Winters in the form of error corrections (the job smooths averages). */
function forecastByErrors(values: readonly number[], horizon: number): readonly number[] {
  const at = (index: number) => values[index] ?? Number.NaN;
  const year = (from: number) =>
    values.slice(from, from + 12).reduce((sum, value) => sum + value / 12, 0);
  let level = year(0);
  let trend = (year(12) - level) / 12;
  const seasons = values.slice(0, 12).map((value) => value / year(0));
  for (let index = 12; index < values.length; index += 1) {
    const season = seasons[index - 12] ?? Number.NaN;
    const error = at(index) / season - level - trend;
    level = level + trend + 0.3 * error;
    trend += 0.05 * 0.3 * error;
    seasons.push(season + 0.3 * (at(index) / level - season));
  }
  return Array.from(
    { length: horizon },
    (_, step) => (level + trend * (step + 1)) * (seasons[values.length - 12 + step] ?? Number.NaN),
  );
}

test(
  'npm start runs a real job, whose output is right, and leaves nothing',
  async () => {
    const ended = await start([]);
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    expect(ended.stdout).toMatch(/: SUCCEEDED \(exit, exit code 0\)/);
    expect(ended.stdout).toMatch(/price +0\.\d{4} USD/);
    expect(ended.stdout.trimEnd().split('\n').at(-1)).toBe(NOTHING_LEFT);
    // A job may end before anybody has noted that it runs.
    for (const phase of ['accepted', 'placing', 'provisioning', 'succeeded']) {
      expect(ended.stderr).toMatch(new RegExp(`^ +[\\d.]+ s  ${phase}`, 'm'));
    }
    const values = await readSeries();
    const known = values.slice(0, -12);
    const slope = ((known.at(-1) ?? 0) - (known[0] ?? 0)) / (known.length - 1);
    const byErrors = forecastByErrors(known, 12);
    const backtest = linesOf(ended.stdout, 'backtest.csv').slice(1);
    expect(backtest).toHaveLength(5);
    for (const [step, line] of backtest.entries()) {
      const [month, actual, seasonal, drift, winters] = line.split(',');
      expect(month).toBe(`1960-0${step + 1}`);
      expect(Number(actual)).toBe(values[132 + step]);
      expect(Number(seasonal)).toBe(values[120 + step]);
      expect(Number(drift)).toBeCloseTo((known.at(-1) ?? 0) + slope * (step + 1), 3);
      expect(Number(winters)).toBeCloseTo(byErrors[step] ?? 0, 3);
    }
    const forecasts = linesOf(ended.stdout, 'forecasts.csv').slice(1);
    const right = forecastByErrors(values, 12);
    expect(forecasts.map((line) => Number(line.split(',')[1]))).toEqual(
      right.slice(0, 5).map((value) => expect.closeTo(value, 3)),
    );
    const port = /http:\/\/127\.0\.0\.1:\d+/.exec(ended.stderr)?.[0] ?? '';
    await expect(fetch(port)).rejects.toThrow();
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'npm start runs the same job on Cloud Run Jobs, shows its progress, and leaves nothing',
  async () => {
    const ended = await start([resolve('scripts/examples/forecast-jobs.json')]);
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    expect(ended.stdout).toMatch(/: SUCCEEDED \(exit, exit code 0\)/);
    expect(ended.stdout.trimEnd().split('\n').at(-1)).toBe(NOTHING_LEFT);
    for (const event of ['claimed', 'running', 'ended']) {
      expect(ended.stderr).toMatch(new RegExp(`^ +[\\d.]+ s  ${event}`, 'm'));
    }
    expect(ended.stderr).toContain('progress     method holt-winters, done 3, of 3');
    const forecasts = linesOf(ended.stdout, 'forecasts.csv').slice(1);
    const right = forecastByErrors(await readSeries(), 12);
    expect(forecasts.map((line) => Number(line.split(',')[1]))).toEqual(
      right.slice(0, 5).map((value) => expect.closeTo(value, 3)),
    );
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a job that fails ends npm start with its own code, from a file beside the caller',
  async () => {
    const request = {
      runId: 'fails-37',
      image: 'mayfly.local/examples/exit-code:1',
      args: ['37'],
      resources: { cpus: 2, memoryGiB: 4 },
    };
    await writeFile(join(folder, 'fails.json'), JSON.stringify(request));
    const ended = await start(['fails.json']);
    expect(ended, ended.stderr).toMatchObject({ code: 37 });
    expect(ended.stdout).toContain('fails-37: FAILED (exit, exit code 37)');
    expect(ended.stdout.trimEnd().split('\n').at(-1)).toBe(NOTHING_LEFT);
  },
  LIMIT_MS,
);

test(
  'Ctrl-C ends everything that npm start has started',
  async () => {
    const request = {
      image: 'mayfly.local/examples/sleep:1',
      args: ['600'],
      resources: { cpus: 2, memoryGiB: 4 },
    };
    await writeFile(join(folder, 'sleep.json'), JSON.stringify(request));
    let interrupted = false;
    const ended = await start(['sleep.json'], (said, pid) => {
      if (interrupted || !/ s {2}running/.test(said)) return;
      interrupted = true;
      process.kill(pid, 'SIGINT');
    });
    expect(ended, ended.stderr).toMatchObject({ code: 130 });
    const port = /http:\/\/127\.0\.0\.1:\d+/.exec(ended.stderr)?.[0] ?? '';
    await expect(fetch(port)).rejects.toThrow();
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  },
  LIMIT_MS,
);
