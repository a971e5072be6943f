// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, decode, encode, RunFunctionResponse } from "@purlin/function-protocol";
import { type FunctionErrorCode, isFunctionError } from "../errors/function-error.ts";
import * as response from "../response.ts";
import * as rb from "../result.ts";

const refused = (code: FunctionErrorCode) => (error: unknown) => isFunctionError(error, code);

test("the seed's sketch gives one result and one condition, as the wire has them", () => {
  const error = new Error("You may not use this database.");
  const built = rb.fatal(error).targetCompositeAndClaim().withConditionFalse("DatabaseReady", "Unauthorized").build();
  const rsp = create(RunFunctionResponse);
  response.addResult(rsp, built);
  const sent = decode(RunFunctionResponse, encode(RunFunctionResponse, rsp));
  assert.deepEqual(
    sent.results.map(({ severity, message, reason, target }) => ({ severity, message, reason, target })),
    [{ severity: 1, message: error.message, reason: undefined, target: 2 }],
  );
  assert.deepEqual(
    sent.conditions.map(({ type, status, reason, message, target }) => ({ type, status, reason, message, target })),
    [{ type: "DatabaseReady", status: 3, reason: "Unauthorized", message: error.message, target: 2 }],
  );
});

test("the target may come after the condition", () => {
  const first = rb.fatal("e").targetCompositeAndClaim().withConditionFalse("T", "R").build();
  const last = rb.fatal("e").withConditionFalse("T", "R").targetCompositeAndClaim().build();
  assert.deepEqual(last, first);
  assert.equal(
    rb.fatal("e").targetCompositeAndClaim().targetComposite().build().result.target,
    1,
    "the last call wins",
  );
});

for (const type of ["Ready", "Synced", "Healthy", "UpToDate", "Responsive"]) {
  test(`condition type ${type} is reserved`, () => {
    for (const method of ["withConditionTrue", "withConditionFalse", "withConditionUnknown"] as const) {
      assert.throws(() => rb.warning("w")[method](type, "R"), refused("RESERVED_CONDITION"));
    }
  });
}

test("severities, reasons and messages", () => {
  const { result, conditions } = rb
    .normal("all fine")
    .withConditionTrue("A")
    .withConditionUnknown("B", "Own", "own message")
    .withReason("Fine")
    .build();
  assert.deepEqual([result.severity, result.message, result.reason, result.target], [3, "all fine", "Fine", 1]);
  assert.deepEqual(
    conditions.map(({ type, status, reason, message }) => [type, status, reason, message]),
    [
      ["A", 2, "Fine", "all fine"],
      ["B", 1, "Own", "own message"],
    ],
  );
  assert.equal(rb.warning(new Error("w")).build().result.severity, 2);
});

test("a condition needs a reason, and a type only once", () => {
  assert.throws(() => rb.fatal("e").withConditionFalse("T").build(), refused("MISSING_REASON"));
  assert.throws(() => rb.fatal("e").withConditionFalse("T", "").build(), refused("MISSING_REASON"));
  assert.throws(
    () => rb.fatal("e").withConditionFalse("T", "R").withConditionTrue("T", "R"),
    refused("DUPLICATE_CONDITION"),
  );
});

test("what is built is frozen, can be built again, and can be added to many responses", () => {
  const builder = rb.warning("w").withConditionTrue("A", "R");
  const built = builder.build();
  assert.ok([built, built.result, built.conditions, built.conditions[0]].every((part) => Object.isFrozen(part)));
  assert.deepEqual(builder.build(), built);
  const [one, two] = [create(RunFunctionResponse), create(RunFunctionResponse)];
  response.addResult(one, built);
  response.addResult(two, built);
  assert.ok(one.results[0] && one.conditions[0]);
  one.results[0].message = "changed";
  one.conditions[0].type = "changed";
  assert.equal(two.results[0]?.message, "w");
  assert.equal(two.conditions[0]?.type, "A");
});
