// SPDX-License-Identifier: Apache-2.0

/**
 * Does some work for each item, so many at a time, and gives the results in order. After the first failure nothing new is begun;
 * what runs is waited for, so that nothing goes on behind the back of whoever is told.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length && failures.length === 0; at = next++) {
      try {
        results[at] = await work(items[at] as T);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
