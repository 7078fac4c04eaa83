// Packs a folder as a request's `package` takes it: a .tar.gz whose bytes, and so whose name, follow from
// the files alone: their paths, contents, links, and whether they can be executed. (POSIX ustar, and a pax
// header for a path that does not fit.)
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { usageError } from '#scripts/mayfly/exit-codes.ts';

const BLOCK = 512;
const NAME_BYTES_MAX = 100;
/** It is held in memory, and sent by one request, within its few seconds. */
const BYTES_MAX = 16 << 20;
const FILES_MAX = 10_000;
/** Histories and caches are no code, and change without it. */
const LEFT_OUT: ReadonlySet<string> = new Set(['.git', '__pycache__']);

export interface Package {
  readonly sha256: string;
  readonly bytes: Buffer;
  readonly files: number;
}

/** Packs all below the folder, or what `keep` says of its path. Throws a usage error when it is too much. */
export async function packFolder(
  folder: string,
  keep: (path: string) => boolean = () => true,
): Promise<Package> {
  const paths = (await pathsIn(folder, '')).filter(keep);
  if (paths.length > FILES_MAX) {
    throw usageError(`${folder} holds ${paths.length} files, a package ${FILES_MAX} at most`);
  }
  const parts: Buffer[] = [];
  let size = 0;
  for (const path of paths) {
    const entry = await entryOf(folder, path);
    size += entry.length;
    if (size > BYTES_MAX) {
      const advice = 'put what is large into the image, or make it an input';
      throw usageError(`${folder} holds more than ${BYTES_MAX} bytes (at ${path}): ${advice}`);
    }
    parts.push(entry);
  }
  const archive = Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
  // Stored, not compressed: the same bytes whatever the version of the library.
  const bytes = gzipSync(archive, { level: 0 });
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes, files: paths.length };
}

/** Files and links, in the order of their bytes; folders are made by what lies in them. */
async function pathsIn(folder: string, within: string): Promise<string[]> {
  const entries = await readdir(join(folder, within), { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    if (LEFT_OUT.has(entry.name)) continue;
    const path = within === '' ? entry.name : `${within}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await pathsIn(folder, path)));
    else if (entry.isFile() || entry.isSymbolicLink()) found.push(path);
  }
  return found.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

async function entryOf(folder: string, path: string): Promise<Buffer> {
  const place = join(folder, path);
  const stats = await lstat(place);
  if (stats.isSymbolicLink()) {
    const target = await readlink(place);
    return blocksOf({ name: path, target, type: '2', mode: 0o777, content: Buffer.alloc(0) });
  }
  const mode = (stats.mode & 0o100) === 0 ? 0o644 : 0o755;
  return blocksOf({ name: path, target: '', type: '0', mode, content: await readFile(place) });
}

interface Entry {
  readonly name: string;
  readonly target: string;
  readonly type: '0' | '2' | 'x';
  readonly mode: number;
  readonly content: Buffer;
}

function blocksOf(entry: Entry): Buffer {
  const { name, target, content } = entry;
  const long = [
    ...(Buffer.byteLength(name) > NAME_BYTES_MAX ? [paxRecord('path', name)] : []),
    ...(Buffer.byteLength(target) > NAME_BYTES_MAX ? [paxRecord('linkpath', target)] : []),
  ].join('');
  const before =
    long === ''
      ? []
      : [
          blocksOf({
            ...{ name: 'pax', target: '', type: 'x', mode: 0o644 },
            content: Buffer.from(long),
          }),
        ];
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return Buffer.concat([...before, headerOf(entry), content, padding]);
}

/** `LENGTH KEY=VALUE\n`, where the length counts its own digits too. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length += 1;
  return `${length}${rest}`;
}

function headerOf({ name, target, type, mode, content }: Entry): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(name, 0, NAME_BYTES_MAX);
  header.write(octal(mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content.length, 11), 124);
  header.write(octal(0, 11), 136);
  header.write(`        ${type}`, 148);
  header.write(target, 157, NAME_BYTES_MAX);
  header.write('ustar\u000000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
