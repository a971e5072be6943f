// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";
import { silentLog } from "./log.ts";

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

test("now is now, and silence is silence", () => {
  const before = Date.now();
  assert.ok(systemClock.now() >= before);
  silentLog.debug("x");
  silentLog.info("x", { a: 1 });
  silentLog.error("x");
});
