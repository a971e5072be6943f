// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DelayHeap } from "./work-queue.ts";

function drain(heap: DelayHeap<string>): number[] {
  const taken: number[] = [];
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) taken.push(next.at);
  return taken;
}

test("what is due first comes first, whatever the order of adding", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 50 })), (times) => {
      const heap = new DelayHeap<string>();
      for (const at of times) heap.push({ at, value: "x" });
      assert.equal(heap.size, times.length);
      assert.equal(heap.peek()?.at, times.length === 0 ? undefined : Math.min(...times));
      assert.deepEqual(
        drain(heap),
        times.toSorted((a, b) => a - b),
      );
    }),
  );
});

test("taking and adding may alternate", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 20 }))), (steps) => {
      const heap = new DelayHeap<string>();
      const model: number[] = [];
      for (const step of steps) {
        if (step === null) {
          model.sort((a, b) => a - b);
          assert.equal(heap.pop()?.at, model.shift());
        } else {
          heap.push({ at: step, value: "x" });
          model.push(step);
        }
      }
      assert.equal(heap.size, model.length);
    }),
  );
});

test("a reset heap holds what it was given and nothing else", () => {
  const heap = new DelayHeap<string>();
  heap.push({ at: 1, value: "old" });
  heap.reset([
    { at: 3, value: "b" },
    { at: 2, value: "a" },
  ]);
  assert.deepEqual(drain(heap), [2, 3]);
});
