// One scenario from beginning to end: the runs are published, things go wrong for a while, then the
// world is healed and has a stated time to bring everything to its end.
import { Kernel } from '#test/simulation/kernel.ts';
import { Chaos, interferenceOf } from '#test/simulation/swarm/chaos.ts';
import { type Counts, count } from '#test/simulation/swarm/coverage.ts';
import { hashText } from '#test/simulation/swarm/draws.ts';
import { judgeEnds, openEnds } from '#test/simulation/swarm/ends.ts';
import { drawGuest } from '#test/simulation/swarm/guests.ts';
import { Laws, Violation } from '#test/simulation/swarm/laws.ts';
import { happen, type Relief, requestOf, type Stage } from '#test/simulation/swarm/mishaps.ts';
import { placeRow } from '#test/simulation/swarm/place-errors.ts';
import {
  inputObject,
  type Mishap,
  type Scenario,
  worldOf,
} from '#test/simulation/swarm/scenario.ts';
import { placeStrangers } from '#test/simulation/swarm/strangers.ts';

const MINUTE_MS = 60_000;
/**
 * Within this time after the last fault everything has ended: the longest TTL here, what comes before
 * RUNNING, the slack, and messages and calls that were under way for up to two hours.
 */
export const LIVENESS_MS = 240 * MINUTE_MS;
const CHUNK_MS = 4 * MINUTE_MS;
const MISHAP_TRIES = 300;
const MISHAP_PAUSE_MS = 2_000;

export interface Outcome {
  readonly seed: number;
  readonly violation: string | null;
  readonly steps: number;
  readonly hits: number;
  /** Of every line of the trace. */
  readonly hash: string;
  readonly counts: Counts;
  readonly lines: readonly string[];
}

export async function runScenario(scenario: Scenario, keepLines = false): Promise<Outcome> {
  const counts: Counts = {};
  const chaos = new Chaos(scenario, counts);
  const lines: string[] = [];
  let hash = 0x811c9dc5;
  let second = 0;
  const trace = (line: string) => {
    hash = hashText(line, hash);
    second = hashText(line, (second + line.length) >>> 0);
    if (keepLines) lines.push(line);
  };
  let laws: Laws | null = null;
  const kernel = new Kernel({
    world: worldOf(scenario),
    guest: (machine) => {
      laws?.started(machine.id);
      return drawGuest(chaos);
    },
    interference: interferenceOf(chaos, {
      around: (actor, call, perform) =>
        laws === null ? perform() : laws.around(actor, call, perform),
      pushed: (name, event, status) => laws?.pushed(name, event, status),
      thrown: (name, error) => laws?.thrown(name, error),
      worked: (work) => laws?.worked(work),
      moved: () => laws?.moved(),
      refused: (refusal) => {
        const row = placeRow(refusal);
        if (row !== null) count(counts, row);
      },
    }),
  });
  chaos.kernel = kernel;
  laws = new Laws(kernel, chaos, trace);
  const stage: Stage = { kernel, chaos, laws, scenario };
  const violation = await live(stage).then(
    () => laws.violation,
    (error: unknown) => laws.violation ?? unforeseen(error),
  );
  return {
    seed: scenario.seed,
    violation: violation?.message ?? null,
    steps: laws.steps,
    hits: chaos.hitCount,
    hash: `${hash.toString(16)}${second.toString(16)}`,
    counts,
    lines,
  };
}

function unforeseen(error: unknown): Error {
  if (error instanceof Violation) return error;
  return new Error(`unforeseen: ${error instanceof Error ? error.stack : String(error)}`);
}

async function live(stage: Stage): Promise<void> {
  const { kernel, chaos, scenario } = stage;
  placeStrangers(kernel);
  for (const { runId } of scenario.runs) kernel.put(inputObject(runId), 'so many bytes');
  const reliefs = new Set<Relief>();
  for (const run of scenario.runs) {
    const published = kernel.clock
      .sleep(run.atMs)
      .then(() => kernel.publish('run-requests', requestOf(run)));
    kernel.spawn(published);
  }
  for (const mishap of scenario.mishaps) {
    kernel.spawn(kernel.clock.sleep(mishap.atMs).then(() => suffer(stage, mishap, reliefs)));
  }
  await kernel.run(scenario.chaosMs);
  chaos.healed = true;
  for (const relief of reliefs) relief();
  reliefs.clear();
  kernel.world.compute.outcomes.length = 0;
  kernel.world.run.planted.length = 0;
  await heal(stage);
  judgeEnds(stage);
}

/** What has nothing to happen to yet waits for it. */
async function suffer(stage: Stage, mishap: Mishap, reliefs: Set<Relief>): Promise<void> {
  const { kernel, chaos } = stage;
  for (let tries = 0; tries < MISHAP_TRIES && !chaos.healed; tries++) {
    const relief = happen(stage, mishap);
    if (relief === 'nothing') {
      await kernel.clock.sleep(MISHAP_PAUSE_MS);
      continue;
    }
    if (relief === null) return;
    reliefs.add(relief);
    await kernel.clock.sleep(mishap.forMs);
    if (reliefs.delete(relief)) relief();
    return;
  }
}

async function heal(stage: Stage): Promise<void> {
  const { kernel, chaos, laws } = stage;
  const endMs = kernel.clock.nowMs() + LIVENESS_MS;
  for (;;) {
    await kernel.run(CHUNK_MS);
    const open = openEnds(stage);
    if (open.length === 0 && chaos.inFlight === 0) return;
    if (kernel.clock.nowMs() < endMs) continue;
    laws.break('5 nothing lost', `open long after the last fault: ${open.join('; ')}`);
    return;
  }
}
