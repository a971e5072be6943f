// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Clock, silentLog } from "@purlin/base";
import { collectRegularly } from "./package-manager.ts";

interface Timer {
  readonly delayMs: number;
  readonly task: () => void;
}

function handClock(): Clock & { readonly timers: Timer[] } {
  const timers: Timer[] = [];
  return {
    timers,
    now: () => 0,
    schedule(delayMs, task) {
      const timer = { delayMs, task };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0);
    },
  };
}

test("collection comes a moment after the start, then regularly, also after one that failed", async () => {
  const clock = handClock();
  const logged: string[] = [];
  const log = { ...silentLog, info: (text: string) => void logged.push(text) };
  let runs = 0;
  const collect = async (): Promise<void> => {
    if (++runs === 1) throw new Error("no API server");
  };
  await using _ = collectRegularly(collect, { clock, log, firstMs: 1, everyMs: 10 });
  for (const delayMs of [1, 10, 10]) {
    const timer = clock.timers.shift();
    assert.equal(timer?.delayMs, delayMs);
    timer?.task();
    await setImmediate();
  }
  assert.equal(runs, 3);
  assert.deepEqual(logged, ["failed to collect unused package contents"]);
});

test("stopping ends the wait, aborts a running collection, and waits for it", async () => {
  const clock = handClock();
  const waiting = collectRegularly(async () => {}, { clock, log: silentLog });
  await waiting[Symbol.asyncDispose]();
  assert.equal(clock.timers.length, 0);
  let ended = false;
  const collect = async (signal: AbortSignal): Promise<void> => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await setImmediate();
    ended = true;
    throw new Error("stopped");
  };
  const running = collectRegularly(collect, { clock, log: silentLog });
  for (const { task } of clock.timers.splice(0)) task();
  await running[Symbol.asyncDispose]();
  assert.ok(ended);
  assert.equal(clock.timers.length, 0, "no other one follows");
});
