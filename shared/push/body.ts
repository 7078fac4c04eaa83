// Reads a request body with a bound on its real size, whatever its Content-Length says, and gets rid
// of a body that nobody wants without looking at it.
import type { Readable } from 'node:stream';

export type BodyReply =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** The sender went away in the middle. */
  | { readonly kind: 'cut' };

/** Reads the stream to its end; past `bytesMax` it stops and leaves the rest unread. */
export async function readBody(stream: Readable, bytesMax: number): Promise<BodyReply> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > bytesMax) return { kind: 'too-large' };
      chunks.push(bytes);
    }
  } catch {
    return { kind: 'cut' };
  }
  return { kind: 'read', bytes: Buffer.concat(chunks) };
}

/**
 * Lets the rest of the stream pass by, so that the sender gets to read its answer; one that goes on
 * past `bytesMax` is cut off.
 */
export function discardBody(stream: Readable, bytesMax: number): void {
  let size = 0;
  stream.on('error', () => {});
  stream.on('data', (chunk: Uint8Array) => {
    size += chunk.byteLength;
    if (size > bytesMax) stream.destroy();
  });
}
