// CRC32C (Castagnoli, RFC 3720 appendix B.4), which Cloud Storage gives with every object. Node's own
// zlib.crc32 is another polynomial.

const TABLE = new Uint32Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    value = (value & 1) === 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  }
  return value >>> 0;
});

/** The checksum as an unsigned number. */
export function crc32c(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value = (TABLE[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  }
  return (value ^ 0xffffffff) >>> 0;
}

/** Base64 of the four bytes, most significant first: the form of `crc32c` and `x-goog-hash`. */
export function crc32cText(bytes: Uint8Array): string {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32BE(crc32c(bytes));
  return buffer.toString('base64');
}
