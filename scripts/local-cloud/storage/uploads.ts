// Resumable uploads: a session is opened with the object's metadata, then filled by one or several
// chunks; preconditions are judged at the end, as the real service does.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  empty,
  type Methods,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { asObject } from '#scripts/local-cloud/json.ts';
import { findBucket } from '#scripts/local-cloud/storage/conditions.ts';
import type { UploadSession } from '#scripts/local-cloud/storage/state.ts';
import { insertObject } from '#scripts/local-cloud/storage/writes.ts';

/** Answers with `x-guploader-uploadid`; the edge turns it into a `Location`. */
function startUpload(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const id = `upload-${context.world.random.hexadecimal(24)}`;
  context.world.storage.uploads.set(id, {
    params: { ...call.params },
    principal: call.principal,
    metadata: { ...asObject(call.body) },
    received: [],
  });
  return { status: 200, headers: { 'x-guploader-uploadid': id } };
}

const receivedBytes = (session: UploadSession) =>
  session.received.reduce((total, chunk) => total + chunk.length, 0);

function unfinished(session: UploadSession): Reply {
  const size = receivedBytes(session);
  return size === 0 ? empty(308) : { status: 308, headers: { range: `bytes=0-${size - 1}` } };
}

interface Chunk {
  readonly start: number;
  /** Null: the sender does not know yet, or only asks how far we are. */
  readonly total: number | null;
}

/** `bytes 0-9/10`, and with `*` for the unknown end of a stream or of the whole. */
function parseContentRange(text: string | undefined): Chunk | null {
  if (text === undefined) {
    return { start: 0, total: null };
  }
  const match = /^bytes (?:(\d+)-(?:\d+|\*)|\*)\/(\d+|\*)$/.exec(text);
  if (match === null) {
    return null;
  }
  return { start: Number(match[1] ?? 0), total: match[2] === '*' ? null : Number(match[2]) };
}

/** The body is the chunk's bytes; `params.contentRange` is the request header of that name. */
function continueUpload(context: Context, call: Call): Reply {
  const { uploads } = context.world.storage;
  const id = call.params.uploadId ?? '';
  const session = uploads.get(id);
  if (session === undefined) {
    return refuse(404, 'notFound', `No upload session ${id}.`);
  }
  const { contentRange } = call.params;
  const chunk = parseContentRange(contentRange);
  const bytes = call.body instanceof Uint8Array ? call.body : new Uint8Array();
  if (chunk === null || (bytes.length > 0 && chunk.start > receivedBytes(session))) {
    return refuse(400, 'invalid', `Invalid Content-Range: ${contentRange}`);
  }
  if (bytes.length > 0) {
    session.received = [Buffer.concat(session.received).subarray(0, chunk.start), bytes];
  }
  const openEnded = contentRange === undefined || /-\*\/\*$/.test(contentRange);
  const complete = chunk.total === receivedBytes(session) || (chunk.total === null && openEnded);
  if (!complete) {
    return unfinished(session);
  }
  uploads.delete(id);
  return insertObject(context, {
    method: 'storage.objects.insert',
    principal: session.principal,
    params: session.params,
    body: { bytes: Buffer.concat(session.received), metadata: session.metadata },
  });
}

export const uploadMethods: Methods = {
  'storage.uploads.start': startUpload,
  'storage.uploads.continue': continueUpload,
};
