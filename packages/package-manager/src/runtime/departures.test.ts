// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestClock } from "@purlin/function-process/testing";
import { createDepartures } from "./departures.ts";

test("what nobody is sent to stays for a moment, and as long as runs use it", () => {
  const clock = createTestClock();
  let isInUse = true;
  const departures = createDepartures({ clock, lingerMs: 1_000, isInUse: () => isInUse });
  assert.equal(departures.waitMs("a"), 1_000);
  clock.advance(400);
  assert.equal(departures.waitMs("a"), 600, "its time began when it was first asked for");
  clock.advance(600);
  assert.equal(departures.waitMs("a"), 1_000, "a run uses it");
  isInUse = false;
  assert.equal(departures.waitMs("a"), 0);
});

test("a run that never ends is not waited for without limit", () => {
  const clock = createTestClock();
  const departures = createDepartures({ clock, lingerMs: 10, isInUse: () => true });
  departures.waitMs("a");
  clock.advance(149_999);
  assert.ok(departures.waitMs("a") > 0);
  clock.advance(1);
  assert.equal(departures.waitMs("a"), 0);
});

test("the time of what was needed again begins anew", () => {
  const clock = createTestClock();
  const departures = createDepartures({ clock, lingerMs: 10 });
  departures.waitMs("a");
  clock.advance(10);
  departures.forget("a");
  assert.equal(departures.waitMs("a"), 10);
});
