// Topics, subscriptions, and each message's way through a subscription.
import type { JsonObject } from '#scripts/local-cloud/json.ts';

export interface Message {
  readonly id: string;
  readonly data: Uint8Array;
  readonly attributes: Readonly<Record<string, string>>;
  readonly orderingKey: string;
  readonly publishMs: number;
}

export type NewMessage = Pick<Message, 'data' | 'attributes'> & { readonly orderingKey?: string };

export interface PushTarget {
  readonly endpoint: string;
  /** Null: no Authorization header. */
  readonly email: string | null;
  readonly audience: string;
  /** The data alone is the body; with `writeMetadata` the rest travels in headers. */
  readonly unwrapped: boolean;
  readonly writeMetadata: boolean;
}

/** A message that a subscription has not seen acknowledged. */
export interface HeldMessage {
  readonly message: Message;
  deliveries: number;
  failures: number;
  /** Pull: not given out again before this instant. */
  leasedUntilMs: number;
}

export interface Subscription {
  readonly name: string;
  readonly topic: string;
  /** Null: a pull subscription. */
  push: PushTarget | null;
  readonly ackDeadlineMs: number;
  readonly retry: { readonly minMs: number; readonly maxMs: number } | null;
  readonly deadLetter: { readonly topic: string; readonly attemptsMax: number } | null;
  readonly retentionMs: number;
  readonly matches: (attributes: Readonly<Record<string, string>>) => boolean;
  /** As it was created, for get and list. */
  readonly resource: JsonObject;
  readonly backlog: Map<string, HeldMessage>;
  /** Failures in a row, for the push back-off of a subscription without a retry policy. */
  failuresInARow: number;
}

export interface Delivery {
  readonly id: string;
  readonly subscription: string;
  readonly message: string;
}

export interface PubsubState {
  readonly topics: Map<string, JsonObject>;
  readonly subscriptions: Map<string, Subscription>;
  readonly deliveries: Map<string, Delivery>;
  /** Messages that will be published later: notifications on their way. */
  readonly pending: Map<string, NewMessage>;
  messagesMade: number;
  deliveriesMade: number;
}

export function createPubsub(): PubsubState {
  return {
    topics: new Map(),
    subscriptions: new Map(),
    deliveries: new Map(),
    pending: new Map(),
    messagesMade: 0,
    deliveriesMade: 0,
  };
}
