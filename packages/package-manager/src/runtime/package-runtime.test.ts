// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { createRetirements, createRevisionLeases } from "./package-runtime.ts";

test("a revision is held from the first lease to the release of the last", () => {
  const leases = createRevisionLeases();
  const [first, second] = [leases.acquire("fn-1", "e"), leases.acquire("fn-1", "e")];
  assert.deepEqual([leases.isHeld("fn-1"), leases.isHeld("fn-2")], [true, false]);
  first.release();
  first.release();
  assert.equal(leases.isHeld("fn-1"), true, "a second release has no effect");
  second.release();
  assert.equal(leases.isHeld("fn-1"), false);
});

test("a lease keeps the program that serves its endpoint", () => {
  const calls: string[] = [];
  const leases = createRevisionLeases((revision, endpoint) => {
    calls.push(`+${revision} ${endpoint}`);
    return () => void calls.push(`-${revision} ${endpoint}`);
  });
  const lease = leases.acquire("fn-1", "e");
  assert.deepEqual(calls, ["+fn-1 e"]);
  lease.release();
  assert.deepEqual(calls, ["+fn-1 e", "-fn-1 e"]);
});

test("a retired revision keeps running for a moment, and while it is held", () => {
  const clock = manualClock();
  const leases = createRevisionLeases();
  const lease = leases.acquire("a", "e");
  const retirements = createRetirements({ clock, lingerMs: 1_000, leases });
  assert.equal(retirements.waitMs("a"), 1_000);
  clock.advance(400);
  assert.equal(retirements.waitMs("a"), 600, "the time starts with the first call");
  clock.advance(600);
  assert.equal(retirements.waitMs("a"), 1_000, "a lease is held");
  lease.release();
  assert.equal(retirements.waitMs("a"), 0);
});

test("a lease that is never released is not waited for without limit", () => {
  const clock = manualClock();
  const retirements = createRetirements({ clock, lingerMs: 10, leases: { isHeld: () => true } });
  retirements.waitMs("a");
  clock.advance(149_999);
  assert.ok(retirements.waitMs("a") > 0);
  clock.advance(1);
  assert.equal(retirements.waitMs("a"), 0);
});

test("the time of a revision that was active again starts anew", () => {
  const clock = manualClock();
  const retirements = createRetirements({ clock, lingerMs: 10 });
  retirements.waitMs("a");
  clock.advance(10);
  retirements.forget("a");
  assert.equal(retirements.waitMs("a"), 10);
});
