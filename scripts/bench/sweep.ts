// `npm run bench -- sweep [machines]`: one pass over that many healthy machines, 100,000 unless given,
// over the local cloud's HTTP server in a process of its own: list calls, time beside a bare listing of
// the same pages, and the memory of the sweeping process.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { SweepReport } from '#functions/sweep/report.ts';
import { median } from '#scripts/bench/measure.ts';
import type { PassFigures } from '#scripts/bench/sweep-pass.ts';

const ROUNDS = 3;
const RATIO_AIM = 1.5;
const MEMORY_MAX_MIB = 200;
/** What V8 gives itself in a container of 256 MiB, on a machine of any size: half of it. */
const FLAGS = ['--max-old-space-size=128'];

const METHODS = [
  'compute.instances.aggregatedList',
  'compute.disks.aggregatedList',
  'storage.objects.list',
  'storage.objects.get',
  'compute.instances.get',
  'compute.instances.delete',
  'pubsub.topics.publish',
] as const;

export interface SweepFigures extends PassFigures {
  readonly outcome: SweepReport;
  /** Calls of this pass by method. */
  readonly calls: Readonly<Record<(typeof METHODS)[number], number>>;
}

/** A local cloud with so many machines; `sweep` and `list` go through it in a fresh process each. */
export class SweepWorld implements AsyncDisposable {
  readonly #cloud: ChildProcess;
  readonly #baseUrl: string;
  readonly #metadataHost: string;

  private constructor(cloud: ChildProcess, baseUrl: string, metadataHost: string) {
    this.#cloud = cloud;
    this.#baseUrl = baseUrl;
    this.#metadataHost = metadataHost;
  }

  static async open(machines: number): Promise<SweepWorld> {
    const file = new URL('./sweep-cloud.ts', import.meta.url);
    const cloud = fork(file, [String(machines)], { execArgv: ['--max-old-space-size=8192'] });
    const { baseUrl, metadataHost } = await answer(cloud);
    return new SweepWorld(cloud, baseUrl, metadataHost);
  }

  async list(): Promise<PassFigures> {
    return await this.#pass('list');
  }

  async sweep(): Promise<SweepFigures> {
    const before = await this.#count();
    const figures = await this.#pass('sweep');
    const after = await this.#count();
    const counts = METHODS.map((method, index) => [
      method,
      (after[index] ?? 0) - (before[index] ?? 0),
    ]);
    return { ...figures, calls: Object.fromEntries(counts) } as SweepFigures;
  }

  async #pass(what: 'list' | 'sweep'): Promise<PassFigures> {
    const env = {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      GCE_METADATA_HOST: this.#metadataHost,
      CLOUDSDK_CONFIG: '/nonexistent',
      METADATA_SERVER_DETECTION: 'assume-present',
    };
    const child = fork(await bundlePass(), [what, this.#baseUrl], { env, execArgv: FLAGS });
    const ended = once(child, 'exit');
    const figures = await answer(child);
    await ended;
    return figures;
  }

  async #count(): Promise<readonly number[]> {
    const counts: number[] = [];
    for (const method of METHODS) {
      this.#cloud.send(method);
      counts.push((await answer(this.#cloud)).count);
    }
    return counts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#cloud, 'exit');
    this.#cloud.disconnect();
    await ended;
  }
}

/** One file of JavaScript, as functions are deployed: what strips the types takes memory of its own. */
async function bundlePass(): Promise<string> {
  const outfile = fileURLToPath(new URL('../../.local/bench/sweep-pass.mjs', import.meta.url));
  await build({
    entryPoints: [fileURLToPath(new URL('./sweep-pass.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  });
  return outfile;
}

/** The next message of a child. */
// biome-ignore lint/suspicious/noExplicitAny: each child's messages have a shape of their own.
async function answer(child: ChildProcess): Promise<any> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const ended = (code: number | null) => reject(new Error(`ended with code ${code}`));
  child.once('message', resolve).once('exit', ended);
  try {
    return await promise;
  } finally {
    child.off('exit', ended);
  }
}

export async function benchSweep([machines = '100000']: readonly string[]): Promise<void> {
  const count = Number(machines);
  print(`making ${count} machines …`);
  await using world = await SweepWorld.open(count);
  const lists: number[] = [];
  const sweeps: SweepFigures[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    lists.push((await world.list()).milliseconds);
    sweeps.push(await world.sweep());
  }
  const [first] = sweeps;
  if (first === undefined) throw new Error('nothing was measured');
  const { machines: seen, runs, disks } = first.outcome;
  print(`seen: ${JSON.stringify({ machines: seen, runs, disks })}`);
  for (const [method, calls] of Object.entries(first.calls)) print(`${method.padEnd(34)} ${calls}`);
  print(`pages of 500 machines: ${Math.ceil(count / 500)}`);
  const times = sweeps.map(({ milliseconds }) => milliseconds);
  print(line('bare listing of the same pages', lists));
  print(line('sweep', times));
  const ratio = median(times.map((value, round) => value / (lists[round] ?? 0)));
  print(`ratio: ${ratio.toFixed(2)} (aim: ${RATIO_AIM})`);
  const peak = Math.max(...sweeps.map(({ peakMebibytes }) => peakMebibytes));
  print(`peak memory of the sweeping process: ${peak.toFixed(0)} MiB (at most ${MEMORY_MAX_MIB})`);
}

function line(name: string, values: readonly number[]): string {
  const shown = [Math.min(...values), median(values), Math.max(...values)];
  const text = shown.map((value) => (value / 1000).toFixed(2)).join(' / ');
  return `${name.padEnd(34)} ${text} s (min / median / max of ${ROUNDS} rounds)`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
