// `npm run bench -- price [runs]`: what the control plane costs, from counted operations of that many runs
// (100 unless given) on the virtual clock × list prices: 1,000 runs, and a month at rest, beside the month
// of a controller that is always on.
import {
  ASSUMPTIONS,
  CONTROLLERS,
  HOURS_A_MONTH,
  LIST_PRICES,
  PUBSUB_BYTES_MIN,
  SOURCES,
} from '#scripts/bench/price-list.ts';
import { createLog } from '#shared/cloud/log.ts';
import type { LogEvent } from '#shared/cloud/log-events.ts';
import { Kernel, SWEEP_PERIOD_MS } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const WATCHED_MS = 30 * 60_000;
const MONTH_MS = HOURS_A_MONTH * 3_600_000;

/** Operations that are billed; `passes` of the sweep and `pushes` are invocations. */
export interface Operations {
  readonly classA: number;
  readonly classB: number;
  readonly pubsubBytes: number;
  readonly pushes: number;
  readonly passes: number;
  readonly logBytes: number;
}

/** Everything that happens in half an hour in which so many runs are asked for. */
export async function countOperations(runs: number): Promise<Operations> {
  const kernel = new Kernel();
  for (let index = 0; index < runs; index++) {
    kernel.request({ ...REQUEST, runId: `run-${index}` });
  }
  await kernel.run(WATCHED_MS);
  for (let index = 0; index < runs; index++) {
    if (kernel.result(`run-${index}`) === null) throw new Error(`run-${index} has not ended`);
  }
  const pushes = kernel.pushes.length;
  const notified = kernel.pushes.filter((push) => NOTIFIED.includes(push.function)).length;
  return {
    classA: countStorage(kernel, CLASS_A),
    classB: countStorage(kernel, CLASS_B) + notified,
    // Each message is published and pushed; an event is published, and its delivery the subscriber's.
    pubsubBytes: (2 * pushes + kernel.events().length) * PUBSUB_BYTES_MIN,
    pushes,
    passes: Math.floor(WATCHED_MS / SWEEP_PERIOD_MS),
    logBytes: logBytes(kernel),
  };
}

/** Woken by the bucket's notifications. */
const NOTIFIED: readonly string[] = ['finalize', 'notify'];
const CLASS_A = /^storage\.objects\.(insert|list|patch|update|rewrite|compose)$/;
const CLASS_B = /^storage\.objects\.get$/;

/** The owner's own calls, which set the deployment up and look at it, have no principal. */
function countStorage(kernel: Kernel, methods: RegExp): number {
  let total = 0;
  for (const { method, principal, count } of kernel.world.calls.totals()) {
    if (principal !== '' && methods.test(method)) total += count;
  }
  return total;
}

function logBytes(kernel: Kernel): number {
  let bytes = 0;
  const log = createLog((line) => {
    bytes += Buffer.byteLength(line);
  });
  for (const { event, message, fields } of kernel.logs) {
    log('INFO', event as LogEvent, message, { ...fields });
  }
  return bytes;
}

/** US dollars, by what they are for. */
export function priceOf(operations: Operations): Readonly<Record<string, number>> {
  const { pushes, passes } = operations;
  const seconds = pushes * ASSUMPTIONS.pushSeconds + passes * ASSUMPTIONS.sweepSeconds;
  const second =
    ASSUMPTIONS.vcpus * LIST_PRICES.vcpuSecond + ASSUMPTIONS.gib * LIST_PRICES.gibSecond;
  return {
    'storage class A': operations.classA * LIST_PRICES.storageClassA,
    'storage class B': operations.classB * LIST_PRICES.storageClassB,
    'Pub/Sub': operations.pubsubBytes * LIST_PRICES.pubsubByte,
    functions: seconds * second + (pushes + passes) * LIST_PRICES.invocation,
    logging: operations.logBytes * LIST_PRICES.loggingByte,
  };
}

/** So many times what `busy` did beyond `rest`. */
export function beyond(busy: Operations, rest: Operations, times: number): Operations {
  const names = Object.keys(busy) as (keyof Operations)[];
  const entries = names.map((name) => [name, Math.max(0, busy[name] - rest[name]) * times]);
  return Object.fromEntries(entries) as unknown as Operations;
}

const NOTHING: Operations = {
  ...{ classA: 0, classB: 0, pubsubBytes: 0, pushes: 0, passes: 0, logBytes: 0 },
};

export async function benchPrice([runs = '100']: readonly string[]): Promise<void> {
  const count = Number(runs);
  const rest = await countOperations(0);
  const thousand = beyond(await countOperations(count), rest, 1_000 / count);
  const month = beyond(rest, NOTHING, MONTH_MS / WATCHED_MS);
  const { vcpus, gib, pushSeconds, sweepSeconds } = ASSUMPTIONS;
  print(`assumed: functions of ${vcpus} vCPU and ${gib} GiB, billed by request, one at a time;`);
  print(
    `${pushSeconds} s a push, ${sweepSeconds} s a pass; a sweep every ${SWEEP_PERIOD_MS / 1000} s; no free tiers`,
  );
  print('not counted: stored bytes, network, the machines themselves');
  for (const line of sourceLines()) print(line);
  print('');
  table(`1,000 runs (counted: ${count})`, thousand, {});
  const scheduler = { 'Cloud Scheduler': LIST_PRICES.schedulerJobMonth };
  table('a month at rest', month, scheduler);
  for (const [type, usdPerHour] of Object.entries(CONTROLLERS)) {
    const usd = usdPerHour * HOURS_A_MONTH;
    print(
      `${`a month of one ${type}, always on, without its disk`.padEnd(52)} ${usd.toFixed(2).padStart(9)} USD`,
    );
  }
}

/** One line a page: which prices are from there, and whether the day is known. */
export function sourceLines(): readonly string[] {
  const lines = Map.groupBy(Object.entries(SOURCES), ([, { page, read }]) => {
    const when = read === null ? 'day of reading not known, to be checked' : `read on ${read}`;
    return `${page}, ${when}`;
  });
  return [...lines].map(([source, entries]) => {
    return `price of ${entries.map(([name]) => name).join(', ')}: ${source}`;
  });
}

function table(
  title: string,
  operations: Operations,
  more: Readonly<Record<string, number>>,
): void {
  const prices = { ...priceOf(operations), ...more };
  const counts = Object.entries(operations).map(([name, value]) => `${name} ${Math.round(value)}`);
  print(`${title}: ${counts.join(', ')}`);
  let total = 0;
  for (const [name, usd] of Object.entries(prices)) {
    total += usd;
    print(`  ${name.padEnd(50)} ${usd.toFixed(4).padStart(9)} USD`);
  }
  print(`  ${'together'.padEnd(50)} ${total.toFixed(4).padStart(9)} USD\n`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
