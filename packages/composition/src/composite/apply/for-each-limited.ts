// SPDX-License-Identifier: Apache-2.0

/**
 * Does something for each item, a few at a time and begun in order. After a failure nothing more is begun; what runs is
 * waited for, and of several failures the one of the earliest item is thrown.
 */
export async function forEachLimited<T>(
  items: readonly T[],
  limit: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const failures: { readonly index: number; readonly error: unknown }[] = [];
  let next = 0;
  async function work(): Promise<void> {
    while (next < items.length && failures.length === 0) {
      const index = next++;
      await action(items[index] as T).catch((error: unknown) => failures.push({ index, error }));
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  const [first] = failures.sort((a, b) => a.index - b.index);
  if (first !== undefined) throw first.error;
}
