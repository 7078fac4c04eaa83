// A clock that waits for nothing and remembers how long it was asked to wait.
import type { Clock, Entropy } from '#shared/cloud/clock.ts';

export function instantTiming(): { clock: Clock; entropy: Entropy; waits: number[] } {
  const waits: number[] = [];
  let now = Date.parse('2026-12-01T00:00:00Z');
  return {
    waits,
    clock: {
      nowMs: () => now,
      async sleep(milliseconds) {
        waits.push(milliseconds);
        now += milliseconds;
      },
    },
    entropy: { nonce: () => '0'.repeat(32), fraction: () => 0.5 },
  };
}
