// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, RunFunctionResponse } from "@purlin/function-protocol";
import { claimConditions, events, outcome } from "./render-scenario.ts";

const response = (json: object): RunFunctionResponse => fromJson(RunFunctionResponse, json);
const both = "TARGET_COMPOSITE_AND_CLAIM";

test("the claim gets the conditions aimed at it, the last of each type", () => {
  const rows = claimConditions(
    response({
      conditions: [
        { type: "A", status: "STATUS_CONDITION_FALSE", reason: "Old", target: both },
        { type: "B", status: "STATUS_CONDITION_TRUE", reason: "Own", target: "TARGET_COMPOSITE" },
        { type: "C", reason: "NoStatus", target: both },
        { type: "A", status: "STATUS_CONDITION_TRUE", reason: "New", message: "m", target: both },
      ],
    }),
  );
  assert.deepEqual(rows, [
    { type: "A", status: "True", reason: "New", message: "m" },
    { type: "C", status: "Unknown", reason: "NoStatus", message: "" },
  ]);
});

test("a fatal result is a warning that ends the list and may reach the claim", () => {
  const { claim, composite } = events(
    response({
      results: [
        { severity: "SEVERITY_NORMAL", message: "note" },
        { severity: "SEVERITY_WARNING", message: "careful", reason: "Own", target: both },
        { severity: "SEVERITY_FATAL", message: "stop", target: both },
        { severity: "SEVERITY_NORMAL", message: "dropped" },
      ],
    }),
  );
  assert.deepEqual(composite, [{ type: "Normal", reason: "ComposeResources", message: "note" }]);
  assert.deepEqual(claim, [
    { type: "Warning", reason: "Own", message: "careful" },
    { type: "Warning", reason: "ReconcileError", message: "stop" },
  ]);
});

test("a result of unknown severity is one warning, on the composite only", () => {
  const { claim, composite } = events(response({ results: [{ severity: 99, message: "odd", target: both }] }));
  assert.deepEqual(claim, []);
  assert.deepEqual(composite, [{ type: "Warning", reason: "ComposeResources", message: "odd" }]);
});

test("a condition of unknown status is Unknown", () => {
  const rows = claimConditions(response({ conditions: [{ type: "A", status: 7, reason: "Odd", target: both }] }));
  assert.deepEqual(rows, [{ type: "A", status: "Unknown", reason: "Odd", message: "" }]);
});

test("what has an unknown target is for the composite only", () => {
  const odd = response({
    results: [{ severity: "SEVERITY_NORMAL", message: "note", target: 9 }],
    conditions: [{ type: "A", status: "STATUS_CONDITION_TRUE", reason: "Own", target: 9 }],
  });
  assert.deepEqual(claimConditions(odd), []);
  assert.deepEqual(events(odd), {
    claim: [],
    composite: [{ type: "Normal", reason: "ComposeResources", message: "note" }],
  });
});

const outcomes: Record<string, { readonly json: object; readonly text: string }> = {
  Fatal: {
    json: { desired: { resources: { a: {} } }, results: [{ severity: "SEVERITY_FATAL" }] },
    text: "The function stopped the pipeline: nothing is applied.",
  },
  Nothing: { json: {}, text: "Nothing is to be applied." },
  Some: {
    json: { desired: { resources: { a: { resource: { kind: "Secret" }, ready: "READY_TRUE" }, b: {} } } },
    text: 'To be applied: Secret "a" (ready), resource "b" (not ready yet).',
  },
};
for (const [name, { json, text }] of Object.entries(outcomes)) {
  test(`outcomes: ${name}`, () => assert.equal(outcome(response(json)), text));
}
