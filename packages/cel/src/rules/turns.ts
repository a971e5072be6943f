// SPDX-License-Identifier: Apache-2.0
import { setImmediate as nextTurn } from "node:timers/promises";

const maxMilliseconds = 10;

/** Takes all steps, and lets the event loop turn whenever they have taken some milliseconds. */
export async function inTurns(steps: Iterable<void>, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  let start = performance.now();
  for (const _ of steps) {
    if (performance.now() - start < maxMilliseconds) continue;
    await nextTurn(undefined, signal ? { signal } : {});
    start = performance.now();
  }
}

/** Takes all steps at once. */
export function atOnce(steps: Iterable<void>): void {
  for (const _ of steps);
}
