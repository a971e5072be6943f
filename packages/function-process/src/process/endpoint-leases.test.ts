// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { manualClock } from "@purlin/base/testing";
import { createEndpointLeases } from "./endpoint-leases.ts";

async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await setImmediate();
  return done;
}

test("released resolves after the linger time, once the last call is over", async () => {
  const clock = manualClock();
  const leases = createEndpointLeases({ clock, lingerMs: 10, limitMs: 1_000 });
  const first = leases.acquire("a");
  const second = leases.acquire("a");
  leases.acquire("b");
  const released = leases.released("a");
  const unused = leases.released("c");
  clock.advance(9);
  assert.equal(await isDone(unused), false, "a run may be on its way");
  clock.advance(1);
  assert.equal(await isDone(unused), true);
  first();
  first();
  assert.equal(await isDone(released), false, "a run that ends twice counts once");
  second();
  assert.equal(await isDone(released), true);
});

test("a run that never ends is not waited for without limit", async () => {
  const clock = manualClock();
  const leases = createEndpointLeases({ clock, lingerMs: 10, limitMs: 1_000 });
  leases.acquire("a");
  const released = leases.released("a");
  clock.advance(10);
  assert.equal(await isDone(released), false);
  clock.advance(1_000);
  assert.equal(await isDone(released), true);
});
