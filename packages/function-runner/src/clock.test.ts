// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../test/manual-clock.ts";
import { repeat, systemClock } from "./clock.ts";

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

test("the machine's clock runs a task once, unless it is cancelled", async () => {
  const ran: string[] = [];
  // The clock's own timers do not keep the process alive, so something else has to.
  const alive = setInterval(() => {}, 1000);
  const cancel = systemClock.schedule(0, () => ran.push("cancelled"));
  cancel();
  await new Promise<void>((resolve) => systemClock.schedule(1, resolve));
  clearInterval(alive);
  assert.deepEqual(ran, []);
  const before = Date.now();
  const now = systemClock.now();
  assert.ok(before <= now && now <= Date.now());
});
