// Reads what Cloud Storage answers: headers of a download, object resources, list pages, errors.
import * as z from 'zod';
import {
  CloudError,
  translateFailure,
  translateReply,
  unreadableReply,
} from '#shared/cloud/errors.ts';
import type { ObjectPage } from '#shared/cloud/storage.ts';

const GENERATION = /^[0-9]{1,20}$/;
/** A generation is sent as text; some emulators send a number. */
const generation = z.union([z.string().regex(GENERATION), z.int().nonnegative().transform(String)]);
const instant = z.string().transform(Date.parse).pipe(z.number());
const resource = z.object({ generation });
const page = z.object({
  items: z
    .array(
      z.object({
        name: z.string(),
        generation,
        size: z.coerce.number().int().nonnegative(),
        updated: instant,
        metadata: z.record(z.string(), z.string()).default({}),
      }),
    )
    .default([]),
  nextPageToken: z.string().min(1).nullish(),
});
const mediaHeaders = z.object({ 'x-goog-generation': generation, 'last-modified': instant });

/** The generation of an object resource. */
export function parseGeneration(method: string, body: unknown): string {
  const parsed = resource.safeParse(body);
  if (!parsed.success) throw unreadableReply(method, 200, `no generation in ${describe(body)}`);
  return parsed.data.generation;
}

/** Generation and time of the bytes that came with these headers. */
export function parseMediaHeaders(
  method: string,
  headers: unknown,
): { generation: string; updatedMs: number } {
  const parsed = mediaHeaders.safeParse(headers);
  if (!parsed.success) {
    throw unreadableReply(method, 200, 'no x-goog-generation or last-modified in the headers');
  }
  const { 'x-goog-generation': read, 'last-modified': updatedMs } = parsed.data;
  return { generation: read, updatedMs };
}

export function parsePage(method: string, body: unknown): ObjectPage {
  const parsed = page.safeParse(body);
  if (!parsed.success) throw unreadableReply(method, 200, `no list page: ${describe(body)}`);
  const { items, nextPageToken } = parsed.data;
  return {
    objects: items.map(({ name, generation: read, size, updated, metadata }) => ({
      name,
      generation: read,
      bytes: size,
      updatedMs: updated,
      metadata,
    })),
    nextPageToken: nextPageToken ?? null,
  };
}

/** Turns what the storage library throws about a bucket into an error of ours. */
export function translateStorageError(method: string, bucket: string, error: unknown): CloudError {
  if (error instanceof CloudError) return error;
  const { status, body, code } = describeLibraryError(error);
  if (status !== null && (status < 200 || status > 299)) {
    const reply = translateReply(method, status, body, error);
    return reply.code === 'not-found' && isBucketMissing(reply)
      ? bucketMissing(reply, bucket)
      : reply;
  }
  if (code === 'CONTENT_DOWNLOAD_MISMATCH') {
    return new CloudError({
      code: 'unavailable',
      method,
      status,
      reason: 'checksum-mismatch',
      message: `${method}: the bytes do not match their CRC32C; they were damaged on the way`,
      cause: error,
    });
  }
  if (status !== null || code.startsWith('Z_') || code === 'invalid-json') {
    return unreadableReply(method, status, error instanceof Error ? error.message : code);
  }
  return translateFailure(method, error);
}

/** A missing bucket is no statement about any object in it: never "absent". */
function bucketMissing(reply: CloudError, bucket: string): CloudError {
  return new CloudError({
    code: 'unavailable',
    method: reply.method,
    status: reply.status,
    reason: 'bucket-missing',
    message: `${reply.message} (${bucket}), so nothing is known about its objects`,
    cause: reply,
  });
}

function isBucketMissing(reply: CloudError): boolean {
  return /bucket does not exist/i.test(reply.message);
}

interface LibraryError {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly response?: { readonly statusCode?: unknown; readonly body?: unknown };
}

function describeLibraryError(error: unknown): {
  status: number | null;
  body: unknown;
  code: string;
} {
  const { code, type, message, response } = (error ?? {}) as LibraryError;
  const status = response?.statusCode ?? (typeof code === 'number' ? code : null);
  const sent = response?.body;
  // A download's error carries the body as its message; its `body` is a stream that was read.
  const text = typeof message === 'string' ? parseJson(message) : undefined;
  const body = isPlain(sent) ? sent : typeof sent === 'string' ? parseJson(sent) : text;
  return {
    status: typeof status === 'number' ? status : null,
    body,
    code: typeof code === 'string' ? code : typeof type === 'string' ? type : '',
  };
}

function isPlain(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'error' in value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function describe(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 100);
}
