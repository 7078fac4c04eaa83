// Random numbers of a seed, one stream a name: what one fault draws does not move the others, so that a
// scenario with a fault less is the same scenario otherwise.
import { Random } from '#scripts/local-cloud/random.ts';

export class Draws {
  readonly #seed: number;
  readonly #streams = new Map<string, Random>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  of(name: string): Random {
    const known = this.#streams.get(name);
    if (known !== undefined) return known;
    const stream = new Random(hashText(`${this.#seed}/${name}`));
    this.#streams.set(name, stream);
    return stream;
  }
}

/** FNV-1a, 32 bits. */
export function hashText(text: string, start = 0x811c9dc5): number {
  let hash = start;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[random.below(items.length)];
  if (item === undefined) throw new Error('nothing to draw from');
  return item;
}
