// A log of bounded size on disk that keeps the newest bytes: two files, and the older one is dropped
// whenever the newer one is full (as docker's json-file driver does with max-file=2).
// Each chunk is framed as in docker's raw stream: stream number, three zero bytes, length; then the time
// of its writing and the bytes.
import { closeSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export type StreamNumber = 1 | 2;

export interface Chunk {
  readonly stream: StreamNumber;
  /** Epoch milliseconds of its writing. */
  readonly atMs: number;
  readonly bytes: Buffer;
}

const HEADER_BYTES = 16;

export const currentLogFile = (folder: string) => join(folder, 'current');
export const previousLogFile = (folder: string) => join(folder, 'previous');

/** Writes chunks; at most `limitBytes` (and one chunk more) stay on disk. */
export class BoundedLog {
  readonly #folder: string;
  readonly #limitBytes: number;
  #file: number;
  #written = 0;

  constructor(folder: string, limitBytes: number) {
    this.#folder = folder;
    this.#limitBytes = limitBytes;
    this.#file = openSync(currentLogFile(folder), 'w');
  }

  write(stream: StreamNumber, bytes: Buffer): void {
    if (this.#written > 0 && this.#written + bytes.length > this.#limitBytes / 2) this.#rotate();
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(stream, 0);
    header.writeUInt32BE(bytes.length, 4);
    header.writeDoubleBE(Date.now(), 8);
    writeSync(this.#file, Buffer.concat([header, bytes]));
    this.#written += HEADER_BYTES + bytes.length;
  }

  close(): void {
    closeSync(this.#file);
  }

  #rotate(): void {
    closeSync(this.#file);
    renameSync(currentLogFile(this.#folder), previousLogFile(this.#folder));
    this.#file = openSync(currentLogFile(this.#folder), 'w');
    this.#written = 0;
  }
}

/** All chunks that are still there, oldest first. */
export function readLog(folder: string): Chunk[] {
  const files = [previousLogFile(folder), currentLogFile(folder)];
  return files.flatMap((file) => parseChunks(readIfThere(file)).chunks);
}

/** The last `lines` lines over both streams. */
export function lastLines(chunks: readonly Chunk[], lines: number): Chunk[] {
  const kept: Chunk[] = [];
  // A newline at the very end closes the last line and does not start another one.
  let missing = lines;
  let last = true;
  for (const chunk of chunks.toReversed()) {
    let start = chunk.bytes.length;
    while (start > 0 && missing >= 0) {
      if (chunk.bytes[start - 1] === 0x0a && !last) missing -= 1;
      if (missing === 0) break;
      last = false;
      start -= 1;
    }
    kept.unshift({ ...chunk, bytes: chunk.bytes.subarray(start) });
    if (missing === 0) break;
  }
  return kept;
}

/** The whole chunks at the beginning of `bytes`, and what follows them (one still being written). */
export function parseChunks(bytes: Buffer): { chunks: Chunk[]; rest: Buffer } {
  const chunks: Chunk[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const length = bytes.readUInt32BE(at + 4);
    const from = at + HEADER_BYTES;
    if (from + length > bytes.length) break;
    const stream = bytes.readUInt8(at) === 2 ? 2 : 1;
    const atMs = bytes.readDoubleBE(at + 8);
    chunks.push({ stream, atMs, bytes: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return { chunks, rest: bytes.subarray(at) };
}

function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
