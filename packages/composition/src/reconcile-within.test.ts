// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "@purlin/kube-controller";
import { reconcileWithin } from "./reconcile-within.ts";

/** A clock whose one timer is moved by hand. */
function handClock(): Clock & { fire(): void; readonly waiting: number } {
  const tasks = new Set<() => void>();
  return {
    now: () => 0,
    schedule(_delayMs, task) {
      tasks.add(task);
      return () => tasks.delete(task);
    },
    fire: () => {
      for (const task of tasks) task();
    },
    get waiting() {
      return tasks.size;
    },
  };
}

const running = new AbortController().signal;

test("a reconcile in time gives its result and leaves no timer", async () => {
  const clock = handClock();
  const reconcile = reconcileWithin(1000, clock, async () => ({ requeue: true }));
  assert.deepEqual(await reconcile({ name: "a" }, running), { requeue: true });
  assert.equal(clock.waiting, 0);
});

test("one that fails leaves no timer either", async () => {
  const clock = handClock();
  const reconcile = reconcileWithin(1000, clock, () => Promise.reject(new Error("boom")));
  await assert.rejects(reconcile({ name: "a" }, running), /boom/);
  assert.equal(clock.waiting, 0);
});

test("when the time is up its work ends, and it may still say so", async () => {
  const clock = handClock();
  const reconcile = reconcileWithin(1000, clock, async (_key, { signal, stopping }) => {
    clock.fire();
    assert.equal(signal.aborted, true);
    assert.equal(stopping.aborted, false);
    signal.throwIfAborted();
    return {};
  });
  await assert.rejects(reconcile({ name: "a" }, running), /the reconcile took longer than 1 s/);
});

test("when the controller stops both end", async () => {
  const stop = new AbortController();
  const reconcile = reconcileWithin(1000, handClock(), async (_key, { signal, stopping }) => {
    stop.abort();
    assert.deepEqual([signal.aborted, stopping.aborted], [true, true]);
    return {};
  });
  assert.deepEqual(await reconcile({ name: "a" }, stop.signal), {});
});
