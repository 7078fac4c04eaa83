import { describe, expect, test } from 'vitest';
import {
  judgeMachine,
  type Owner,
  readLabels,
  type SweptMachine,
} from '#shared/lifecycle/sweep.ts';
import { attempt, INSTANCE, NOW_MS, record } from '#test/lifecycle/fixtures.ts';

const ZONE = 'us-central1-a';
const LABELS = {
  'managed-by': 'mayfly',
  deployment: 'mayfly',
  attempt: '1',
  deadline: String(NOW_MS / 1000 + 3600),
};
const STRAY_AFTER_MS = 240_000;

interface Listed extends SweptMachine {
  readonly labels: Readonly<Record<string, string>>;
}

/** As a list shows it: what its labels say is read from them. */
const machine = ({ labels = LABELS, ...change }: Partial<Listed> = {}): SweptMachine => ({
  name: INSTANCE,
  id: '111',
  zone: ZONE,
  status: 'RUNNING',
  ...readLabels(labels, 'mayfly'),
  createdMs: NOW_MS - 3_600_000,
  ...change,
});
const live: Owner = { kind: 'record', record: record({ state: 'RUNNING' }) };
const judge = (one: SweptMachine, owner: Owner) => judgeMachine(one, owner, STRAY_AFTER_MS, NOW_MS);
const failedAt = (atMs: number) =>
  ({ status: 'FAILED', cause: 'exit', step: 'run', exitCode: 1, detail: '', atMs }) as const;
const withLabels = (change: Record<string, string>) => ({ labels: { ...LABELS, ...change } });

describe('what happens to a machine with our label', () => {
  test('a live attempt’s machine is kept', () => {
    expect(judge(machine(), live)).toEqual({ kind: 'kept', why: 'live' });
  });

  test('P73: another deployment’s machine is foreign, however late it is', () => {
    const other = machine(withLabels({ deployment: 'b', deadline: '1000' }));
    expect(judge(other, { kind: 'none' })).toEqual({ kind: 'foreign' });
    expect(judge(machine({ labels: {} }), { kind: 'none' })).toEqual({ kind: 'foreign' });
    const unmanaged = machine(withLabels({ 'managed-by': 'somebody' }));
    expect(judge(unmanaged, { kind: 'none' })).toEqual({ kind: 'foreign' });
  });

  test('P73: a deadline label that is missing or no number is not "older than everything"', () => {
    for (const deadline of ['', 'soon', '-5', '1e3']) {
      expect(judge(machine(withLabels({ deadline })), live), deadline).toMatchObject({
        kind: 'kept',
      });
    }
    const young = machine({ ...withLabels({ deadline: 'soon' }), createdMs: NOW_MS - 1000 });
    expect(judge(young, { kind: 'none' })).toEqual({ kind: 'kept', why: 'young' });
    const ageless = machine({ ...withLabels({ deadline: '', created: '' }), createdMs: null });
    expect(judge(ageless, { kind: 'none' })).toMatchObject({ kind: 'unknown' });
  });

  test('past its deadline and five minutes of slack it goes, whatever its record says', () => {
    const deadline = (ago: number) => withLabels({ deadline: String(NOW_MS / 1000 - ago) });
    expect(judge(machine(deadline(301)), live)).toEqual({
      kind: 'doomed',
      why: 'past-deadline',
      sinceMs: NOW_MS - 1000,
    });
    expect(judge(machine(deadline(299)), live)).toMatchObject({ kind: 'kept' });
    expect(judge(machine(deadline(301)), { kind: 'unknown' })).toMatchObject({ kind: 'doomed' });
  });

  test('a failed machine that is kept for a look goes when its time is over, or when it is stopped', () => {
    const end = failedAt(NOW_MS - 1000);
    const kept = (untilMs: number): Owner => {
      const holder = { by: 'machine', instanceId: '111', zone: ZONE, bootId: '' } as const;
      const last = attempt({ end, claim: holder, kept: { zone: ZONE, untilMs } });
      return { kind: 'record', record: record({ state: 'FAILED', end, attempts: [last] }) };
    };
    const doomed = { kind: 'doomed', why: 'attempt-ended' };
    const now = { ...doomed, sinceMs: NOW_MS };
    expect(judge(machine(), kept(NOW_MS + 1))).toEqual({ kind: 'kept', why: 'failed' });
    expect(judge(machine(), kept(NOW_MS))).toEqual(now);
    expect(judge(machine({ status: 'TERMINATED' }), kept(NOW_MS + 1))).toMatchObject(doomed);
    expect(judge(machine({ id: '999' }), kept(NOW_MS + 1))).toMatchObject(doomed);
    expect(judge(machine({ zone: 'us-central1-b' }), kept(NOW_MS + 1))).toMatchObject(doomed);
  });

  test('a record that cannot be read dooms nothing', () => {
    expect(judge(machine(), { kind: 'unknown' })).toMatchObject({ kind: 'unknown' });
  });

  test('without a record it is a stray only after two periods', () => {
    const aged = (ms: number) => judge(machine({ createdMs: NOW_MS - ms }), { kind: 'none' });
    expect(aged(STRAY_AFTER_MS + 1)).toEqual({ kind: 'stray', sinceMs: NOW_MS - 1 });
    expect(aged(STRAY_AFTER_MS)).toEqual({ kind: 'kept', why: 'young' });
  });

  test('an attempt that ended, or whose stop is ordered, leaves nothing', () => {
    const end = failedAt(NOW_MS);
    const over = record({ attempts: [attempt({ end })] });
    const judged = judge(machine(), { kind: 'record', record: over });
    expect(judged).toEqual({ kind: 'doomed', why: 'attempt-ended', sinceMs: NOW_MS });
    const order = { reason: 'cancelled', cause: 'cancelled', detail: '', atMs: NOW_MS } as const;
    const stopping = record({ attempts: [attempt({ order })] });
    expect(judge(machine(), { kind: 'record', record: stopping })).toEqual({
      kind: 'doomed',
      why: 'stop-ordered',
      sinceMs: NOW_MS,
    });
  });

  test('P83: of two machines of one attempt the one without the claim goes', () => {
    const claim = { by: 'machine', instanceId: '111', zone: 'us-central1-a', bootId: 'b' } as const;
    const owner: Owner = { kind: 'record', record: record({ attempts: [attempt({ claim })] }) };
    expect(judge(machine({ id: '111' }), owner)).toMatchObject({ kind: 'kept' });
    expect(judge(machine({ id: '222' }), owner)).toEqual({
      kind: 'doomed',
      why: 'not-the-holder',
      sinceMs: null,
    });
  });

  test('a machine whose name no attempt of its run has is reported, not deleted', () => {
    expect(judge(machine({ name: 'mayfly-run-1-0123456789ab-7' }), live)).toMatchObject({
      kind: 'unknown',
    });
  });
});
