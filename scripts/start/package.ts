// Packs a folder as `package` takes it: a .tar.gz whose bytes, and so whose name, follow from the files
// alone. (POSIX ustar; names of 100 bytes at most, which is enough for examples.)
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const BLOCK = 512;

export interface Package {
  readonly sha256: string;
  readonly bytes: Buffer;
}

/** Packs the files of a folder whose name ends as given; folders in it are left out. */
export async function packFolder(folder: string, ending: string): Promise<Package> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(ending)).sort();
  const entries = await Promise.all(
    names.map(async (name) => entryOf(name, await readFile(join(folder, name)))),
  );
  const archive = Buffer.concat([...entries, Buffer.alloc(2 * BLOCK)]);
  // Stored, not compressed: the same bytes whatever the version of the library.
  const bytes = gzipSync(archive, { level: 0 });
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes };
}

function entryOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(BLOCK);
  if (Buffer.byteLength(name) > 100) throw new Error(`${name}: a name of 100 bytes at most`);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content.length, 11), 124);
  header.write(octal(0, 11), 136);
  header.write('        0', 148);
  header.write('ustar\u000000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return Buffer.concat([header, content, padding]);
}
