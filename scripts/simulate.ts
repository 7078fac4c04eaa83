// `npm run simulate -- --seeds N`: N seeded worlds in which things go wrong, each twice; at the end a table
// of what occurred, and two distributions in virtual time. `--seed N` one of them with its trace; `--guards` takes each guard of the product out in
// turn and looks for the seed that notices. Exits with 1 when a law was broken.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { formatCoverage } from '#test/simulation/swarm/coverage.ts';
import { measure } from '#test/simulation/swarm/measures.ts';
import { runInPool } from '#test/simulation/swarm/pool.ts';
import type { Finding, Tally } from '#test/simulation/swarm/seeds.ts';
import { replayCommand, showSeed } from '#test/simulation/swarm/show-seed.ts';
import { tryGuards } from '#test/simulation/swarm/try-guards.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    processes: { type: 'string', default: String(availableParallelism()) },
    once: { type: 'boolean', default: false },
    guards: { type: 'boolean', default: false },
    guard: { type: 'string' },
    runs: { type: 'string' },
    faults: { type: 'string' },
    mishaps: { type: 'string' },
    hits: { type: 'string' },
    lines: { type: 'string', default: '60' },
  },
});

const FINDINGS_SHOWN = 20;

const write = (text: string) => process.stdout.write(`${text}\n`);
const processes = Number(values.processes);

async function simulate(): Promise<boolean> {
  if (values.guards) {
    const only = values.guard ?? null;
    return await tryGuards({ seeds: Number(values.seeds ?? 2000), processes, only, write });
  }
  if (values.seed !== undefined) return await showSeed({ ...values, seed: values.seed }, write);
  return await simulateSeeds(Number(values.seeds ?? 200));
}

async function simulateSeeds(count: number): Promise<boolean> {
  const startedMs = performance.now();
  const range = {
    from: Number(values.from),
    count,
    times: values.once ? 1 : 2,
    stopAtFirst: false,
  } as const;
  const share = Math.max(10, Math.min(250, Math.ceil(count / processes / 4)));
  const guard = values.guard ?? null;
  let shown = 0;
  const onShare = ({ findings }: Tally) => {
    for (const finding of findings.slice(shown, FINDINGS_SHOWN)) write(sentence(finding, guard));
    shown = findings.length;
  };
  const tally = await runInPool({ range, guard, processes, share, onShare });
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  write(formatCoverage(tally.counts));
  if (guard === null) write(await measure(count));
  write(
    `\n${tally.seeds} seeds${values.once ? '' : ', each twice'}, ${tally.steps} steps, ` +
      `${tally.findings.length} violations, ${seconds} s on ${processes} processes`,
  );
  return tally.findings.length === 0;
}

function sentence({ seed, steps, violation }: Finding, guard: string | null): string {
  const again = replayCommand({ seed: String(seed), guard: guard ?? undefined });
  return `seed ${seed}, ${steps} steps: ${violation}\n  ${again}`;
}

process.exitCode = (await simulate()) ? 0 : 1;
