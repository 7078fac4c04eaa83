// Follows a bounded log while it grows, over its rotations.
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Chunk,
  currentLogFile,
  parseChunks,
  previousLogFile,
} from '#scripts/local-cloud/sandbox/bounded-log.ts';

const POLL_MS = 25;
const BLOCK_BYTES = 256 * 1024;

/**
 * Hands every chunk to `take`, oldest first, until `ended` says that nothing more is written and all was
 * read. What was dropped by rotations between two looks is missing, as in docker's json-file driver.
 */
export async function followLog(
  folder: string,
  ended: () => boolean,
  take: (chunk: Chunk) => void,
): Promise<void> {
  const previous = openIfThere(previousLogFile(folder));
  if (previous !== null) {
    drain(previous, take);
    closeSync(previous.file);
  }
  let open = openIfThere(currentLogFile(folder));
  while (open !== null) {
    // Asked before reading: what was written before the end is then read after it.
    const last = ended();
    drain(open, take);
    const next = replaced(folder, open);
    if (next !== null) {
      drain(open, take);
      closeSync(open.file);
      open = next;
    } else if (last) {
      closeSync(open.file);
      return;
    } else {
      await sleep(POLL_MS);
    }
  }
}

interface OpenLog {
  readonly file: number;
  rest: Buffer;
}

function drain(log: OpenLog, take: (chunk: Chunk) => void): void {
  const block = Buffer.alloc(BLOCK_BYTES);
  for (;;) {
    const length = readSync(log.file, block, 0, BLOCK_BYTES, null);
    if (length === 0) return;
    const { chunks, rest } = parseChunks(Buffer.concat([log.rest, block.subarray(0, length)]));
    log.rest = rest;
    for (const chunk of chunks) take(chunk);
  }
}

function replaced(folder: string, log: OpenLog): OpenLog | null {
  const now = statSync(currentLogFile(folder), { throwIfNoEntry: false });
  const isSame = now === undefined || now.ino === fstatSync(log.file).ino;
  return isSame ? null : openIfThere(currentLogFile(folder));
}

function openIfThere(path: string): OpenLog | null {
  try {
    return { file: openSync(path, 'r'), rest: Buffer.alloc(0) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
