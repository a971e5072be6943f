// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRevisionLeases } from "./package-runtime.ts";

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
