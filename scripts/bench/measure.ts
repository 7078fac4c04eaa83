// Timing for benchmarks: variants take turns in every round, so that a drift of the machine's speed
// meets all of them alike, and a figure is the median over the rounds.

export interface Variant {
  readonly name: string;
  /** One iteration; its result is kept alive, so that no work can be left out as unused. */
  readonly run: (index: number) => unknown;
}

export interface Measurement {
  readonly name: string;
  /** Microseconds an iteration, one figure a round. */
  readonly microseconds: readonly number[];
}

export interface Rounds {
  readonly warmups: number;
  readonly rounds: number;
  readonly iterations: number;
}

/** Runs every variant in turn, round by round; indices go on over the rounds, so none repeats. */
export function measure(variants: readonly Variant[], plan: Rounds): readonly Measurement[] {
  const figures = variants.map(({ name }) => ({ name, microseconds: [] as number[] }));
  for (let round = -plan.warmups; round < plan.rounds; round += 1) {
    const first = (round + plan.warmups) * plan.iterations;
    for (const [position, variant] of variants.entries()) {
      const each = timeRound(variant, first, plan.iterations);
      if (round >= 0) figures[position]?.microseconds.push(each);
    }
  }
  return figures;
}

let kept: unknown = null;

function timeRound(variant: Variant, first: number, iterations: number): number {
  const startedNs = process.hrtime.bigint();
  for (let index = first; index < first + iterations; index += 1) kept = variant.run(index);
  const microseconds = Number(process.hrtime.bigint() - startedNs) / 1000 / iterations;
  if (kept === undefined) throw new Error(`${variant.name} gave nothing`);
  return microseconds;
}

/** The middle value; of an even count the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const high = sorted[Math.floor(sorted.length / 2)];
  const low = sorted[Math.ceil(sorted.length / 2) - 1];
  if (high === undefined || low === undefined) throw new Error('no values, so no median');
  return (low + high) / 2;
}

/** The median over the rounds of one variant's time by another's of the same round. */
export function ratio(of: Measurement, by: Measurement): number {
  const ratios = of.microseconds.map((value, round) => {
    const base = by.microseconds[round];
    if (base === undefined) throw new Error(`${by.name} has no round ${round}`);
    return value / base;
  });
  return median(ratios);
}
