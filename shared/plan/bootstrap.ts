// What a task of Cloud Run Jobs may know: one object an execution, `runs/bootstrap/<nonce>`, which its
// account may get and delete. Everything else it reaches by the signed addresses in here.

export const BOOTSTRAP_SCHEMA = 1;
/** Files of one checkpoint folder: each needs an address of its own to come back. */
export const CHECKPOINT_FILES_MAX = 1_000;
/** The way out of a supervisor that was stopped, or ran out of time, and has flushed. */
export const EXIT_FLUSHED = 16;
/** The way out of a supervisor that found nothing to do: no bootstrap, or the claim is another's. */
export const EXIT_NO_WORK = 18;

/** `GET`: one generation. `PUT`: create-only, refused with 412 or 403 when the object is there. */
export interface SignedUrlRequest {
  readonly method: 'GET' | 'PUT';
  readonly bucket: string;
  readonly object: string;
  /** Of a `GET`; absent: the live one. */
  readonly generation?: string;
  readonly contentType?: string;
}

/** A form for any object whose name begins with `prefix`. */
export interface FormRequest {
  readonly bucket: string;
  readonly prefix: string;
}

export interface SignedAddress {
  readonly url: string;
  /** Exactly these headers are to be sent. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Form {
  readonly url: string;
  readonly fields: Readonly<Record<string, string>>;
}

export interface Bootstrap {
  readonly schema: typeof BOOTSTRAP_SCHEMA;
  readonly runId: string;
  readonly attempt: number;
  readonly nonce: string;
  /** The name that markers carry. */
  readonly instance: string;
  readonly region: string;
  readonly taskCount: number;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** Of the command; TERM then, KILL 30 s later. */
  readonly timeoutSeconds: number;
  /** RFC 3339. */
  readonly deadline: string;
  /** 64 hex digits: signs the event lines, HMAC-SHA256. */
  readonly eventKey: string;
  /** Create-only, and to read it back. */
  readonly claim: { readonly put: SignedAddress; readonly get: SignedAddress };
  /** Task i of several uploads `<prefix>.<i>.json`, a single task `<prefix>.json`; create-only. */
  readonly marker: { readonly form: Form; readonly prefix: string };
  readonly package: { readonly get: SignedAddress; readonly sha256: string } | null;
  readonly inputs: readonly {
    readonly path: string;
    readonly get: SignedAddress;
    readonly bytes: number;
  }[];
  /** Task i of several uploads under `<prefix>tasks/<i>/`. */
  readonly outputs: readonly {
    readonly path: string;
    readonly form: Form;
    readonly bucket: string;
    readonly prefix: string;
  }[];
  readonly checkpoints: readonly {
    readonly path: string;
    readonly form: Form;
    readonly bucket: string;
    readonly prefix: string;
    /** The last complete checkpoint of each task (by index), newest attempt first. */
    readonly restore: Readonly<Record<string, readonly CheckpointFile[]>>;
  }[];
}

export interface CheckpointFile {
  /** Relative to the checkpoint's folder. */
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly get: SignedAddress;
}

/**
 * A checkpoint's own object, written last and create-only under `<prefix>[tasks/<i>/]checkpoints/<attempt>-<n>.json`
 * (n in ten digits); its files lie at `<prefix>[tasks/<i>/]files/<sha256>`. One without it never counts.
 */
export interface CheckpointManifest {
  readonly schema: 1;
  readonly files: readonly Omit<CheckpointFile, 'get'>[];
}
