// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

/** Long enough for every controller to have looked again: what wakes them takes milliseconds. */
const observedMs = 2_000;
const pauseMs = 50;

/** Reads a value again and again for a while, and fails as soon as it is another one than wanted. */
export async function stays<T>(what: string, read: () => Promise<T>, wanted: T): Promise<void> {
  const started = performance.now();
  for (;;) {
    const seenMs = performance.now() - started;
    assert.deepEqual(await read(), wanted, `${what} changed after ${Math.round(seenMs)} ms`);
    if (seenMs > observedMs) return;
    await delay(pauseMs);
  }
}
