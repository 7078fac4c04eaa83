import { describe, expect, test } from 'vitest';
import {
  FINAL_STATES,
  isForward,
  LIVE_STATES,
  type RunState,
  TRANSITIONS,
} from '#shared/lifecycle/transitions.ts';
import { attempt, intent, record } from '#test/lifecycle/fixtures.ts';

const STATES: RunState[] = [...LIVE_STATES, ...FINAL_STATES];

const ENDS = 'SUCCEEDED FAILED TIMED_OUT PREEMPTED CANCELLED LOST NO_CAPACITY';

/** Written by hand from the life of a run in the design, not from the code. */
const MAY_FOLLOW: Record<string, string> = {
  ACCEPTED: 'PLACING FAILED CANCELLED',
  PLACING: 'WAITING PROVISIONING STOPPING SUCCEEDED FAILED TIMED_OUT LOST NO_CAPACITY',
  WAITING: `PLACING PROVISIONING STOPPING ${ENDS}`,
  PROVISIONING: `PLACING WAITING RUNNING STOPPING ${ENDS}`,
  RUNNING: 'WAITING STOPPING SUCCEEDED FAILED TIMED_OUT PREEMPTED CANCELLED LOST',
  STOPPING: 'WAITING SUCCEEDED FAILED TIMED_OUT PREEMPTED CANCELLED LOST',
};

describe('states of a run', () => {
  test.each(STATES)('A14: from %s only the listed states follow', (from) => {
    const listed = (MAY_FOLLOW[from] ?? '').split(' ');
    for (const to of STATES) {
      expect(TRANSITIONS[from].includes(to), `${from} -> ${to}`).toBe(listed.includes(to));
    }
  });

  test('a final record is never replaced', () => {
    const ended = record({ state: 'SUCCEEDED' });
    expect(isForward(ended, { ...ended, state: 'FAILED' })).toBe(false);
    expect(isForward(ended, { ...ended, placesCount: 1 })).toBe(false);
  });

  test('an attempt that ended or was claimed is never taken back', () => {
    const claimed = record({ attempts: [attempt({ claim: { by: 'control' } })] });
    expect(isForward(claimed, record())).toBe(false);
    const end = {
      status: 'LOST',
      cause: 'machine-lost',
      step: null,
      exitCode: null,
      detail: '',
      atMs: 0,
    } as const;
    const over = record({ attempts: [attempt({ end })] });
    expect(isForward(over, record())).toBe(false);
  });

  test('intents count up, attempts come one by one', () => {
    const second = record({
      state: 'PLACING',
      attempts: [attempt({ intents: [intent({ number: 2 })], intentCount: 2 })],
    });
    expect(isForward(record({ state: 'PLACING' }), second)).toBe(true);
    expect(isForward(second, record({ state: 'PLACING' }))).toBe(false);
    const third = record({ attempts: [attempt(), attempt({ number: 2 }), attempt({ number: 3 })] });
    expect(isForward(record(), third)).toBe(false);
  });

  test('a running attempt does not go back to provisioning', () => {
    expect(isForward(record({ state: 'RUNNING' }), record({ state: 'PROVISIONING' }))).toBe(false);
    expect(isForward(record({ state: 'STOPPING' }), record({ state: 'RUNNING' }))).toBe(false);
  });
});
