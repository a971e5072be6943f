// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "../test/manual-clock.ts";
import { parseGoDuration, repeat, systemClock } from "./clock.ts";
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

const durations: Readonly<Record<string, number | undefined>> = {
  "90s": 90_000,
  "1m30s": 90_000,
  "1h": 3_600_000,
  "1h2m3s4ms": 3_723_004,
  "1.5h": 5_400_000,
  ".5s": 500,
  "2.s": 2000,
  "100ms": 100,
  "1us": 0.001,
  "2µs": 0.002,
  "2μs": 0.002,
  "1000000ns": 1,
  "-1s": -1000,
  "+1s": 1000,
  "-1m30s": -90_000,
  "0": 0,
  "0s": 0,
  "": undefined,
  "5": undefined,
  "1 s": undefined,
  "1sx": undefined,
  "1d": undefined,
  ".s": undefined,
  "1m30": undefined,
  "1.2.3s": undefined,
  s: undefined,
  "-": undefined,
  "--1s": undefined,
};

for (const [text, want] of Object.entries(durations)) {
  test(`a Go duration ${JSON.stringify(text)} is ${want} ms`, () => assert.equal(parseGoDuration(text), want));
}

test("a text as long as an annotation may be costs its length, not its square", () => {
  // With a number that can be read in more than one way these take minutes; the test's own time limit would end them.
  const digits = "1".repeat(250_000);
  assert.equal(parseGoDuration(digits), undefined);
  assert.equal(parseGoDuration(`${digits}.${digits}`), undefined);
  assert.equal(parseGoDuration("1s".repeat(125_000)), 125_000_000);
});
