// Each function is killed at each of its calls, before the call is made and after it took effect, and
// what was being delivered is delivered again by the broker. However it dies: one result, one working
// machine, nothing left.
import { describe, expect, test } from 'vitest';
import { type FunctionName, Kernel, type Kill } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const HOUR_MS = 3_600_000;
const FUNCTIONS: readonly FunctionName[] = ['submit', 'finalize', 'signals', 'notify', 'sweep'];

/** In the first world nothing goes wrong; in the second the machine's report is lost. */
const JOB = {
  runtime: 'cloudrun-jobs',
  resources: { class: 'S', base: 'base-ml' },
  command: ['python', 'fit.py'],
  ttlSeconds: 3600,
  // Its deadline allows for this wait.
  waitForCapacitySeconds: 0,
};

const WORLDS = [
  { name: 'a good run', request: REQUEST, workMs: 30_000, exitCode: 0, status: 'SUCCEEDED' },
  { name: 'a run that fails', request: REQUEST, workMs: 1_000, exitCode: 7, status: 'FAILED' },
  {
    name: 'C71, C95, C96: a good run on Cloud Run Jobs',
    request: JOB,
    workMs: 30_000,
    exitCode: 0,
    status: 'SUCCEEDED',
  },
] as const;

async function live(world: (typeof WORLDS)[number], kill?: Kill): Promise<Kernel> {
  const guest = () => ({
    bootMs: 10_000,
    workMs: world.workMs,
    exitCode: world.exitCode,
    selfDeleteMs: 20_000,
  });
  const kernel = new Kernel({ guest, ...(kill === undefined ? {} : { kill }) });
  kernel.request({ ...world.request, runId: 'r1' });
  // An intent that may have been called twice is open until its deadline.
  await kernel.run(2 * HOUR_MS);
  return kernel;
}

function verify(kernel: Kernel, status: string): void {
  expect(kernel.result('r1')).toMatchObject({ runId: 'r1', status });
  expect(kernel.result('r1')?.attempts).toHaveLength(1);
  expect(kernel.works).toHaveLength(1);
  expect(kernel.machines()).toEqual([]);
  expect(kernel.disks()).toEqual([]);
  const executions = [...kernel.world.run.executions.values()];
  expect(executions.filter(({ completedMs }) => completedMs === null)).toEqual([]);
  expect(kernel.objects('runs/active/')).toEqual([]);
  expect(new Set(kernel.events().map((event) => event['ce-id']))).toEqual(new Set(['r1/ended']));
}

describe.each(WORLDS)('$name', (world) => {
  test.each(FUNCTIONS)('%s is killed before and after each of its calls', async (name) => {
    const calm = await live(world);
    verify(calm, world.status);
    const count = calm.calls.filter((call) => call.function === name).length;
    expect(count).toBeGreaterThan(name === 'notify' ? 1 : 3);
    // Passes of an idle sweep are all alike: the first dozens of calls cover every kind.
    for (let at = 0; at < Math.min(count, 40); at++) {
      for (const when of ['before', 'after'] as const) {
        const kernel = await live(world, { function: name, at, when });
        const call = kernel.calls.filter((one) => one.function === name)[at];
        const where = `${name} killed ${when} call ${at}: ${call?.method} ${call?.name}`;
        expect(() => verify(kernel, world.status), where).not.toThrow();
      }
    }
  });
});
