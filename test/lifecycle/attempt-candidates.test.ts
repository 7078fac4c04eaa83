// Where a further attempt may go: larger machines after one ran out of memory, and what a budget leaves.
import { describe, expect, test } from 'vitest';
import { attemptCandidates, spentUsd } from '#shared/lifecycle/attempt-candidates.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import type { Candidate } from '#shared/plan/model.ts';
import { attempt, candidate, creator, intent, NOW_MS, record } from '#test/lifecycle/fixtures.ts';

// Memory by Google's machine family pages: 4, 16, 32 and 64 GiB.
const SIZES = ['e2-medium', 'e2-standard-4', 'e2-standard-8', 'e2-highmem-8'] as const;
const at = (machineType: string, usdPerHour: number | null = 0.36) =>
  candidate({ machineType, usdPerHour });

/** An attempt on this machine that ended an hour (59 minutes and one of delete) after its start. */
const ended = (where: Candidate, cause: string): Attempt =>
  attempt({
    intents: [intent({ candidate: where })],
    end: {
      status: 'FAILED',
      cause,
      step: null,
      exitCode: null,
      detail: '',
      atMs: NOW_MS + 3_540_000,
    } as never,
  });

const among = (
  candidates: readonly Candidate[],
  before: readonly Attempt[],
  budgetUsd?: number,
) => {
  const terms = { ...record().terms, budgetUsd: budgetUsd ?? null };
  const run: RunRecord = record({ attempts: [...before, attempt({ intents: [] })], terms });
  const found = attemptCandidates(run, creator({ candidates }).plan);
  return found.map(({ machineType }) => machineType);
};

describe('after an attempt ran out of memory', () => {
  const all = SIZES.map((machineType) => at(machineType));

  test('only those with more memory are left, in the plan’s order', () => {
    expect(among(all, [ended(at('e2-standard-4'), 'out-of-memory')])).toEqual([
      'e2-standard-8',
      'e2-highmem-8',
    ]);
  });

  test('the largest that was too small counts, whatever came between', () => {
    const before = [
      ended(at('e2-standard-8'), 'out-of-memory'),
      ended(at('e2-medium'), 'out-of-memory'),
      ended(at('e2-standard-4'), 'preempted'),
    ];
    expect(among(all, before)).toEqual(['e2-highmem-8']);
  });

  test('none is larger: those as large; none as large: all', () => {
    expect(among(all, [ended(at('e2-highmem-8'), 'out-of-memory')])).toEqual(['e2-highmem-8']);
    const smaller = all.slice(0, 2);
    expect(among(smaller, [ended(at('e2-highmem-8'), 'out-of-memory')])).toEqual([
      'e2-medium',
      'e2-standard-4',
    ]);
  });

  test('a machine of no table says nothing about size', () => {
    expect(among(all, [ended(at('x9-standard-4'), 'out-of-memory')])).toEqual([...SIZES]);
  });

  test('the attempt that is being placed does not judge itself, another cause rules out nothing', () => {
    expect(among(all, [ended(at('e2-standard-8'), 'step-failed')])).toEqual([...SIZES]);
    const now = ended(at('e2-standard-8'), 'out-of-memory');
    const run = record({ attempts: [now] });
    expect(attemptCandidates(run, creator({ candidates: all }).plan)).toHaveLength(4);
  });
});

describe('under a budget', () => {
  // TTL is two hours: worst cases of 0.72 and 1.80 USD. One hour of e2-standard-4 cost 0.36.
  const two = [at('e2-standard-4', 0.36), at('e2-highmem-8', 0.9)];
  const first = ended(at('e2-standard-4', 0.36), 'preempted');

  test('what was spent is the sum over the attempts before', () => {
    const run = (attempts: readonly Attempt[]) => record({ attempts: [...attempts, attempt()] });
    expect(spentUsd(run([]))).toBe(0);
    expect(spentUsd(run([first]))).toBeCloseTo(0.36, 4);
    expect(spentUsd(run([first, first]))).toBeCloseTo(0.72, 4);
    expect(spentUsd(run([first, ended(at('x9-standard-4', null), 'preempted')]))).toBeNull();
  });

  test('a creation whose outcome was never learnt is counted for all of its time', () => {
    const open = intent({ candidate: candidate({ usdPerHour: 3.6 }), status: 'abandoned' });
    const lost = { ...ended(open.candidate, 'machine-lost'), intents: [open] };
    const seconds = open.deadlineSeconds - open.createdSeconds;
    expect(seconds).toBeGreaterThan(600);
    const run = record({ attempts: [lost, attempt()] });
    expect(spentUsd(run)).toBeCloseTo(seconds / 1000, 4);
  });

  test('candidates whose worst case still fits are left, to the cent', () => {
    expect(among(two, [first], 1.08)).toEqual(['e2-standard-4']);
    expect(among(two, [first], 1.07)).toEqual([]);
    expect(among(two, [first, first], 1.44)).toEqual(['e2-standard-4']);
    expect(among(two, [first], 2.16)).toEqual(['e2-standard-4', 'e2-highmem-8']);
  });

  test('what has no known price does not fit, and what was spent without one leaves nothing', () => {
    expect(among([at('x9-standard-4', null), ...two], [first], 10)).toEqual([
      'e2-standard-4',
      'e2-highmem-8',
    ]);
    expect(among(two, [ended(at('x9-standard-4', null), 'preempted')], 10)).toEqual([]);
  });

  test('the first attempt is the plan’s affair, and without a budget nothing is left out', () => {
    expect(among(two, [], 0.01)).toEqual(['e2-standard-4', 'e2-highmem-8']);
    expect(among([at('x9-standard-4', null)], [first])).toEqual(['x9-standard-4']);
  });
});
