// `npm run bench -- burst [runs [real]]`: that many requests at once, 1,000 unless given, through push to
// the functions as they are deployed; guests as state machines, and some real ones beside them. Prints
// how long publish → insert took, and who made how many calls a run.
import { countCalls } from '#scripts/bench/burst-calls.ts';
import { burstHost } from '#scripts/bench/burst-guests.ts';
import { LOCAL_BUCKET } from '#scripts/local-cloud/deployment/environment.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import { publish } from '#scripts/local-cloud/deployment/layout.ts';
import { systemClock } from '#shared/cloud/clock.ts';
import type { RunResult } from '#shared/lifecycle/result.ts';
import { instanceName } from '#shared/plan/names.ts';
import { resultObject } from '#shared/plan/objects.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';

const WAIT_MS_MAX = 30 * 60_000;
const POLL_MS = 500;
const QUICK = { ...GOOD_GUEST, bootMs: 500, workMs: 3_000, selfDeleteMs: 1_000 };

interface Run {
  readonly runId: string;
  readonly real: boolean;
  readonly exitCode: number;
  publishedMs: number;
  insertedMs: number | null;
}

/** One in ten fails, so that a right result is more than a success. */
function runOf(index: number, realCount: number): Run {
  const real = index < realCount;
  const exitCode = real || index % 10 !== 9 ? 0 : 7;
  const runId = `${real ? 'real' : 'fake'}-${index}`;
  return { runId, real, exitCode, publishedMs: 0, insertedMs: null };
}

const requestOf = ({ runId, real }: Run) =>
  JSON.stringify({
    runId,
    image: real ? 'mayfly.local/examples/echo-args:1' : 'alpine:3.20',
    args: ['hello'],
    resources: { machineTypes: ['e2-standard-4'] },
  });

const isReal = (name: string) => name.includes('real-');

export async function benchBurst([count = '1000', real = '20']: readonly string[]): Promise<void> {
  const runs = Array.from({ length: Number(count) }, (_, index) => runOf(index, Number(real)));
  const byInstance = new Map(runs.map((run) => [instanceName('mayfly', run.runId, 1), run]));
  const failures = new Map<string, number>();
  let started = 0;
  const installation: Installation = await openInstallation({
    port: 0,
    environment: process.env,
    objects: [],
    onLog: (name, line) => noteFailure(failures, name, line),
    aroundHost: (host, poweredOff) =>
      burstHost(
        {
          cloud: () => installation.cloud,
          bucket: LOCAL_BUCKET,
          isReal,
          planOf: (name) => ({ ...QUICK, exitCode: byInstance.get(name)?.exitCode ?? 0 }),
          started: ({ id, name }) => {
            started += 1;
            const run = byInstance.get(name);
            const made = installation.cloud.world.compute.machinesById.get(id);
            if (run !== undefined) run.insertedMs = made?.createdMs ?? null;
          },
        },
        host,
        poweredOff,
      ),
  });
  await using _ = installation;
  const startMs = performance.now();
  await Promise.all(
    runs.map(async (run) => {
      run.publishedMs = Date.now();
      await publish(installation.deployment, requestOf(run));
    }),
  );
  print(`${runs.length} requests published in ${seconds(performance.now() - startMs)} s`);
  const results = await waitForResults(installation, runs);
  print(`${results.size} results after ${seconds(performance.now() - startMs)} s`);
  const wrong = runs.filter((run) => !isRight(run, results.get(run.runId)));
  for (const { runId } of wrong.slice(0, 10)) {
    print(`wrong: ${runId}: ${JSON.stringify(results.get(runId))?.slice(0, 300)}`);
  }
  print(`machines made: ${started}; results that are not right: ${wrong.length}`);
  printWaits(runs);
  printCalls(installation, runs);
  for (const [text, times] of failures) print(`logged ${times} times: ${text}`);
  if (wrong.length > 0 || started !== runs.length) process.exitCode = 1;
}

async function waitForResults(
  { cloud }: Installation,
  runs: readonly Run[],
): Promise<Map<string, RunResult>> {
  const objects = cloud.world.storage.buckets.get(LOCAL_BUCKET)?.objects ?? new Map();
  const results = new Map<string, RunResult>();
  const endMs = Date.now() + WAIT_MS_MAX;
  while (results.size < runs.length && Date.now() < endMs) {
    await systemClock.sleep(POLL_MS);
    for (const { runId } of runs) {
      const stored = results.has(runId) ? undefined : objects.get(resultObject(runId));
      if (stored !== undefined)
        results.set(runId, JSON.parse(new TextDecoder().decode(stored.bytes)));
    }
  }
  return results;
}

function isRight({ exitCode }: Run, result: RunResult | undefined): boolean {
  if (result === undefined || result.attempts.length !== 1) return false;
  const status = exitCode === 0 ? 'SUCCEEDED' : 'FAILED';
  return result.status === status && result.cause === 'exit' && result.exitCode === exitCode;
}

function printWaits(runs: readonly Run[]): void {
  const waits = runs
    .flatMap(({ insertedMs, publishedMs }) =>
      insertedMs === null ? [] : [insertedMs - publishedMs],
    )
    .sort((left, right) => left - right);
  const at = (part: number) =>
    waits[Math.min(waits.length - 1, Math.floor(waits.length * part))] ?? 0;
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => seconds(at(part)));
  print(`publish → insert: p50 ${p50} s, p95 ${p95} s, p99 ${p99} s`);
}

function printCalls({ cloud }: Installation, runs: readonly Run[]): void {
  print('calls a run:');
  for (const { by, counts, methods } of countCalls(cloud, isReal)) {
    const real = runs.filter((run) => run.real).length;
    const share = by === 'guest (real)' ? real : by === 'guest' ? runs.length - real : runs.length;
    const each = (map: ReadonlyMap<string, number>) =>
      [...map].map(([key, count]) => `${key} ${(count / share).toFixed(2)}`).join(', ');
    print(`  ${by.padEnd(13)} ${each(counts)}`);
    print(`  ${''.padEnd(13)}   ${each(methods)}`);
  }
}

/** Warnings and errors of the functions, told apart by their event alone. */
function noteFailure(failures: Map<string, number>, name: string, line: string): void {
  if (!/"severity":"(WARNING|ERROR|CRITICAL)"/.test(line)) return;
  const { event, code, message } = JSON.parse(line);
  const text = `${name} ${event} ${code ?? ''} ${failures.size < 10 ? message : ''}`.slice(0, 200);
  const key = [...failures.keys()].find((known) => known.startsWith(`${name} ${event} `)) ?? text;
  failures.set(key, (failures.get(key) ?? 0) + 1);
}

const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(2);

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
