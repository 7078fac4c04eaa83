// The checksums of a file that Cloud Storage gives back for what it stored, and the SHA-256 of our own
// names, in one reading.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const TABLE = new Uint32Array(256).map((_, byte) => {
  let value = byte;
  // Castagnoli's polynomial, reversed (RFC 3720, appendix B.4); Node's zlib.crc32 has another.
  for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0x82f63b78 : 0);
  return value;
});

export interface Sums {
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  /** Base64, as in `x-goog-hash`. */
  readonly md5: string;
  readonly crc32c: string;
}

export class Summer {
  readonly #sha256 = createHash('sha256');
  readonly #md5 = createHash('md5');
  #crc = -1;
  #bytes = 0;

  add(bytes: Uint8Array): void {
    this.#sha256.update(bytes);
    this.#md5.update(bytes);
    this.#bytes += bytes.length;
    let crc = this.#crc;
    for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 255] ?? 0);
    this.#crc = crc;
  }

  sums(): Sums {
    const crc = Buffer.alloc(4);
    crc.writeInt32BE(~this.#crc);
    return {
      bytes: this.#bytes,
      sha256: this.#sha256.digest('hex'),
      md5: this.#md5.digest('base64'),
      crc32c: crc.toString('base64'),
    };
  }
}

export async function sumsOfFile(path: string): Promise<Sums> {
  const summer = new Summer();
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) summer.add(chunk);
  return summer.sums();
}

export function sumsOfBytes(bytes: Uint8Array): Sums {
  const summer = new Summer();
  summer.add(bytes);
  return summer.sums();
}

/** The checksums of `x-goog-hash`: `crc32c=…,md5=…`; null where it has none. */
export function readGoogHash(
  header: string | undefined,
): Pick<Record<keyof Sums, string | null>, 'md5' | 'crc32c'> {
  const parts = (header ?? '').split(',').map((part) => part.trim());
  const of = (name: string) =>
    parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
  return { md5: of('md5'), crc32c: of('crc32c') };
}
