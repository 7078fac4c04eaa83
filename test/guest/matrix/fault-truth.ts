// The faults of the fault matrix, and the truth of a cell: derived from what the call is for and from what
// the fault means, not from what the scripts do.
import type { Fault } from '#test/guest/fake-google.ts';
import type { OutgoingCall } from '#test/guest/matrix/fault-calls.ts';

export const TRIES = 3;
/** More often than any step repeats a call, and less often than what is asked until the end. */
const LONG_TIMES = 12;

export interface FaultKind {
  readonly name: string;
  readonly kind: Fault['kind'];
  readonly times: number;
  /** `passes`: the next try is answered; `lasts`: not the next few ones; `final`: the same would come again. */
  readonly means: 'passes' | 'lasts' | 'final' | 'garbage';
}

export const FAULTS: readonly FaultKind[] = [
  { name: '503 once', kind: 503, times: 1, means: 'passes' },
  { name: '503 for long', kind: 503, times: LONG_TIMES, means: 'lasts' },
  { name: 'hang', kind: 'hang', times: 1, means: 'passes' },
  { name: 'reset', kind: 'cut', times: 1, means: 'passes' },
  // Found out by the next try, or of no harm twice.
  { name: 'lost reply', kind: 'lose-reply', times: 1, means: 'passes' },
  { name: '401', kind: 401, times: 1, means: 'passes' },
  { name: '404', kind: 404, times: 1, means: 'final' },
  { name: 'garbage', kind: 200, times: 1, means: 'garbage' },
];

/** How the run ends; `silent`: no claim is known to be held, so no work and no marker. */
export type Ending = 'succeeded' | 'silent' | `failed in ${string}`;

export function truthOf(call: OutgoingCall, fault: FaultKind): Ending {
  return isRepaired(call, fault) ? 'succeeded' : without(call);
}

function isRepaired(call: OutgoingCall, fault: FaultKind): boolean {
  if (call.needed === 'courtesy') return true;
  switch (fault.means) {
    case 'passes':
      return true;
    case 'lasts':
      return call.needed !== 'work' && call.fewTimes !== true;
    case 'final':
      return call.noIsNotFinal === true;
    case 'garbage':
      return call.garbageIsFinal !== true;
  }
}

function without(call: OutgoingCall): Ending {
  return call.needed === 'fence' ? 'silent' : `failed in ${call.step}`;
}
