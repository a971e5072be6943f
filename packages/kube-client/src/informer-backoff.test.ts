// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffDelay, sleep } from "./informer.ts";

const middle = (failures: number): number => Math.round(backoffDelay(failures, () => 0.5));

test("the delay doubles with each failure, up to half a minute", () => {
  assert.deepEqual([0, 1, 2, 7, 8, 9].map(middle), [200, 400, 800, 25_600, 30_000, 30_000]);
  assert.equal(middle(5000), 30_000, "a long series does not overflow");
});

test("the delay differs by a fifth in both directions", () => {
  assert.equal(Math.round(backoffDelay(0, () => 0)), 160);
  assert.equal(Math.round(backoffDelay(0, () => 1)), 240);
  assert.equal(Math.round(backoffDelay(20, () => 1)), 36_000);
});

test("a wait ends at once when its signal is or becomes aborted", async () => {
  await sleep(1e6, AbortSignal.abort());
  const stop = new AbortController();
  const waiting = sleep(1e6, stop.signal);
  stop.abort();
  await waiting;
});
