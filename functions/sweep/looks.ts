// Looks at a bounded rate: after an outage ten thousand runs may be due at once, and submit creates
// machines no faster than the platform takes them. What one pass does not publish the next one does.
import type { Clock } from '#shared/cloud/clock.ts';
import type { Publisher } from '#shared/cloud/pubsub.ts';

/** Below the 25 creations a second that a project may ask for. */
export const LOOKS_PER_SECOND = 20;

export interface LookCounts {
  published: number;
  /** Due, and left to the next pass. */
  left: number;
}

/** At most half a period is spent on waiting, so that passes keep to their schedule. */
export const looksPerPass = (periodSeconds: number) => (LOOKS_PER_SECOND * periodSeconds) / 2;

export function pacedPublisher(
  publisher: Publisher,
  clock: Clock,
  counts: LookCounts,
  looksMax: number,
): Publisher {
  let nextMs = clock.nowMs() - 1000;
  return {
    async publish(topic, data, attributes) {
      if (counts.published >= looksMax) {
        counts.left += 1;
        return 'left';
      }
      counts.published += 1;
      const nowMs = clock.nowMs();
      // What was not used up to a second ago may be used at once.
      const atMs = Math.max(nextMs, nowMs - 1000);
      nextMs = atMs + 1000 / LOOKS_PER_SECOND;
      if (atMs > nowMs) await clock.sleep(atMs - nowMs);
      return await publisher.publish(topic, data, attributes);
    },
  };
}
