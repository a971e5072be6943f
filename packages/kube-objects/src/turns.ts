// SPDX-License-Identifier: Apache-2.0
// Work on large objects, done in parts so that it does not hold the event loop.

/** Work that yields between its parts, and returns its result. */
export type Work<T> = Generator<void, T, void>;

/** Work that also waits: a part may yield a promise. {@link inTurns} does it, and {@link finish} only when it does not wait. */
export type AwaitingWork<T> = Generator<unknown, T, void>;

/** How long parts may take together before the event loop turns. */
const turnMs = 10;

/** Does the work at once. */
export function finish<T>(work: AwaitingWork<T>): T {
  for (;;) {
    const part = work.next();
    if (part.done) return part.value;
    if (part.value instanceof Promise) throw new Error("cannot finish work that waits at once");
  }
}

/**
 * Does the work, waits for the promises it yields, and lets the event loop turn whenever the parts have taken some milliseconds; also after
 * the last one, as more work may follow. The work can catch the error of a promise that it yields.
 */
export async function inTurns<T>(work: AwaitingWork<T>): Promise<T> {
  let start = performance.now();
  let part = work.next();
  for (;;) {
    if (performance.now() - start >= turnMs) {
      await nextTurn();
      start = performance.now();
    }
    if (part.done) return part.value;
    if (part.value instanceof Promise) {
      part = await resumed(work, part.value);
      start = performance.now();
    } else {
      part = work.next();
    }
  }
}

async function resumed<T>(work: AwaitingWork<T>, promise: Promise<unknown>): Promise<IteratorResult<unknown, T>> {
  try {
    await promise;
  } catch (error) {
    return work.throw(error);
  }
  return work.next();
}

/** Work that waits for a promise, and returns its value. */
export function* awaited<T>(promise: Promise<T>): AwaitingWork<T> {
  let value: { readonly of: T } | undefined;
  yield promise.then((result) => {
    value = { of: result };
  });
  if (value === undefined) throw new Error("work was resumed before its promise was settled");
  return (value as { readonly of: T }).of;
}

/** Resolves when the event loop has turned. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
