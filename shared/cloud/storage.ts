// Cloud Storage objects of one bucket, through @google-cloud/storage: always with preconditions,
// never resumable, generations as strings. Anything but the answers in the types is a CloudError.

export interface StoredObject {
  readonly bytes: Uint8Array;
  /** Decimal digits; compared by value, kept as text. */
  readonly generation: string;
  readonly updatedMs: number;
}

export type ReadReply = ({ readonly kind: 'found' } & StoredObject) | { readonly kind: 'absent' };

export type WriteReply =
  | { readonly kind: 'written'; readonly generation: string }
  /** The precondition did not hold: also the answer to our own write whose reply was lost. */
  | { readonly kind: 'conflict' };

export type DeleteReply = { readonly kind: 'deleted' | 'absent' | 'conflict' };

export interface ObjectPage {
  readonly objects: readonly {
    readonly name: string;
    readonly generation: string;
    readonly bytes: number;
    readonly updatedMs: number;
    /** As given when it was written. */
    readonly metadata: Readonly<Record<string, string>>;
  }[];
  readonly nextPageToken: string | null;
}

/** Names from `start` on and below `end`, whole names both; left out: no bound. */
export interface NameRange {
  readonly start?: string;
  readonly end?: string;
}

export interface WriteOptions {
  /** The live generation that may be replaced; '0' means that there must be none. */
  readonly ifGeneration: string;
  readonly contentType?: string;
  /** Custom metadata: what a list tells of the object beside its name; 8 KiB with its keys. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** All calls throw a CloudError when the service cannot be asked or does not answer. */
export interface ObjectStore {
  /** The live object, or exactly the given generation of it. */
  read(name: string, generation?: string): Promise<ReadReply>;
  write(name: string, bytes: Uint8Array | string, options: WriteOptions): Promise<WriteReply>;
  /** Deletes the live object, or only the given generation of it. */
  delete(name: string, ifGeneration?: string): Promise<DeleteReply>;
  /** One page of at most 1,000 names in lexical order. */
  list(prefix: string, pageToken?: string | null, range?: NameRange): Promise<ObjectPage>;
}
