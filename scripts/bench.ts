// `npm run bench -- NAME`: benchmarks, each a figure beside a baseline of the same run. Machines differ
// and drift, so ratios count and single figures do not.
import { benchGuest } from '#scripts/bench/guest.ts';
import { benchPlan } from '#scripts/bench/plan.ts';

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  guest: benchGuest,
  plan: benchPlan,
};

const [name] = process.argv.slice(2);
const bench = name === undefined ? undefined : BENCHES[name];
if (bench === undefined) {
  const known = Object.keys(BENCHES).join(', ');
  process.stderr.write(`which benchmark? known: ${known}; for example: npm run bench -- plan\n`);
  process.exitCode = 2;
} else {
  await bench();
}
