// The object store of one bucket through @google-cloud/storage, loaded at the first call. The
// library's own repeats are off (it flips its shared `autoRetry` between parallel calls); ours are
// bounded. A write that was repeated may answer `conflict` although its first try had landed.
import assert from 'node:assert/strict';
import type { Bucket, File } from '@google-cloud/storage';
import {
  REPEAT_POLICY,
  repeatWhileRetriable,
  type TimingOptions,
  timingOf,
  withDeadline,
} from '#shared/cloud/deadline.ts';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import { CloudError, unreadableReply } from '#shared/cloud/errors.ts';
import type {
  DeleteReply,
  NameRange,
  ObjectPage,
  ObjectStore,
  ReadReply,
  WriteOptions,
  WriteReply,
} from '#shared/cloud/storage.ts';
import {
  parseGeneration,
  parseMediaHeaders,
  parsePage,
  translateStorageError,
} from '#shared/cloud/storage-replies.ts';
import { trackCall } from '#shared/cloud/storage-requests.ts';
import { type Credentials, ensureToken } from '#shared/cloud/token.ts';

export interface ObjectStoreOptions extends TimingOptions {
  readonly bucket: string;
  /** Base URL without a trailing slash; null: Google's own. */
  readonly endpoint: string | null;
  /** `noCredentials()` against an emulator. */
  readonly credentials: Credentials;
  /** The project that is billed for the requests (a bucket with "requester pays"); null: none. */
  readonly userProject?: string | null;
}

const TIMEOUT_MS = 10_000;
const OBJECT_BYTES_MAX = 8 * 1024 * 1024;
const PAGE_OBJECTS_MAX = 1_000;
const DELETE_TRIES_MAX = 3;

type Call<Result> = (context: {
  readonly bucket: Bucket;
  readonly storage: typeof import('@google-cloud/storage');
  /** The object to call, already set up to be followed and aborted. */
  file(name: string): File;
  readonly signal: AbortSignal;
}) => Promise<Result>;

/** Opens one bucket. No call is made before the first use. */
export function createObjectStore(options: ObjectStoreOptions): ObjectStore {
  assert(options.bucket !== '', 'a bucket without a name');
  const call = createCaller(options);
  return {
    read: (name, generation) => readObject(call, name, generation ?? null),
    write: (name, bytes, write) => writeObject(call, name, bytes, write),
    delete: (name, ifGeneration) =>
      ifGeneration === undefined
        ? deleteLiveObject(call, name)
        : deleteObject(call, name, ifGeneration),
    list: (prefix, pageToken, range) => listObjects(call, prefix, pageToken ?? null, range),
  };
}

type Caller = <Result>(
  method: string,
  query: Readonly<Record<string, string>>,
  run: Call<Result>,
) => Promise<Result>;

function createCaller(options: ObjectStoreOptions): Caller {
  const { credentials } = options;
  const endpoint = options.endpoint ?? GOOGLE_ENDPOINTS.storage;
  const timing = timingOf(options, TIMEOUT_MS);
  const billed = options.userProject ? { userProject: options.userProject } : {};
  let kept: ReturnType<typeof openLibrary> | null = null;
  return (method, query, run) =>
    repeatWhileRetriable(timing, REPEAT_POLICY, async () => {
      kept ??= openLibrary(endpoint, credentials);
      const { storage, client } = await kept;
      return withDeadline(method, timing.timeoutMs, async (signal) => {
        // First: the library would report a token endpoint's 404 as the object's.
        await ensureToken(credentials, endpoint);
        using tracked = trackCall(signal, { ...billed, ...query });
        const bucket = client.bucket(options.bucket);
        bucket.interceptors.push(tracked.interceptor);
        const file = (name: string) => {
          assert(name !== '', 'an object without a name');
          return bucket.file(name);
        };
        try {
          return await run({ storage, bucket, file, signal });
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          throw translateStorageError(method, options.bucket, error);
        }
      });
    });
}

async function openLibrary(endpoint: string, credentials: Credentials) {
  const [storage, auth] = await Promise.all([import('@google-cloud/storage'), credentials.auth()]);
  const client = new storage.Storage({
    apiEndpoint: endpoint,
    useAuthWithCustomEndpoint: true,
    authClient: auth,
    retryOptions: {
      autoRetry: false,
      idempotencyStrategy: storage.IdempotencyStrategy.RetryNever,
    },
  });
  // With STORAGE_EMULATOR_HOST set, the library would leave `/storage/v1` out of every read.
  client.baseUrl = `${endpoint}/storage/v1`;
  return { storage, client };
}

/** One request gives bytes and headers of one generation: no second look-up can tear them apart. */
function readObject(call: Caller, name: string, generation: string | null): Promise<ReadReply> {
  const method = 'storage.objects.get';
  const query: Record<string, string> = generation === null ? {} : { generation };
  return absentWhenNotFound(
    call(method, query, async ({ file, signal }): Promise<ReadReply> => {
      const stream = file(name).createReadStream({ validation: 'crc32c', decompress: true });
      signal.addEventListener('abort', () => stream.destroy(), { once: true });
      let headers: unknown = null;
      stream.on('response', (response: { headers?: unknown }) => {
        headers = response.headers;
      });
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        size += chunk.byteLength;
        if (size > OBJECT_BYTES_MAX) {
          throw unreadableReply(method, 200, `${name} is larger than ${OBJECT_BYTES_MAX} bytes`);
        }
        chunks.push(chunk);
      }
      return { kind: 'found', bytes: Buffer.concat(chunks), ...parseMediaHeaders(method, headers) };
    }),
    { kind: 'absent' },
  );
}

/**
 * The service checks the bytes against the CRC32C that is sent along. The library's own check after
 * an upload is off: on a mismatch it deletes the live object, whoever wrote it.
 */
function writeObject(
  call: Caller,
  name: string,
  bytes: Uint8Array | string,
  options: WriteOptions,
): Promise<WriteReply> {
  const method = 'storage.objects.insert';
  const data = Buffer.from(bytes);
  return conflictWhenNotMet(
    call(method, {}, async ({ file, storage }): Promise<WriteReply> => {
      const target = file(name);
      const checksum = new storage.CRC32C();
      checksum.update(data);
      await target.save(data, {
        resumable: false,
        validation: false,
        metadata: {
          contentType: options.contentType ?? 'application/json',
          crc32c: checksum.toString(),
          ...(options.metadata === undefined ? {} : { metadata: { ...options.metadata } }),
        },
        preconditionOpts: { ifGenerationMatch: options.ifGeneration },
      });
      return { kind: 'written', generation: parseGeneration(method, target.metadata) };
    }),
    { kind: 'conflict' },
  );
}

function deleteObject(call: Caller, name: string, ifGeneration: string): Promise<DeleteReply> {
  return conflictWhenNotMet<DeleteReply>(
    absentWhenNotFound<DeleteReply>(
      call('storage.objects.delete', {}, async ({ file }) => {
        await file(name).delete({ ifGenerationMatch: ifGeneration });
        return { kind: 'deleted' };
      }),
      { kind: 'absent' },
    ),
    { kind: 'conflict' },
  );
}

/** Looks the generation up first: a repeated delete can then never remove what came later. */
async function deleteLiveObject(call: Caller, name: string): Promise<DeleteReply> {
  for (let attempt = 1; attempt <= DELETE_TRIES_MAX; attempt += 1) {
    const method = 'storage.objects.get';
    const generation = await absentWhenNotFound<string | null>(
      call(method, {}, async ({ file }) => {
        const [metadata] = await file(name).getMetadata();
        return parseGeneration(method, metadata);
      }),
      null,
    );
    if (generation === null) return { kind: 'absent' };
    const reply = await deleteObject(call, name, generation);
    if (reply.kind !== 'conflict') return reply;
  }
  return { kind: 'conflict' };
}

function listObjects(
  call: Caller,
  prefix: string,
  pageToken: string | null,
  range: NameRange = {},
): Promise<ObjectPage> {
  const method = 'storage.objects.list';
  return call(method, {}, async ({ bucket }) => {
    // Not `getFiles`: it throws outside of its promise when the reply has no body.
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const query = {
      prefix,
      maxResults: PAGE_OBJECTS_MAX,
      fields: 'items(name,generation,size,updated,metadata),nextPageToken',
      ...(pageToken === null ? {} : { pageToken }),
      ...(range.start === undefined ? {} : { startOffset: range.start }),
      ...(range.end === undefined ? {} : { endOffset: range.end }),
    };
    bucket.request({ uri: '/o', qs: query }, (error: Error | null, body: unknown) => {
      if (error === null) resolve(body);
      else reject(error);
    });
    return parsePage(method, await promise);
  });
}

async function absentWhenNotFound<Reply>(call: Promise<Reply>, absent: Reply): Promise<Reply> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CloudError && error.code === 'not-found') return absent;
    throw error;
  }
}

async function conflictWhenNotMet<Reply>(call: Promise<Reply>, conflict: Reply): Promise<Reply> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CloudError && error.code === 'precondition-failed') return conflict;
    throw error;
  }
}
