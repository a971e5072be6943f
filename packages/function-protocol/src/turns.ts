// SPDX-License-Identifier: Apache-2.0

/** As long as one part of a long task may take before other work runs. */
const maxMilliseconds = 8;

// One task goes on in each turn of the event loop. Were all of them woken in the same turn, a hundred short parts would make a long one.
const waiting: (() => void)[] = [];

function wakeOne(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(wakeOne);
}

/**
 * Splits a long task so that it does not hold the event loop: `if (turns.isOver) await turns.next()` after each part. Costs
 * a look at the clock until the task has run for some milliseconds.
 */
export class Turns {
  #start = performance.now();

  /** Whether the task has run long enough for now. */
  get isOver(): boolean {
    return performance.now() - this.#start >= maxMilliseconds;
  }

  /** Resolves in a later turn of the event loop. */
  async next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (waiting.push(resolve) === 1) setImmediate(wakeOne);
    await promise;
    this.#start = performance.now();
  }
}

/**
 * Does something for each item, at most `limit` at a time and begun in order, in parts that let other work run. After a failure
 * nothing more is begun; what runs is waited for, and of several failures the one of the earliest item is thrown.
 */
export async function forEachLimited<T>(
  items: readonly T[],
  limit: number,
  action: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const failures: { readonly index: number; readonly error: unknown }[] = [];
  const turns = new Turns();
  let next = 0;
  async function work(): Promise<void> {
    while (next < items.length && failures.length === 0) {
      const index = next++;
      await action(items[index] as T, index).catch((error: unknown) => failures.push({ index, error }));
      if (turns.isOver) await turns.next();
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  const [first] = failures.sort((a, b) => a.index - b.index);
  if (first !== undefined) throw first.error;
}
