// Runs a task for each item with a bounded number under way; the first failure is thrown at the end.

export async function eachBounded<Item>(
  items: Iterable<Item>,
  atOnce: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = rest.next(); !next.done; next = rest.next()) {
      await task(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failures.length > 0) throw failures[0];
}
