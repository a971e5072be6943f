// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { createRetryDelays } from "./work-queue.ts";

const backoff = { baseMs: 1000, maxMs: 30_000 };
const times = (count: number, next: () => number): number[] => Array.from({ length: count }, next);

test("failures in a row wait twice as long each time, up to the most", () => {
  const delays = createRetryDelays(manualClock(), backoff);
  assert.deepEqual(
    times(7, () => delays.next("a", "failure")),
    [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000],
  );
  assert.equal(delays.next("b", "failure"), 1000, "each key for itself");
  assert.deepEqual([delays.failures("a"), delays.failures("b"), delays.failures("c")], [7, 1, 0]);
});

test("a key that was fine in between starts again", () => {
  const delays = createRetryDelays(manualClock(), backoff);
  delays.next("a", "failure");
  delays.forget("a");
  assert.deepEqual([delays.failures("a"), delays.next("a", "failure")], [0, 1000]);
});

test("a conflict waits much less, but not for ever", () => {
  const delays = createRetryDelays(manualClock(), backoff);
  assert.deepEqual(
    times(3, () => delays.next("a", "conflict")),
    [20, 40, 80],
  );
  for (let i = 0; i < 1000; i++) delays.next("a", "conflict");
  assert.equal(delays.next("a", "conflict"), 30_000, "nor does counting overflow");
});

test("a rate holds for all keys together and is made up in time", () => {
  const clock = manualClock();
  const delays = createRetryDelays(clock, { baseMs: 0, maxMs: 0 }, { perSecond: 10, burst: 2 });
  let key = 0;
  const next = (): number => Math.round(delays.next(String(key++), "failure"));
  assert.deepEqual(times(4, next), [0, 0, 100, 200]);
  clock.advance(1000);
  assert.deepEqual(times(3, next), [0, 0, 100], "no more than the burst is saved");
});
