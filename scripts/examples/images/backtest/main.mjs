// A seasonal backtest over a monthly series, as a small real job: three methods are judged on the last
// `--horizon` values, which they have not seen; the best one forecasts the next ones. Deterministic.
//   --input FILE.csv (month,value)  --output FOLDER  [--horizon 12] [--season 12]
// Writes forecasts.csv, backtest.csv and metrics.json. Exit codes: 2 wrong arguments, 3 wrong data.
import { mkdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { METHODS } from './methods.mjs';
import { nextMonths, readSeries } from './series.mjs';

// Where a plain process stands in for a container, this folder stands for `/`.
const ROOT = process.env.MAYFLY_SANDBOX_ROOT ?? '';

const options = readOptions(process.argv.slice(2));
const series = readSeries(readFileSync(join(ROOT, options.input), 'utf8'));
const { horizon, season } = options;
const training = series.values.slice(0, -horizon);
const actual = series.values.slice(-horizon);
if (training.length < 2 * season) {
  stop(
    3,
    `${series.values.length} values are too few: horizon + 2 seasons is ${horizon + 2 * season}`,
  );
}
say(`read ${series.values.length} values, ${series.months[0]} to ${series.months.at(-1)}`);

const results = Object.entries(METHODS).map(([name, forecast], index, { length }) => {
  const predicted = forecast(training, horizon, season);
  const result = { name, predicted, ...errorsOf(actual, predicted) };
  say(`${name}: MAPE ${(100 * result.mape).toFixed(2)} %, RMSE ${result.rmse.toFixed(2)}`);
  tell({ method: name, done: index + 1, of: length });
  return result;
});
const best = results.toSorted((a, b) => a.mape - b.mape)[0];
const forecast = METHODS[best.name](series.values, horizon, season);
say(`best: ${best.name}; forecasting ${horizon} months`);
writeResults();

function writeResults() {
  const folder = join(ROOT, options.output);
  mkdirSync(folder, { recursive: true });
  const months = nextMonths(series.months.at(-1), horizon);
  const rows = months.map((month, index) => `${month},${forecast[index].toFixed(4)}`);
  writeFileSync(join(folder, 'forecasts.csv'), `${['month,forecast', ...rows].join('\n')}\n`);
  const names = results.map(({ name }) => name);
  const judged = series.months.slice(-horizon).map((month, index) => {
    const predicted = results.map((result) => result.predicted[index].toFixed(4));
    return [month, actual[index], ...predicted].join(',');
  });
  const header = ['month', 'actual', ...names].join(',');
  writeFileSync(join(folder, 'backtest.csv'), `${[header, ...judged].join('\n')}\n`);
  const metrics = Object.fromEntries(results.map(({ name, mape, rmse }) => [name, { mape, rmse }]));
  const summary = { values: series.values.length, horizon, season, best: best.name, metrics };
  writeFileSync(join(folder, 'metrics.json'), `${JSON.stringify(summary, null, 2)}\n`);
  say(`wrote forecasts.csv, backtest.csv and metrics.json to ${options.output}`);
}

function errorsOf(actual, predicted) {
  const gaps = actual.map((value, index) => value - predicted[index]);
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  return {
    mape: mean(gaps.map((gap, index) => Math.abs(gap / actual[index]))),
    rmse: Math.sqrt(mean(gaps.map((gap) => gap * gap))),
  };
}

function readOptions(words) {
  try {
    const text = { type: 'string' };
    const { values } = parseArgs({
      args: words,
      options: { input: text, output: text, horizon: text, season: text },
    });
    const { input, output } = values;
    if (input === undefined || output === undefined) stop(2, '--input and --output are needed');
    return { input, output, horizon: count(values, 'horizon'), season: count(values, 'season') };
  } catch (error) {
    stop(2, error.message);
  }
}

function count(values, name) {
  const number = Number(values[name] ?? 12);
  if (Number.isInteger(number) && number >= 1 && number <= 1000) return number;
  stop(2, `--${name} ${values[name]}: a whole number from 1 to 1000 is needed`);
}

function say(line) {
  console.log(`backtest: ${line}`);
}

/** A line of progress, where somebody listens (`MAYFLY_EVENTS_FD`). */
function tell(progress) {
  const { MAYFLY_EVENTS_FD: fd } = process.env;
  if (fd !== undefined) writeSync(Number(fd), `${JSON.stringify(progress)}\n`);
}

function stop(code, message) {
  console.error(`backtest: ${message}`);
  process.exit(code);
}
