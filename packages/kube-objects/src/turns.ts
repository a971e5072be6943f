// SPDX-License-Identifier: Apache-2.0
// Work on large objects, done in parts so that it does not hold the event loop.

/** Work that yields between its parts, and returns its result. */
export type Work<T> = Generator<void, T, void>;

/** How long parts may take together before the event loop turns. */
const turnMs = 10;

/** Does the work at once. */
export function finish<T>(work: Work<T>): T {
  for (;;) {
    const part = work.next();
    if (part.done) return part.value;
  }
}

/**
 * Does the work, and lets the event loop turn whenever the parts have taken some milliseconds; also after the last one, as more work may
 * follow.
 */
export async function inTurns<T>(work: Work<T>): Promise<T> {
  let start = performance.now();
  for (;;) {
    const part = work.next();
    if (performance.now() - start >= turnMs) {
      await nextTurn();
      start = performance.now();
    }
    if (part.done) return part.value;
  }
}

/** Resolves when the event loop has turned. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
