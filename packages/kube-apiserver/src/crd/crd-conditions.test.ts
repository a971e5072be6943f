// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects";
import { acceptedNames, isConditionTrue, withAcceptedNames, withCondition, withEstablished } from "./crd-conditions.ts";

const [early, late] = ["2026-11-15T12:00:00Z", "2026-11-15T13:00:00Z"];

const crd = (names: JsonObject, accepted?: JsonObject): JsonObject => ({
  metadata: { name: "x" },
  spec: { names },
  ...(accepted === undefined ? {} : { status: { acceptedNames: accepted } }),
});

const widget = { plural: "widgets", singular: "widget", shortNames: ["w"], kind: "Widget", listKind: "WidgetList" };
const conditionOf = (object: JsonObject, type: string): JsonObject | undefined => {
  const { conditions = [] } = (object["status"] ?? {}) as { readonly conditions?: readonly JsonObject[] };
  return conditions.find((one) => one["type"] === type);
};

const cases: Record<
  string,
  {
    reason: string;
    names: JsonObject;
    had?: JsonObject;
    other?: JsonObject;
    conflict?: [string, string];
    want: JsonObject;
  }
> = {
  Alone: { reason: "nobody else has them", names: widget, want: widget },
  Categories: {
    reason: "are nobody's alone",
    names: { ...widget, categories: ["all"] },
    other: { plural: "a", kind: "A", categories: ["all"] },
    want: { ...widget, categories: ["all"] },
  },
  Plural: {
    reason: "another's plural",
    names: { plural: "things", kind: "Widget" },
    other: { plural: "things", kind: "Thing" },
    conflict: ["PluralConflict", "things"],
    want: { plural: "", kind: "Widget" },
  },
  PluralOfShortName: {
    reason: "all names of resources are in one room",
    names: { plural: "w", kind: "W" },
    other: widget,
    conflict: ["PluralConflict", "w"],
    want: { plural: "", kind: "W" },
  },
  Singular: {
    reason: "another's singular",
    names: { plural: "ws", singular: "widget", kind: "W" },
    other: widget,
    conflict: ["SingularConflict", "widget"],
    want: { plural: "ws", kind: "W" },
  },
  ShortNames: {
    reason: "one taken short name refuses them all",
    names: { plural: "ws", shortNames: ["x", "w"], kind: "W" },
    other: widget,
    conflict: ["ShortNamesConflict", "w"],
    want: { plural: "ws", kind: "W" },
  },
  Kind: {
    reason: "another's kind",
    names: { plural: "ws", kind: "Widget" },
    other: widget,
    conflict: ["KindConflict", "Widget"],
    want: { plural: "ws", kind: "" },
  },
  KindOfListKind: {
    reason: "kinds and kinds of lists are in one room",
    names: { plural: "ws", kind: "W", listKind: "Widget" },
    other: widget,
    conflict: ["ListKindConflict", "Widget"],
    want: { plural: "ws", kind: "W" },
  },
  Last: {
    reason: "of several conflicts the last is told",
    names: { plural: "widgets", kind: "Widget" },
    other: widget,
    conflict: ["KindConflict", "Widget"],
    want: { plural: "", kind: "" },
  },
  Kept: {
    reason: "what it had before it keeps",
    names: { plural: "ws", singular: "widget", shortNames: ["w"], kind: "W" },
    had: { plural: "ws", singular: "wone", shortNames: ["ww"], kind: "W" },
    other: widget,
    conflict: ["ShortNamesConflict", "w"],
    want: { plural: "ws", singular: "wone", shortNames: ["ww"], kind: "W" },
  },
};

for (const [name, { reason, names, had, other, conflict, want }] of Object.entries(cases)) {
  test(`names of a definition: ${name}`, () => {
    const named = withAcceptedNames(crd(names, had), other === undefined ? [] : [crd(other, other)], early);
    assert.deepEqual(acceptedNames(named), want, reason);
    const [told = "NoConflicts", taken] = conflict ?? [];
    const { status, reason: why, message } = conditionOf(named, "NamesAccepted") ?? {};
    const text = taken === undefined ? "no conflicts found" : `"${taken}" is already in use`;
    assert.deepEqual([status, why, message], [conflict === undefined ? "True" : "False", told, text], reason);
    const established = conditionOf(named, "Established");
    assert.equal(established?.["reason"], conflict === undefined ? "Installing" : "NotAccepted", reason);
  });
}

test("what is established stays so, also when a name is lost", () => {
  const established = withEstablished(withAcceptedNames(crd(widget), [], early), early);
  assert.ok(isConditionTrue(established, "Established"));
  const taken = withAcceptedNames(established, [crd(widget, widget)], late);
  assert.ok(isConditionTrue(taken, "Established"));
  assert.ok(!isConditionTrue(taken, "NamesAccepted"));
});

const ready = { type: "Ready", status: "True", reason: "Done", message: "done" } as const;

test("the time of a condition moves with its status, not with its words", () => {
  const one = withCondition(crd(widget), ready, early);
  assert.equal(withCondition(one, ready, late), one, "the same says nothing new");
  const reworded = withCondition(one, { ...ready, message: "all done" }, late);
  assert.deepEqual(conditionOf(reworded, "Ready"), { ...ready, message: "all done", lastTransitionTime: early });
  const changed = withCondition(reworded, { ...ready, status: "False" }, late);
  assert.equal(conditionOf(changed, "Ready")?.["lastTransitionTime"], late);
});

test("conditions keep their places, and a new one comes last", () => {
  const two = withCondition(withCondition(crd(widget), ready, early), { ...ready, type: "Other" }, early);
  const again = withCondition(two, { ...ready, status: "False" }, late);
  const { conditions } = again["status"] as unknown as { readonly conditions: readonly JsonObject[] };
  assert.deepEqual(
    conditions.map((one) => one["type"]),
    ["Ready", "Other"],
  );
  assert.ok(!isConditionTrue(crd(widget), "Ready"), "none is not True");
});
