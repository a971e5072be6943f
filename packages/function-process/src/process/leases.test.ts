// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { manualClock } from "@purlin/base/testing";
import { createLeases, createRetirements } from "./leases.ts";

async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await setImmediate();
  return done;
}

test("a retirement ends after the linger time, when the last lease is released", async () => {
  const clock = manualClock();
  const leases = createLeases();
  const retirements = createRetirements({ clock, lingerMs: 10, limitMs: 1_000, leases });
  const first = leases.acquire("a");
  const second = leases.acquire("a");
  leases.acquire("b");
  const released = retirements.ended("a");
  const unused = retirements.ended("c");
  clock.advance(9);
  assert.equal(await isDone(unused), false, "a call may be on its way");
  clock.advance(1);
  assert.equal(await isDone(unused), true);
  first.release();
  first.release();
  assert.equal(await isDone(released), false, "a second release has no effect");
  second.release();
  assert.equal(await isDone(released), true);
});

test("a lease that is never released is not waited for without limit", async () => {
  const clock = manualClock();
  const leases = createLeases();
  leases.acquire("a");
  const released = createRetirements({ clock, lingerMs: 10, limitMs: 1_000, leases }).ended("a");
  clock.advance(10);
  assert.equal(await isDone(released), false);
  clock.advance(1_000);
  assert.equal(await isDone(released), true);
});

test("the last release of a key is reported, until the callback is removed", () => {
  const leases = createLeases();
  const released: string[] = [];
  const end = leases.onChange((key) => void released.push(key));
  const [first, second] = [leases.acquire("a"), leases.acquire("a", () => void released.push("end of a lease"))];
  first.release();
  assert.deepEqual(released, []);
  second.release();
  second.release();
  assert.deepEqual(released, ["a", "end of a lease"]);
  end();
  leases.acquire("a").release();
  assert.equal(released.length, 2);
});

test("a retired revision keeps running for a moment, and while it is held", () => {
  const clock = manualClock();
  const leases = createLeases();
  const lease = leases.acquire("a");
  const retirements = createRetirements({ clock, lingerMs: 1_000, leases });
  assert.equal(retirements.waitMs("a"), 1_000);
  clock.advance(400);
  assert.equal(retirements.waitMs("a"), 600, "the time starts with the first call");
  clock.advance(600);
  assert.equal(retirements.waitMs("a"), 1_000, "a lease is held");
  lease.release();
  assert.equal(retirements.waitMs("a"), 0);
});

test("a held revision is retired after the limit", () => {
  const clock = manualClock();
  const retirements = createRetirements({ clock, lingerMs: 10, leases: { isHeld: () => true } });
  retirements.waitMs("a");
  clock.advance(149_999);
  assert.ok(retirements.waitMs("a") > 0);
  clock.advance(1);
  assert.equal(retirements.waitMs("a"), 0);
});

test("the time of a revision that was active again starts again", () => {
  const clock = manualClock();
  const retirements = createRetirements({ clock, lingerMs: 10 });
  retirements.waitMs("a");
  clock.advance(10);
  retirements.forget("a");
  assert.equal(retirements.waitMs("a"), 10);
});
