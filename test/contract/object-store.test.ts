import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { createWorld } from '#scripts/local-cloud/world.ts';
import { createObjectStore } from '#shared/cloud/storage-client.ts';
import { noCredentials } from '#shared/cloud/token.ts';
import { describeObjectStore } from '#test/contract/object-store.ts';

const CHOICES = { buckets: ['contract'], storage: { objectWriteGapMs: 0 } };

/** Each look at it is a millisecond later: what follows is later for the world too. */
function ticking(): () => number {
  let nowMs = Date.parse('2026-12-01T00:00:00Z');
  return () => {
    nowMs += 1;
    return nowMs;
  };
}

describeObjectStore('the local cloud without sockets', async () => {
  const cloud = inProcessCloud({ world: createWorld(CHOICES), nowMs: ticking() });
  return { store: cloud.store('contract'), [Symbol.asyncDispose]: async () => {} };
});

describeObjectStore('the real client over the local cloud', async () => {
  const cloud = await startLocalCloud({ world: CHOICES });
  const store = createObjectStore({
    bucket: 'contract',
    endpoint: cloud.baseUrl,
    credentials: noCredentials('local-project'),
  });
  const fill = (names: readonly string[]) => {
    for (const name of names) {
      const params = { bucket: 'contract', name };
      cloud.call('storage.objects.insert', params, { bytes: new Uint8Array(), metadata: {} });
    }
  };
  return { store, fill, [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose]() };
});
