// Unpacks a tar archive (POSIX ustar and pax, GNU long names) below one folder. The image may have no
// tar program. Nothing is written outside the folder: not by a name, not through a link.
import { chmod, link, lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { StepFailure } from '#shared/guest/supervisor/transfer.ts';

const BLOCK = 512;
/** Of a name or of pax headers, which are held in memory. */
const HEADER_BYTES_MAX = 1 << 20;

interface Entry {
  readonly type: string;
  readonly name: string;
  readonly target: string;
  readonly mode: number;
  readonly bytes: number;
}

export async function unpackTar(source: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  const reader = new Reader(source);
  let pax: Record<string, string> = {};
  let long: { name?: string; target?: string } = {};
  for (;;) {
    const block = await reader.take(BLOCK);
    if (block === null || block.every((byte) => byte === 0)) break;
    const entry = readHeader(block, pax, long);
    const { type, bytes } = entry;
    if (type === 'x' || type === 'L' || type === 'K' || type === 'g') {
      if (bytes > HEADER_BYTES_MAX) throw broken(`a header of ${bytes} bytes`);
      const text = (await reader.padded(bytes)).toString('utf8');
      if (type === 'x') pax = readPax(text);
      if (type === 'L') long = { ...long, name: text.replace(/\0.*$/s, '') };
      if (type === 'K') long = { ...long, target: text.replace(/\0.*$/s, '') };
      continue;
    }
    pax = {};
    long = {};
    await unpackEntry(reader, entry, folder);
  }
}

async function unpackEntry(reader: Reader, entry: Entry, folder: string): Promise<void> {
  const { type, bytes } = entry;
  const path = await placeFor(folder, entry.name);
  if (type === '5') {
    await mkdir(path, { recursive: true });
    if (path !== normalize(folder)) await chmod(path, entry.mode | 0o700);
  } else if (type === '2') {
    await rm(path, { force: true });
    await symlink(entry.target, path);
  } else if (type === '1') {
    await rm(path, { force: true });
    await link(await placeFor(folder, entry.target), path);
  } else if (type === '0' || type === '\0' || type === '7') {
    await rm(path, { force: true });
    await using file = await open(path, 'wx', entry.mode);
    await reader.copy(bytes, (chunk) => file.appendFile(chunk));
    await file.chmod(entry.mode);
    return;
  }
  // Devices and pipes have no place in a package; what else there may be is skipped with its bytes.
  await reader.copy(bytes, async () => {});
}

/** Where a name lies below the folder; its own folder is made, and none on the way is a link. */
async function placeFor(folder: string, name: string): Promise<string> {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw broken(`${name} leads out of the package`);
  const path = join(folder, ...parts);
  for (let index = 1; index < parts.length; index += 1) {
    const above = await lstat(join(folder, ...parts.slice(0, index))).catch(() => null);
    if (above?.isSymbolicLink()) throw broken(`${name} lies behind a link`);
  }
  await mkdir(dirname(path), { recursive: true });
  return path;
}

function readHeader(
  block: Buffer,
  pax: Readonly<Record<string, string>>,
  long: { readonly name?: string; readonly target?: string },
): Entry {
  const field = (from: number, length: number) =>
    block.toString('utf8', from, from + length).replace(/\0.*$/s, '');
  checkSum(block);
  const prefix = field(257, 5) === 'ustar' && block[262] === 0 ? field(345, 155) : '';
  const short = prefix === '' ? field(0, 100) : `${prefix}/${field(0, 100)}`;
  return {
    type: block.toString('latin1', 156, 157),
    name: pax.path ?? long.name ?? short,
    target: pax.linkpath ?? long.target ?? field(157, 100),
    mode: readNumber(block, 100, 8) & 0o777,
    bytes: pax.size === undefined ? readNumber(block, 124, 12) : Number(pax.size),
  };
}

function checkSum(block: Buffer): void {
  const blank = Buffer.from(block).fill(32, 148, 156);
  const sum = blank.reduce((total, byte) => total + byte, 0);
  if (sum !== readNumber(block, 148, 8)) throw broken('a header does not fit its checksum');
}

/** Octal digits, or GNU's binary form for what is too large. */
function readNumber(block: Buffer, from: number, length: number): number {
  if (((block[from] ?? 0) & 0x80) !== 0) return block.readUIntBE(from + length - 6, 6);
  const text = block
    .toString('latin1', from, from + length)
    .replace(/[\0 ]+/g, ' ')
    .trim();
  if (!/^[0-7]*$/.test(text)) throw broken('a number is not octal');
  return text === '' ? 0 : Number.parseInt(text, 8);
}

function readPax(text: string): Record<string, string> {
  const read: Record<string, string> = {};
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    const length = Number.parseInt(rest.toString('latin1', 0, 20), 10);
    if (!(length > 0) || length > rest.length) throw broken('a pax header that cannot be read');
    const record = rest.toString('utf8', 0, length - 1);
    const [, name = '', value = ''] = /^\d+ ([^=]+)=(.*)$/s.exec(record) ?? [];
    read[name] = value;
    rest = rest.subarray(length);
  }
  return read;
}

const broken = (reason: string) => new StepFailure(`the archive: ${reason}`, true);

class Reader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Exactly so many bytes, or null at the end. */
  async take(count: number): Promise<Buffer | null> {
    while (this.#held.length < count) {
      const next = await this.#source.next();
      if (next.done === true) {
        if (this.#held.length > 0) throw broken('it ends in the middle');
        return null;
      }
      this.#held = Buffer.concat([this.#held, next.value]);
    }
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }

  async padded(bytes: number): Promise<Buffer> {
    const taken = await this.take(bytes + padding(bytes));
    if (taken === null) throw broken('it ends in the middle');
    return taken.subarray(0, bytes);
  }

  async copy(bytes: number, give: (chunk: Uint8Array) => Promise<void>): Promise<void> {
    let left = bytes;
    while (left > 0) {
      if (this.#held.length === 0) {
        const next = await this.#source.next();
        if (next.done === true) throw broken('it ends in the middle');
        this.#held = Buffer.from(next.value);
      }
      const chunk = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(chunk.length);
      left -= chunk.length;
      await give(chunk);
    }
    if (padding(bytes) > 0) await this.take(padding(bytes));
  }
}

const padding = (bytes: number) => (BLOCK - (bytes % BLOCK)) % BLOCK;
