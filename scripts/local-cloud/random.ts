// The world's own randomness: a seeded generator (mulberry32), so that equal seeds and equal calls
// give equal worlds.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number in [0, limit). */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  /** True with that probability; draws nothing for 0, so that a fault that is off costs no draw. */
  chance(probability: number): boolean {
    return probability > 0 && this.fraction() < probability;
  }

  /** Decimal digits without a leading zero, as Google's numeric ids are. */
  digits(count: number): string {
    let text = String(1 + this.below(9));
    while (text.length < count) {
      text += String(this.below(10));
    }
    return text;
  }

  hexadecimal(count: number): string {
    let text = '';
    while (text.length < count) {
      text += this.below(16).toString(16);
    }
    return text;
  }

  /** So many signs out of the given ones. */
  text(count: number, signs: string): string {
    let text = '';
    while (text.length < count) {
      text += signs.charAt(this.below(signs.length));
    }
    return text;
  }

  /** In the form of a UUID. */
  uuid(): string {
    const digits = this.hexadecimal(32);
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
}
