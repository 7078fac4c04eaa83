// Uploads over HTTP as calls: simple media, multipart/related, and resumable sessions.
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import { asObject } from '#scripts/local-cloud/json.ts';
import type { RestTarget } from '#scripts/local-cloud/rest/router.ts';

export interface UploadRequest {
  readonly contentType: string;
  readonly contentRange: string | undefined;
  /** What a resumable session says about the content to come. */
  readonly uploadContentType: string | undefined;
  readonly bytes: Buffer;
}

export type UploadCall =
  | { readonly target: RestTarget; readonly body: unknown }
  /** What is wrong with the request. */
  | { readonly fault: string };

/** The boundary may stand bare or in quotes of either kind, and may hold any sign, `=` too. */
export function boundaryOf(contentType: string): string | null {
  const value = /boundary=(.+)$/i.exec(contentType)?.[1]?.trim();
  const quoted = /^(["'])(.*?)\1/.exec(value ?? '');
  return quoted?.[2] ?? value?.split(';')[0]?.trim() ?? null;
}

interface Part {
  readonly contentType: string | undefined;
  readonly disposition: string | undefined;
  readonly bytes: Buffer;
}

/** The parts between the boundaries; the line break before a boundary belongs to the boundary. */
export function partsOf(bytes: Buffer, boundary: string): Part[] {
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: Part[] = [];
  let start = bytes.indexOf(delimiter);
  while (start >= 0) {
    const begin = start + delimiter.length;
    const next = bytes.indexOf(delimiter, begin);
    if (next < 0) {
      return parts;
    }
    parts.push(partOf(bytes.subarray(begin, next)));
    start = next;
  }
  return parts;
}

/** Lines end with CRLF, or with LF alone from clients that use Python's e-mail library. */
function partOf(section: Buffer): Part {
  const text = section.toString('latin1');
  const gap = /\r?\n\r?\n/.exec(text);
  const begin = gap === null ? 0 : gap.index + gap[0].length;
  const headers = text.slice(0, gap?.index ?? 0);
  const lineBreak = /\r?\n$/.exec(text)?.[0].length ?? 0;
  return {
    contentType: /^content-type:\s*(.+?)\s*$/im.exec(headers)?.[1],
    disposition: /^content-disposition:\s*(.+?)\s*$/im.exec(headers)?.[1],
    bytes: section.subarray(begin, Math.max(begin, section.length - lineBreak)),
  };
}

function parseJson(bytes: Buffer): JsonObject | null {
  try {
    return bytes.length === 0 ? {} : asObject(JSON.parse(bytes.toString()));
  } catch {
    return null;
  }
}

function multipart(target: RestTarget, request: UploadRequest): UploadCall {
  const boundary = boundaryOf(request.contentType);
  const [first, media] = boundary === null ? [] : partsOf(request.bytes, boundary);
  const metadata = first === undefined ? null : parseJson(first.bytes);
  if (metadata === null || media === undefined) {
    return { fault: 'Malformed multipart body: two parts are needed, metadata and media.' };
  }
  const contentType = metadata.contentType ?? media.contentType;
  return { target, body: { bytes: media.bytes, metadata: { ...metadata, contentType } } };
}

/** What an upload request asks for, by its `uploadType`. */
export function readUpload(target: RestTarget, request: UploadRequest): UploadCall {
  const { uploadType, upload_id: uploadId } = target.params;
  if (uploadId !== undefined) {
    const params: Record<string, string> = { ...target.params, uploadId };
    if (request.contentRange !== undefined) {
      params.contentRange = request.contentRange;
    }
    return { target: { method: 'storage.uploads.continue', params }, body: request.bytes };
  }
  if (uploadType === 'multipart') {
    return multipart(target, request);
  }
  if (uploadType === 'resumable') {
    const metadata = parseJson(request.bytes);
    return metadata === null
      ? { fault: 'The metadata of a resumable upload is not JSON.' }
      : {
          target: { method: 'storage.uploads.start', params: target.params },
          body: { contentType: request.uploadContentType, ...metadata },
        };
  }
  const metadata = { contentType: request.contentType || undefined };
  return { target, body: { bytes: request.bytes, metadata } };
}
