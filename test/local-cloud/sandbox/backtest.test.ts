// The example job: its figures against hand calculation and a second implementation, and its refusals.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { example, Sandbox } from '#test/local-cloud/sandbox/sandbox-fixture.ts';

const BACKTEST = example('backtest');
const SALES = join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  'scripts',
  'examples',
  'data',
  'sales.csv',
);

interface Metrics {
  readonly best: string;
  readonly metrics: Readonly<Record<string, { readonly mape: number; readonly rmse: number }>>;
}

async function backtest(sandbox: Sandbox, csv: string, options: readonly string[] = []) {
  const input = join(sandbox.folder, 'input.csv');
  const output = join(sandbox.folder, 'out');
  writeFileSync(input, csv);
  mkdirSync(output, { recursive: true });
  const mounts = ['-v', `${input}:/data/sales.csv:ro`, '-v', `${output}:/out`];
  const words = ['--input', '/data/sales.csv', '--output', '/out', ...options];
  const outcome = await sandbox.docker(['run', '--rm', ...mounts, BACKTEST, ...words]);
  const read = (name: string) => readFileSync(join(output, name), 'utf8');
  return { ...outcome, read, metrics: (): Metrics => JSON.parse(read('metrics.json')) };
}

const csvOf = (values: readonly number[]) =>
  `month,value\n${values.map((value, index) => `2024-${String(index + 1).padStart(2, '0')},${value}\n`).join('')}`;

describe('the backtest example', () => {
  test('has the errors of a calculation by hand', async () => {
    await using sandbox = new Sandbox();
    // Season 2, horizon 2: known 10 20 12 24, judged on 15 and 30.
    const csv = csvOf([10, 20, 12, 24, 15, 30]);
    const result = await backtest(sandbox, csv, ['--horizon', '2', '--season', '2']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const { metrics } = result.metrics();
    // Last season again: 12, 24. Errors 3 of 15 and 6 of 30: 20 % each; squares 9 and 36.
    expect(metrics['seasonal-naive']?.mape).toBeCloseTo(0.2, 12);
    expect(metrics['seasonal-naive']?.rmse).toBeCloseTo(Math.sqrt(22.5), 12);
    // From 10 to 24 in 3 steps: 28.6667, 33.3333. Errors 13.6667 of 15, 3.3333 of 30.
    expect(metrics.drift?.mape).toBeCloseTo((13.666666666667 / 15 + 3.333333333333 / 30) / 2, 10);
    expect(metrics.drift?.rmse).toBeCloseTo(
      Math.sqrt((186.777777777778 + 11.111111111111) / 2),
      10,
    );
  });

  test('agrees with a second implementation, month by month', async () => {
    await using sandbox = new Sandbox();
    const csv = readFileSync(SALES, 'utf8');
    const values = csv
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(line.split(',')[1]));
    // Sums that are known of the series: 144 values, 40363 in all.
    expect([values.length, values.reduce((sum, value) => sum + value, 0)]).toEqual([144, 40_363]);
    const result = await backtest(sandbox, csv, ['--horizon', '12', '--season', '12']);
    // The seasonal naive method's RMSE on 1960, as text books print it: 50.71.
    expect(result.metrics().metrics['seasonal-naive']?.rmse.toFixed(2)).toBe('50.71');
    expect(result.metrics().best).toBe('holt-winters');
    const expected = smoothed(values, 12, 12).map((value) => value.toFixed(4));
    const rows = result.read('forecasts.csv').trim().split('\n').slice(1);
    expect(rows.map((row) => row.split(',')[1])).toEqual(expected);
    expect([rows[0]?.split(',')[0], rows[11]?.split(',')[0]]).toEqual(['1961-01', '1961-12']);
    const judged = result.read('backtest.csv').trim().split('\n').slice(1);
    expect(judged.map((row) => row.split(',')[4])).toEqual(
      smoothed(values.slice(0, -12), 12, 12).map((value) => value.toFixed(4)),
    );
  });

  test.each([
    { name: 'a gap', csv: 'month,value\n2024-01,1\n2024-03,2\n', code: 3, says: 'line 3' },
    { name: 'no number', csv: 'month,value\n2024-01,x\n', code: 3, says: 'YYYY-MM,value' },
    { name: 'too few values', csv: csvOf([1, 2, 3]), code: 3, says: '3 values are too few' },
  ])('refuses $name with a code and a line', async ({ csv, code, says }) => {
    await using sandbox = new Sandbox();
    const result = await backtest(sandbox, csv);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(says);
  });

  test('refuses wrong arguments', async () => {
    await using sandbox = new Sandbox();
    const result = await backtest(sandbox, csvOf([1]), ['--horizon', '0']);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('--horizon 0: a whole number from 1 to 1000 is needed');
  });
});

/** Holt and Winters straight from the recurrences, by recursion with memory instead of a loop. */
function smoothed(values: readonly number[], horizon: number, season: number): number[] {
  const at = (index: number) => values[index] ?? Number.NaN;
  const average = (from: number) =>
    values.slice(from, from + season).reduce((sum, value) => sum + value / season, 0);
  const memory = new Map<number, readonly [number, number, number]>();
  const state = (t: number): readonly [level: number, trend: number, factor: number] => {
    const known = memory.get(t);
    if (known !== undefined) return known;
    const first = average(0);
    const start = t < season;
    const [level, trend] = start ? [0, 0] : t === season ? seed() : state(t - 1);
    const factor = start ? at(t) / first : state(t - season)[2];
    const next = start ? ([0, 0, factor] as const) : step(at(t), level, trend, factor);
    memory.set(t, next);
    return next;
  };
  const seed = () => [average(0), (average(season) - average(0)) / season] as const;
  const last = values.length - 1;
  const [level, trend] = state(last);
  return Array.from({ length: horizon }, (_, h) => {
    const sameMonth = values.length + h - season * Math.ceil((h + 1) / season);
    return (level + (h + 1) * trend) * state(sameMonth)[2];
  });
}

function step(value: number, level: number, trend: number, factor: number) {
  const newLevel = 0.3 * (value / factor) + 0.7 * (level + trend);
  const newTrend = 0.05 * (newLevel - level) + 0.95 * trend;
  return [newLevel, newTrend, 0.3 * (value / newLevel) + 0.7 * factor] as const;
}
