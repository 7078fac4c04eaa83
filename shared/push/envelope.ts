// Opens a Pub/Sub push body: wrapped or unwrapped, camel or snake names, with or without data.

export interface PushMessage {
  readonly messageId: string;
  /** Decoded; empty when the message had attributes only. */
  readonly data: Uint8Array;
  readonly attributes: Readonly<Record<string, string>>;
  readonly publishTimeMs: number | null;
  /** `projects/P/subscriptions/S`, where the push says it. */
  readonly subscription: string | null;
  readonly deliveryAttempt: number | null;
}
