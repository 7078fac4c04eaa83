// `npm run bench -- NAME`: benchmarks, each a figure beside a baseline of the same run. Machines differ
// and drift, so ratios count and single figures do not.
import { benchBurst } from '#scripts/bench/burst.ts';
import { benchCold } from '#scripts/bench/cold.ts';
import { benchGuest } from '#scripts/bench/guest.ts';
import { benchJobs } from '#scripts/bench/jobs.ts';
import { benchPlan } from '#scripts/bench/plan.ts';
import { benchPrice } from '#scripts/bench/price.ts';
import { benchReclaim } from '#scripts/bench/reclaim.ts';
import { benchSweep } from '#scripts/bench/sweep.ts';

const BENCHES: Readonly<Record<string, (options: readonly string[]) => Promise<void>>> = {
  burst: benchBurst,
  cold: benchCold,
  guest: benchGuest,
  jobs: benchJobs,
  plan: benchPlan,
  price: benchPrice,
  reclaim: benchReclaim,
  sweep: benchSweep,
};

const [name, ...options] = process.argv.slice(2);
const bench = name === undefined ? undefined : BENCHES[name];
if (bench === undefined) {
  const known = Object.keys(BENCHES).join(', ');
  process.stderr.write(`which benchmark? known: ${known}; for example: npm run bench -- plan\n`);
  process.exitCode = 2;
} else {
  await bench(options);
}
