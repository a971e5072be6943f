// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { idleWrites, writeFigures } from "./writes.ts";

test("writes are listed one by one, without those of users and of leader election", () => {
  const writes = {
    "POST pairs": 10,
    "PUT leases": 3,
    "APPLY configmaps": 20,
    "PUT pairs": 10,
    "POST events": 5,
    "PUT x": 0,
  };
  const figures = writeFigures(writes, 10).map(({ name, median }) => [
    name.replace("cluster: an XR's writes, ", ""),
    median,
  ]);
  assert.deepEqual(figures, [
    ["APPLY configmaps", 2],
    ["PUT pairs", 1],
    ["POST events", 0.5],
    ["all but events", 3],
  ]);
});

test("one write more than needed is short of the target", () => {
  assert.equal(writeFigures({ "APPLY pairs/status": 7 }, 1).at(-1)?.verdict, "short");
  assert.equal(writeFigures({ "APPLY pairs/status": 6 }, 1).at(-1)?.verdict, "pass");
});

test("while nothing happens only the Lease may be written", () => {
  assert.deepEqual(idleWrites({ "PUT leases": 3, "PUT pairs": 1, "POST events": 1 }), { leases: 3, others: 2 });
});
