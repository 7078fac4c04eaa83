// Executions that are asked for on behalf of an attempt, over the local cloud and the real client.
import { describe, expect, test } from 'vitest';
import { readExecutionFact } from '#shared/runs/jobs/executions.ts';
import { attempt, candidate, intent, record } from '#test/lifecycle/fixtures.ts';
import { Kernel } from '#test/simulation/kernel.ts';

const REGION = 'us-central1';
const JOB = 'mayfly-base-ml-s';
const NONCE = 'a'.repeat(32);
const DAY_MS = 24 * 3_600_000;
const PLACE = candidate({ region: REGION, zone: REGION, machineType: JOB });

/** Nobody takes its tasks up: they run until they are told to stop. */
function start(kernel: Kernel, nonce: string): string {
  const env = [{ name: 'MAYFLY_NONCE', value: nonce }];
  const params = { project: 'local-project', location: REGION, job: JOB };
  const body = { overrides: { containerOverrides: [{ env }], timeout: '604800s' } };
  const reply = kernel.call({ method: 'run.projects.locations.jobs.run', params, body });
  const { name = '' } = (reply.body?.metadata ?? {}) as { name?: string };
  return name.replace(/^.*\//, '');
}

const world = () =>
  new Kernel({
    guest: () => ({ bootMs: 40 * DAY_MS, workMs: 0, exitCode: 0, selfDeleteMs: null }),
  });

/** An attempt whose call had no answer. */
const unknown = () => {
  const intents = [
    intent({ candidate: PLACE, status: 'ordered', operation: null, instanceId: null }),
  ];
  const last = attempt({ nonce: NONCE, intents });
  return { record: record({ runtime: 'cloudrun-jobs', attempts: [last] }), attempt: last };
};

describe('without a name', () => {
  test('C70, C72: found by its nonce among all that the Job has, whatever their names', async () => {
    const kernel = world();
    for (let index = 0; index < 30; index++) start(kernel, String(index).padStart(32, '0'));
    const name = start(kernel, NONCE);
    for (let index = 30; index < 60; index++) start(kernel, String(index).padStart(32, '0'));
    const fact = await readExecutionFact(kernel.deps('sweep'), unknown(), REGION);
    expect(fact).toMatchObject({ kind: 'there', id: name, ours: true });
  });

  test('C73: of two with one nonce it is the older one', async () => {
    const kernel = world();
    const older = start(kernel, NONCE);
    await kernel.run(5_000);
    start(kernel, NONCE);
    const fact = await readExecutionFact(kernel.deps('sweep'), unknown(), REGION);
    expect(fact).toMatchObject({ id: older });
  });

  test.each([
    ['a second before the end of the time that is looked back', -1, 'there'],
    ['a second after it', 1, 'gone'],
  ])('C207: %s', async (_name, seconds, kind) => {
    const kernel = world();
    start(kernel, NONCE);
    await kernel.run(93_600_000 + seconds * 1000, { sweeps: false });
    const fact = await readExecutionFact(kernel.deps('sweep'), unknown(), REGION);
    expect(fact.kind).toBe(kind);
  });

  test('P110: a list that cannot be had is no evidence', async () => {
    const kernel = world();
    start(kernel, NONCE);
    const match = { method: 'run.projects.locations.jobs.executions.list' };
    kernel.world.faults.plant({ match, times: 100, effect: 'before', kind: 'status', status: 403 });
    const fact = await readExecutionFact(kernel.deps('sweep'), unknown(), REGION);
    expect(fact.kind).toBe('unknown');
  });
});

describe('by its name', () => {
  const known = (instanceId: string) => {
    const last = attempt({ nonce: NONCE, intents: [intent({ candidate: PLACE, instanceId })] });
    return { record: record({ runtime: 'cloudrun-jobs', attempts: [last] }), attempt: last };
  };
  const GET = { method: 'run.projects.locations.jobs.executions.get' };

  test('P110: a time-out, a 500, then running: unknown twice, never gone', async () => {
    const kernel = world();
    const name = start(kernel, NONCE);
    const fault = { match: GET, times: 100, effect: 'before' } as const;
    const read = () => readExecutionFact(kernel.deps('sweep'), known(name), REGION);
    const seen: string[] = [];
    for (const kind of ['hang', 'status'] as const) {
      kernel.world.faults.plant({ ...fault, kind, status: 500 });
      const reading = read();
      await kernel.run(120_000, { sweeps: false });
      seen.push((await reading).kind);
      kernel.world.faults.clear();
    }
    seen.push((await read()).kind);
    expect(seen).toEqual(['unknown', 'unknown', 'there']);
    const cancels = kernel.calls.filter(({ method }) => /cancel|jobs\.run$/.test(method));
    expect(cancels).toEqual([]);
  });

  test('one that is not there is gone', async () => {
    const fact = await readExecutionFact(world().deps('sweep'), known(`${JOB}-zzzzz`), REGION);
    expect(fact.kind).toBe('gone');
  });
});
