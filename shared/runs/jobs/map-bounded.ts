const AT_ONCE = 16;

/** The results in order, with a bounded number of calls at once; the first failure is thrown. */
export async function mapBounded<From, To>(
  items: readonly From[],
  map: (item: From) => Promise<To>,
  atOnce: number = AT_ONCE,
): Promise<To[]> {
  const results: To[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await map(items[index] as From);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
