// SPDX-License-Identifier: Apache-2.0
// Whatever is added, delayed, taken and finished in whatever order: no key is worked on twice at a time, none is forgotten.

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import fc from "fast-check";
import { type QueuedItem, WorkQueue } from "./work-queue.ts";

type Move =
  | { readonly do: "add"; readonly key: number }
  | { readonly do: "delay"; readonly key: number; readonly ms: number }
  | { readonly do: "take" }
  | { readonly do: "finish"; readonly index: number }
  | { readonly do: "wait"; readonly ms: number };

const key = fc.integer({ min: 0, max: 4 });
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ do: fc.constant("add" as const), key }),
  fc.record({ do: fc.constant("delay" as const), key, ms: fc.integer({ min: 0, max: 50 }) }),
  fc.record({ do: fc.constant("take" as const) }),
  fc.record({ do: fc.constant("finish" as const), index: fc.nat(10) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 60 }) }),
);

const nameOf = (number: number) => ({ namespace: "n", name: `k${number}` });

/** What is owed to each key: a look that began after it was asked for. */
class Model {
  readonly owed = new Map<string, number>();

  ask(name: string, at: number): void {
    this.owed.set(name, Math.min(at, this.owed.get(name) ?? Number.POSITIVE_INFINITY));
  }
}

function play(moves: readonly Move[]): void {
  const clock = manualClock(0);
  const queue = new WorkQueue(clock, () => {});
  const model = new Model();
  const working: QueuedItem[] = [];
  const take = (): QueuedItem | undefined => {
    const item = queue.take();
    if (item === undefined) return undefined;
    assert.ok(!working.some(({ text }) => text === item.text), `${item.text} is worked on already`);
    assert.ok(item.since <= clock.now());
    model.owed.delete(item.key.name);
    working.push(item);
    return item;
  };
  for (const one of moves) {
    if (one.do === "add") {
      queue.add(nameOf(one.key));
      model.ask(`k${one.key}`, clock.now());
    } else if (one.do === "delay") {
      queue.addAfter(nameOf(one.key), one.ms);
      model.ask(`k${one.key}`, clock.now() + one.ms);
    } else if (one.do === "take") take();
    else if (one.do === "wait") clock.advance(one.ms);
    else {
      const [done] = working.splice(one.index % Math.max(1, working.length), 1);
      if (done !== undefined) queue.done(done);
    }
  }
  settle(queue, working, clock, take);
  assert.deepEqual([...model.owed.keys()], [], "everything that was asked for was looked at");
  assert.deepEqual([queue.size, queue.delayed], [0, 0]);
}

/** Works until there is nothing left, with all the time in the world. */
function settle(
  queue: WorkQueue,
  working: QueuedItem[],
  clock: ReturnType<typeof manualClock>,
  take: () => QueuedItem | undefined,
): void {
  for (let round = 0; round < 10; round++) {
    clock.advance(100);
    for (const item of working.splice(0)) queue.done(item);
    while (take() !== undefined) {
      // All of them are finished in the next round.
    }
  }
  for (const item of working.splice(0)) queue.done(item);
}

test("no key twice at a time, none forgotten", () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 60 }), (moves) => play(moves)),
    { numRuns: 500 },
  );
});

test("keys that were not delayed come in the order in which they were first added", () => {
  fc.assert(
    fc.property(fc.array(key, { maxLength: 30 }), (keys) => {
      const queue = new WorkQueue(manualClock(0), () => {});
      for (const one of keys) queue.add(nameOf(one));
      const taken: string[] = [];
      for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item.key.name);
      assert.deepEqual(taken, [...new Set(keys.map((one) => `k${one}`))]);
    }),
  );
});

test("a delayed key is ready at the earliest of its times, never before", () => {
  const delays = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(delays, (all) => {
      const clock = manualClock(0);
      const queue = new WorkQueue(clock, () => {});
      for (const ms of all) queue.addAfter(nameOf(0), ms);
      const first = Math.min(...all);
      clock.advance(first - 1);
      assert.equal(queue.size, 0);
      clock.advance(1);
      assert.equal(queue.size, 1);
      clock.advance(2000);
      assert.deepEqual([queue.size, queue.delayed], [1, 0], "once, however often it was asked for");
    }),
  );
});
