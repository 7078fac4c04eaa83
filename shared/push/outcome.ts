// What a function made of a delivery. `functions/main.ts` alone turns this into an HTTP status.

export type Outcome =
  /** Handled, or rightly ignored: acknowledged. */
  | { readonly kind: 'done' }
  /** Something that may pass stood in the way: Pub/Sub delivers again. */
  | { readonly kind: 'retry'; readonly reason: string };
