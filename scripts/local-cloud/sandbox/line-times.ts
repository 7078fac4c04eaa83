// `docker logs --timestamps`: the time at which a line began stands in front of it, RFC 3339 with nine
// digits, which is what readers of these lines expect.
import type { Chunk } from '#scripts/local-cloud/sandbox/bounded-log.ts';

const NEWLINE = 0x0a;

export class LineTimes {
  /** Streams in the middle of a line. */
  readonly #open = new Set<number>();

  /** The chunk's bytes with a time in front of each line that begins in it. */
  stamp({ atMs, bytes, stream }: Chunk): Buffer {
    const time = Buffer.from(`${new Date(atMs).toISOString().slice(0, -1)}000000Z `);
    const parts: Buffer[] = [];
    let from = 0;
    while (from < bytes.length) {
      if (!this.#open.has(stream)) parts.push(time);
      const at = bytes.indexOf(NEWLINE, from);
      const to = at < 0 ? bytes.length : at + 1;
      parts.push(bytes.subarray(from, to));
      if (at < 0) this.#open.add(stream);
      else this.#open.delete(stream);
      from = to;
    }
    return Buffer.concat(parts);
  }
}
