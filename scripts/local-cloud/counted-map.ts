// A map that counts its changes, so that what was worked out from it can be kept until the next one.

export class CountedMap<Key, Value> extends Map<Key, Value> {
  changes = 0;

  override set(key: Key, value: Value): this {
    this.changes += 1;
    return super.set(key, value);
  }

  override delete(key: Key): boolean {
    this.changes += 1;
    return super.delete(key);
  }

  override clear(): void {
    this.changes += 1;
    super.clear();
  }
}

/** Keeps the last result for each map, as long as map and `about` stay the same. */
export function rememberLast<Key, Value, Result>(
  work: (map: CountedMap<Key, Value>, about: string) => Result,
): (map: CountedMap<Key, Value>, about: string) => Result {
  const kept = new WeakMap<object, { changes: number; about: string; result: Result }>();
  return (map, about) => {
    const known = kept.get(map);
    if (known?.changes === map.changes && known.about === about) {
      return known.result;
    }
    const result = work(map, about);
    kept.set(map, { changes: map.changes, about, result });
    return result;
  };
}
