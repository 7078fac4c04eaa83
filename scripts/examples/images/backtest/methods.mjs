// The three methods: each takes the known values, how many to forecast, and the season's length.

/** The values of the last season again, and again. */
export function seasonalNaive(values, horizon, season) {
  const last = values.slice(-season);
  return steps(horizon).map((step) => last[step % season]);
}

/** The straight line from the first to the last value, continued. */
export function drift(values, horizon) {
  const first = values[0];
  const last = values.at(-1);
  const slope = (last - first) / (values.length - 1);
  return steps(horizon).map((step) => last + slope * (step + 1));
}

const LEVEL_WEIGHT = 0.3;
const TREND_WEIGHT = 0.05;
const SEASON_WEIGHT = 0.3;

/** Holt and Winters: level, trend and multiplicative season, each smoothed exponentially. */
export function holtWinters(values, horizon, season) {
  const firstMean = mean(values.slice(0, season));
  const secondMean = mean(values.slice(season, 2 * season));
  let level = firstMean;
  let trend = (secondMean - firstMean) / season;
  const factors = values.slice(0, season).map((value) => value / firstMean);
  for (let index = season; index < values.length; index += 1) {
    const value = values[index];
    const factor = factors[index % season];
    const before = level;
    level = LEVEL_WEIGHT * (value / factor) + (1 - LEVEL_WEIGHT) * (level + trend);
    trend = TREND_WEIGHT * (level - before) + (1 - TREND_WEIGHT) * trend;
    factors[index % season] = SEASON_WEIGHT * (value / level) + (1 - SEASON_WEIGHT) * factor;
  }
  return steps(horizon).map(
    (step) => (level + trend * (step + 1)) * factors[(values.length + step) % season],
  );
}

export const METHODS = {
  'seasonal-naive': seasonalNaive,
  drift,
  'holt-winters': holtWinters,
};

function steps(count) {
  return Array.from({ length: count }, (_, index) => index);
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
