// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { repeat, systemClock } from "./clock.ts";
import { silentLog } from "./log.ts";
import { manualClock } from "./testing/manual-clock.ts";

test("a task runs once, unless it is cancelled", async () => {
  const ran: string[] = [];
  const cancel = systemClock.schedule(1, () => ran.push("cancelled"));
  cancel();
  await new Promise<void>((resolve) => {
    // A waiting task does not keep the process alive, so this test does.
    const alive = setTimeout(() => {}, 60_000);
    systemClock.schedule(5, () => {
      ran.push("ran");
      clearTimeout(alive);
      resolve();
    });
  });
  assert.deepEqual(ran, ["ran"]);
});

test("a task for next year does not run now", async () => {
  let ran = false;
  const cancel = systemClock.schedule(365 * 24 * 3_600_000, () => {
    ran = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setTimeout(resolve, 5));
  cancel();
  assert.equal(ran, false);
});

test("the system clock shows the time, and the silent log discards lines", () => {
  const before = Date.now();
  assert.ok(systemClock.now() >= before);
  silentLog.debug("x");
  silentLog.info("x", { a: 1 });
  silentLog.error("x");
});

test("a repeated task runs until it is stopped", () => {
  const clock = manualClock();
  let runs = 0;
  const stop = repeat(clock, 10, () => runs++);
  clock.advance(35);
  assert.equal(runs, 3);
  stop();
  clock.advance(100);
  assert.equal(runs, 3);
  assert.equal(clock.waiting, 0);
});

test("a repeated task that stops itself does not run again", () => {
  const clock = manualClock();
  let runs = 0;
  const stop = repeat(clock, 10, () => {
    runs++;
    stop();
  });
  clock.advance(100);
  assert.equal(runs, 1);
});
