// The command's output on its way through: whole lines, so that the supervisor's own stand alone, and
// the end of all of it kept for the report.

/** Cloud Logging cuts longer lines than this anyway; one that is longer goes through in pieces. */
const LINE_BYTES_MAX = 64 * 1024;
const NEWLINE = 10;

/** Cuts a stream of bytes into whole lines; a line that is too long is given in pieces. */
export class LineCutter {
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  readonly #give: (bytes: Uint8Array, whole: boolean) => void;

  constructor(give: (bytes: Uint8Array, whole: boolean) => void) {
    this.#give = give;
  }

  take(bytes: Uint8Array): void {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      this.#hold(bytes.subarray(0, end));
      this.#let(true);
    }
    this.#hold(bytes.subarray(end));
    if (this.#heldBytes > LINE_BYTES_MAX) this.#let(false);
  }

  /** The stream has ended: what is held goes too. */
  end(): void {
    this.#let(false);
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #let(whole: boolean): void {
    if (this.#heldBytes > 0) this.#give(Buffer.concat(this.#held), whole);
    this.#held = [];
    this.#heldBytes = 0;
  }
}

/** Two streams and the supervisor's own lines, none within a line of another. */
export class OutputRelay {
  readonly #write: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
  readonly tail: Tail;
  #open = false;

  constructor(write: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void, tail: Tail) {
    this.#write = write;
    this.tail = tail;
  }

  cutter(stream: 'stdout' | 'stderr'): LineCutter {
    return new LineCutter((bytes, whole) => {
      this.tail.add(bytes);
      this.#write(stream, bytes);
      if (stream === 'stdout') this.#open = !whole;
    });
  }

  print(line: string): void {
    this.#write('stdout', Buffer.from(this.#open ? `\n${line}` : line));
    this.#open = false;
  }
}

/** The last bytes of what went by. */
export class Tail {
  readonly #ring: Uint8Array;
  #next = 0;
  #full = false;

  constructor(bytesMax: number) {
    this.#ring = new Uint8Array(bytesMax);
  }

  add(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#ring.length));
    const head = kept.subarray(0, this.#ring.length - this.#next);
    this.#ring.set(head, this.#next);
    this.#ring.set(kept.subarray(head.length), 0);
    this.#full ||= this.#next + kept.length >= this.#ring.length;
    this.#next = (this.#next + kept.length) % this.#ring.length;
  }

  /** What is no UTF-8 is replaced; half a character at the cut is left out. */
  text(): string {
    const end = this.#ring.subarray(0, this.#next);
    if (!this.#full) return new TextDecoder().decode(end);
    const all = Buffer.concat([this.#ring.subarray(this.#next), end]);
    let begin = 0;
    while (begin < 3 && ((all[begin] ?? 0) & 0xc0) === 0x80) begin += 1;
    return new TextDecoder().decode(all.subarray(begin));
  }
}
