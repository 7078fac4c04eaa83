// The in-process ports send every call once; the real adapters repeat what may pass. The same policy
// here, on the virtual clock.
import type { Clock, Entropy } from '#shared/cloud/clock.ts';
import { REPEAT_POLICY, repeatWhileRetriable } from '#shared/cloud/deadline.ts';
import type { Publisher } from '#shared/cloud/pubsub.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';

interface Timing {
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export function repeatingStore(store: ObjectStore, timing: Timing): ObjectStore {
  const again = <Result>(call: () => Promise<Result>) =>
    repeatWhileRetriable(timing, REPEAT_POLICY, call);
  return {
    read: (name, generation) => again(() => store.read(name, generation)),
    write: (name, bytes, options) => again(() => store.write(name, bytes, options)),
    delete: (name, ifGeneration) => again(() => store.delete(name, ifGeneration)),
    list: (prefix, pageToken) => again(() => store.list(prefix, pageToken)),
  };
}

export function repeatingPublisher(publisher: Publisher, timing: Timing): Publisher {
  return {
    publish: (topic, data, attributes) =>
      repeatWhileRetriable(timing, REPEAT_POLICY, () => publisher.publish(topic, data, attributes)),
  };
}
