// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { ObjectKey } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { type QueuedItem, WorkQueue } from "./work-queue.ts";

const key = (name: string, namespace?: string): ObjectKey => (namespace === undefined ? { name } : { name, namespace });

function newQueue(): { queue: WorkQueue; clock: ManualClock; calls: () => number } {
  const clock = manualClock();
  let calls = 0;
  return { queue: new WorkQueue(clock, () => calls++), clock, calls: () => calls };
}

function takeAll(queue: WorkQueue): string[] {
  const taken: QueuedItem[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  for (const item of taken) queue.done(item);
  return taken.map(({ text }) => text);
}

test("first come, first served, each key once", () => {
  const { queue, calls } = newQueue();
  for (const name of ["b", "a", "b", "c", "a"]) queue.add(key(name));
  queue.add(key("a", "ns"));
  assert.deepEqual([queue.size, calls()], [4, 4]);
  assert.deepEqual(takeAll(queue), ["b", "a", "c", "ns/a"]);
  assert.equal(queue.take(), undefined);
});

test("a key that is worked on comes again only when that is done, and then once", () => {
  const { queue } = newQueue();
  queue.add(key("a"));
  const item = queue.take();
  assert.ok(item);
  queue.add(key("a"));
  queue.add(key("a"));
  assert.equal(queue.take(), undefined);
  queue.done(item);
  assert.deepEqual(takeAll(queue), ["a"]);
  assert.equal(queue.take(), undefined);
});

test("a delayed key waits; the earliest time wins; adding it without delay wins over all", () => {
  const { queue, clock } = newQueue();
  queue.addAfter(key("late"), 100);
  queue.addAfter(key("late"), 500);
  queue.addAfter(key("early"), 500);
  queue.addAfter(key("early"), 50);
  queue.addAfter(key("now"), 500);
  queue.add(key("now"));
  queue.addAfter(key("zero"), 0);
  assert.deepEqual(takeAll(queue), ["now", "zero"]);
  clock.advance(49);
  assert.deepEqual(takeAll(queue), []);
  clock.advance(1);
  assert.deepEqual(takeAll(queue), ["early"]);
  clock.advance(50);
  assert.deepEqual(takeAll(queue), ["late"]);
  clock.advance(1000);
  assert.deepEqual([takeAll(queue), queue.delayed, clock.waiting], [[], 0, 0], "nothing comes twice");
});

test("a delay given while a key is worked on counts", () => {
  const { queue, clock } = newQueue();
  queue.add(key("a"));
  const item = queue.take();
  assert.ok(item);
  queue.addAfter(key("a"), 10);
  queue.done(item);
  assert.deepEqual(takeAll(queue), []);
  clock.advance(10);
  assert.deepEqual(takeAll(queue), ["a"]);
});

test("delays that no longer count do not pile up", () => {
  const { queue, clock } = newQueue();
  for (let i = 0; i < 100_000; i++) {
    queue.addAfter(key("a"), 60_000);
    queue.add(key("a"));
    takeAll(queue);
  }
  assert.ok(clock.waiting <= 1);
  clock.advance(60_000);
  assert.deepEqual(takeAll(queue), []);
});

test("a closed queue gives nothing and takes nothing", () => {
  const { queue, clock } = newQueue();
  queue.add(key("a"));
  const item = queue.take();
  queue.add(key("b"));
  queue.addAfter(key("c"), 10);
  queue.close();
  queue.add(key("d"));
  queue.addAfter(key("e"), 10);
  if (item) queue.done(item);
  clock.advance(100);
  assert.deepEqual([takeAll(queue), clock.waiting], [[], 0]);
});

test("its observer is called for every new key and every change of depth", () => {
  const calls: string[] = [];
  const observer = { added: () => calls.push("add"), depth: (n: number) => calls.push(String(n)) };
  const queue = new WorkQueue(manualClock(), () => {}, observer);
  queue.add(key("a"));
  queue.add(key("a"));
  queue.take();
  queue.close();
  assert.deepEqual(calls, ["add", "1", "0", "0"]);
});

test("whatever happens, every key added is worked on afterwards, and never twice at once", () => {
  const name = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    fc.record({ do: fc.constant("add" as const), name }),
    fc.record({ do: fc.constant("later" as const), name, ms: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ do: fc.constant("take" as const) }),
    fc.record({ do: fc.constant("done" as const) }),
    fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 20 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { queue, clock } = newQueue();
      const owed = new Set<string>();
      const working: QueuedItem[] = [];
      const take = (): void => {
        const item = queue.take();
        if (item === undefined) return;
        assert.ok(!working.some(({ text }) => text === item.text), "one at a time");
        working.push(item);
        owed.delete(item.text);
      };
      for (const one of steps) {
        if (one.do === "add" || one.do === "later") owed.add(one.name);
        if (one.do === "add") queue.add(key(one.name));
        if (one.do === "later") queue.addAfter(key(one.name), one.ms);
        if (one.do === "take") take();
        if (one.do === "wait") clock.advance(one.ms);
        const finished = one.do === "done" ? working.shift() : undefined;
        if (finished) queue.done(finished);
      }
      clock.advance(1000);
      for (const item of working.splice(0)) queue.done(item);
      for (let left = queue.size; left > 0; left--) take();
      assert.deepEqual([...owed], []);
    }),
  );
});
