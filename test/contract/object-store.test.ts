import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { createWorld } from '#scripts/local-cloud/world.ts';
import { describeObjectStore } from '#test/contract/object-store.ts';

describeObjectStore('the local cloud without sockets', async () => {
  const world = createWorld({ buckets: ['contract'], storage: { objectWriteGapMs: 0 } });
  let nowMs = Date.parse('2026-12-01T00:00:00Z');
  const cloud = inProcessCloud({
    world,
    nowMs: () => {
      nowMs += 1;
      return nowMs;
    },
  });
  return { store: cloud.store('contract'), [Symbol.asyncDispose]: async () => {} };
});
