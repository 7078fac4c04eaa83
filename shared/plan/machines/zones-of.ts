// Zones as they stand in tables: a region and the letters of its zones.

/** `{ 'us-east1': 'bcd' }` as `us-east1-b`, `us-east1-c`, `us-east1-d`. */
export const zonesOf = (letters: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(letters).flatMap(([region, all]) => [...all].map((zone) => `${region}-${zone}`));
