// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { cachedDataVersionTag, getHeapStatistics } from "node:v8";
import { collectWhenIdle } from "./collect-when-idle.ts";

const megabyte = 1024 * 1024;

/** A process with a heap of this many MiB and this much to do, which collecting brings back to 40 MiB. */
function pretend(): { busy: number; heap: number; collections: number; stop: () => void } {
  const state = { busy: 0, heap: 40, collections: 0, stop: (): void => {} };
  state.stop = collectWhenIdle({
    busyPart: () => state.busy,
    heapBytes: () => state.heap * megabyte,
    collect: () => {
      state.collections += 1;
      state.heap = 40;
    },
  });
  return state;
}

test("what a burst left behind is collected once it is over, and only once", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const state = pretend();
  state.busy = 0.9;
  state.heap = 110;
  t.mock.timers.tick(10_000);
  assert.equal(state.collections, 0, "no collection while there is work");
  state.busy = 0.001;
  t.mock.timers.tick(2_000);
  assert.equal(state.collections, 1);
  t.mock.timers.tick(60_000);
  assert.equal(state.collections, 1, "nothing was left behind since");
  state.stop();
});

test("little is left alone, and what is in use is not collected again and again", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const state = pretend();
  state.heap = 50;
  t.mock.timers.tick(10_000);
  assert.equal(state.collections, 0);
  state.stop();

  let collections = 0;
  let heap = 40;
  const stop = collectWhenIdle({
    busyPart: () => 0,
    heapBytes: () => heap * megabyte,
    collect: () => {
      collections += 1;
    },
  });
  heap = 200;
  t.mock.timers.tick(60_000);
  assert.equal(collections, 1, "collecting did not help, so it is not tried until there is more");
  stop();
});

test("a process that works a little every minute is not collected in each lull", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const state = pretend();
  const minute = (): void => {
    state.busy = 0.1;
    state.heap = 110;
    t.mock.timers.tick(20_000);
    state.busy = 0.001;
    t.mock.timers.tick(40_000);
  };
  minute();
  assert.equal(state.collections, 1);
  for (let count = 0; count < 4; count++) minute();
  assert.equal(state.collections, 1, "the next one rests for five minutes");
  minute();
  assert.equal(state.collections, 2);
  state.stop();
});

test("a collection that was stopped does not start again", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const state = pretend();
  state.stop();
  state.heap = 200;
  t.mock.timers.tick(10_000);
  assert.equal(state.collections, 0);
});

test("this process really gives memory back", { timeout: 60_000 }, async () => {
  const before = getHeapStatistics().total_heap_size;
  const stop = collectWhenIdle();
  let garbage: unknown[] | undefined = Array.from({ length: 400_000 }, (_, i) => ({ i, text: `garbage ${i}` }));
  assert.ok(getHeapStatistics().total_heap_size - before > 20 * megabyte, `${garbage.length} are not enough`);
  garbage = undefined;
  const grown = getHeapStatistics().total_heap_size;
  while (getHeapStatistics().total_heap_size > grown - 10 * megabyte) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  stop();
});

test("code that was compiled by this process is accepted by the next one", () => {
  const before = cachedDataVersionTag();
  const stop = collectWhenIdle();
  assert.equal(cachedDataVersionTag(), before);
  stop();
});
