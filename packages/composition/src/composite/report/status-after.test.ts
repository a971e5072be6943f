// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { CompositeDefinition, CompositeDeps, OwnStatusField } from "../context.ts";
import type { PipelineCondition } from "../run/step-results.ts";
import { appliedStatus, desiredStatus, type StatusDraft, type StatusRules, statusAfter } from "./status-after.ts";
import { baselineOf } from "./status-baseline.ts";

const all: ReadonlySet<OwnStatusField> = new Set(["claimConditions", "lastHandledReconcileAt", "crossplane"] as const);
const legacy: StatusRules = { schema: "legacy", ownFields: all };
const modern: StatusRules = { schema: "modern", ownFields: all };
const stamp = { time: "2026-02-01T00:00:00Z", generation: 1 };
const xr = (status: JsonObject = {}): KubeObject => ({ apiVersion: "e/v1", kind: "App", metadata: {}, status });
const draft = (pipeline: readonly PipelineCondition[], more: Partial<StatusDraft> = {}): StatusDraft => ({
  conditions: { before: [], pipeline, after: [], undetermined: false },
  ...more,
});
const said = (type: string, forClaim: boolean): PipelineCondition => ({ type, status: "True", reason: "R", forClaim });
const types = (status: JsonObject): unknown => [status["claimConditionTypes"], status["claimConditions"]];

test("types for the claim are in both lists, first mention first", () => {
  const status = statusAfter(xr(), draft([said("B", true), said("A", true), said("C", false)]), {
    rules: legacy,
    stamp,
  });
  assert.deepEqual(types(status), [
    ["B", "A"],
    ["B", "A"],
  ]);
});

test("the lists only grow, also when the condition targets the XR alone or is not set", () => {
  const before = xr({ claimConditionTypes: ["A"], claimConditions: ["A"] });
  const status = statusAfter(before, draft([said("A", false), said("B", true)]), { rules: legacy, stamp });
  assert.deepEqual(types(status), [
    ["A", "B"],
    ["A", "B"],
  ]);
});

test("a list written before the mirror existed is mirrored whole", () => {
  const status = statusAfter(xr({ claimConditionTypes: ["A"] }), draft([]), { rules: legacy, stamp });
  assert.deepEqual(types(status), [["A"], ["A"]]);
});

test("a modern XR has no such lists", () => {
  assert.deepEqual(types(statusAfter(xr(), draft([said("A", true)]), { rules: modern, stamp })), [
    undefined,
    undefined,
  ]);
});

test("reserved types are not for the claim either", () => {
  assert.deepEqual(types(statusAfter(xr(), draft([said("Ready", true)]), { rules: legacy, stamp })), [
    undefined,
    undefined,
  ]);
});

test("where the author has a claimConditions of their own, it is never written", () => {
  const rules: StatusRules = { schema: "legacy", ownFields: new Set() };
  const status = statusAfter(xr({ claimConditions: "theirs" }), draft([said("A", true)]), { rules, stamp });
  assert.deepEqual(types(status), [["A"], "theirs"]);
});

test("the token of a request is recorded, unless the field is the author's", () => {
  const status = statusAfter(xr(), draft([], { handledRequest: "t1" }), { rules: modern, stamp });
  assert.equal(status["lastHandledReconcileAt"], "t1");
  const rules: StatusRules = { schema: "modern", ownFields: new Set() };
  assert.equal(
    statusAfter(xr(), draft([], { handledRequest: "t1" }), { rules, stamp })["lastHandledReconcileAt"],
    undefined,
  );
});

test("the function revisions of a pass replace those of the last", () => {
  const before = xr({ crossplane: { functionRevisions: [{ step: "old", functionRevision: "x" }] } });
  const functionRevisions = [{ step: "a", functionRevision: "fn-1" }];
  const status = statusAfter(before, draft([], { functionRevisions }), { rules: modern, stamp });
  assert.deepEqual(status["crossplane"], { functionRevisions });
});

test("what belongs to the control plane is dropped from a function's status", () => {
  const after = { conditions: [], claimConditionTypes: ["A"], url: "old", lastHandledReconcileAt: "t" };
  const wanted = {
    url: "new",
    claimConditionTypes: ["Sneaky"],
    claimConditions: ["Sneaky"],
    lastHandledReconcileAt: "x",
  };
  assert.deepEqual(appliedStatus(wanted, after, legacy), {
    url: "new",
    conditions: [],
    claimConditionTypes: ["A"],
    lastHandledReconcileAt: "t",
  });
});

test("on a modern XR the names of legacy fields are the author's", () => {
  const wanted = { claimConditionTypes: ["mine"], claimConditions: ["mine"], connectionDetails: { host: "h" } };
  assert.deepEqual(appliedStatus(wanted, { conditions: [] }, modern), { ...wanted, conditions: [] });
});

test("what functions no longer want is not applied, although it is stored", () => {
  assert.deepEqual(appliedStatus({}, { conditions: [], url: "old" }, modern), { conditions: [] });
});

test("a condition in a desired status is taken once, and never one of ours", () => {
  const at = { status: "True", reason: "R", lastTransitionTime: "t" };
  const stored = { type: "Db", status: "False", reason: "Stored", lastTransitionTime: "t0" };
  const wanted = {
    conditions: [
      { type: "Db", ...at },
      { type: "New", ...at },
      { type: "Ready", ...at },
    ],
  };
  assert.deepEqual(appliedStatus(wanted, { conditions: [stored] }, modern), {
    conditions: [stored, { type: "New", ...at }],
  });
});

for (const composite of [undefined, {}, { status: null }, { spec: {} }]) {
  test(`the desired status of ${JSON.stringify(composite)} is empty`, () => {
    assert.deepEqual(desiredStatus(composite as JsonObject | undefined), {});
  });
}

for (const [status, shape] of [
  ["x", "string"],
  [[1], "list"],
  [5, "number"],
] as const) {
  test(`a desired status that is a ${shape} is refused`, () => {
    assert.throws(() => desiredStatus({ status }), {
      message: `the desired status is a ${shape}; it must be an object`,
    });
  });
}

test("function revisions that ran before the feature was turned off are not applied again: the CRD no longer declares them", () => {
  const crossplane = { functionRevisions: [{ step: "a", functionRevision: "fn-1" }] };
  const before = xr({ crossplane });
  const definition = { facts: { ownStatusFields: all } } as CompositeDefinition;
  const applied = (functionRevisions: boolean): JsonObject => {
    const deps = { kind: { schema: "modern" }, settings: { functionRevisions } } as CompositeDeps;
    const circuit = { open: false } as Parameters<typeof baselineOf>[1]["circuit"];
    const { rules } = baselineOf(before, { deps, definition, circuit });
    return appliedStatus({}, statusAfter(before, draft([]), { rules, stamp }), rules);
  };
  assert.deepEqual([applied(true)["crossplane"], applied(false)["crossplane"]], [crossplane, undefined]);
});
