// What a pass brings along besides the record: who is looking, the time, and fresh values, so that
// deciding itself stays a pure function.
import type { RunPlan } from '#shared/plan/model.ts';

export interface Context {
  readonly nowMs: number;
  readonly deployment: string;
  /** `marker`: only what the marker says counts now (finalize); `full`: everything is looked at. */
  readonly depth: 'marker' | 'full';
  /** A number in [0, 1) for jitter. */
  readonly fraction: number;
  /** The only creator of machines; null everywhere but in submit. */
  readonly creator: Creator | null;
}

export interface Creator {
  readonly plan: RunPlan;
  /** A fresh nonce for a further attempt. */
  readonly nonce: string;
  /** The intent that this very delivery wrote and has not called yet (`1/2`), or null. */
  readonly ownIntent: string | null;
  /** For a further attempt on a runtime whose tasks sign their events; 64 hex digits. */
  readonly eventKey: string;
  /** After so many answers in a row that calls come too fast, the run waits outside. */
  readonly throttlesMax: number;
  /** When this delivery stops starting new work. */
  readonly untilMs: number;
}
