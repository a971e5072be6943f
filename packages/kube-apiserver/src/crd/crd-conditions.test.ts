// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  AcceptedNames,
  acceptedNames,
  isConditionTrue,
  type TakenNames,
  withAcceptedNames,
  withCondition,
  withEstablished,
} from "./crd-conditions.ts";

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

const taken = (others: readonly JsonObject[]): TakenNames => {
  const names = new AcceptedNames();
  for (const [index, other] of others.entries()) names.set(String(index), other);
  return names.othersOf("x", "");
};

/** Its name, why, what it asks for, what another has, the reported conflict, and what it gets. */
type NamesCase = readonly [
  string,
  string,
  JsonObject,
  JsonObject | undefined,
  (readonly [string, string])?,
  JsonObject?,
];

const named = (plural: string, kind: string, more: JsonObject = {}): JsonObject => ({ plural, kind, ...more });
const all = { categories: ["all"] };

const cases: readonly NamesCase[] = [
  ["Alone", "no other definition has them", widget, undefined],
  ["Categories", "are shared", { ...widget, ...all }, named("a", "A", all)],
  [
    "Plural",
    "another's plural",
    named("things", "W"),
    named("things", "Thing"),
    ["PluralConflict", "things"],
    named("", "W"),
  ],
  ["Short", "the same room", named("w", "W"), widget, ["PluralConflict", "w"], named("", "W")],
  ["Singular", "another's", named("ws", "W", { singular: "widget" }), widget, ["SingularConflict", "widget"]],
  ["ShortNames", "one refuses all", named("ws", "W", { shortNames: ["x", "w"] }), widget, ["ShortNamesConflict", "w"]],
  ["Kind", "another's kind", named("ws", "Widget"), widget, ["KindConflict", "Widget"], named("ws", "")],
  ["ListKind", "kinds share a room", named("ws", "W", { listKind: "Widget" }), widget, ["ListKindConflict", "Widget"]],
  ["Last", "of several", named("widgets", "Widget"), widget, ["KindConflict", "Widget"], named("", "")],
];

/** The conditions about names, and the names that are then accepted. */
function assertNames(object: JsonObject, want: JsonObject, [cause, taken]: readonly string[] = []): void {
  assert.deepEqual(acceptedNames(object), want);
  const isTaken = taken !== undefined;
  const { status, reason, message } = conditionOf(object, "NamesAccepted") ?? {};
  const text = isTaken ? `"${taken}" is already in use` : "no conflicts found";
  assert.deepEqual([status, reason, message], [isTaken ? "False" : "True", cause ?? "NoConflicts", text]);
  assert.equal(conditionOf(object, "Established")?.["reason"], isTaken ? "NotAccepted" : "Installing");
}

for (const [name, why, names, other, conflict, want] of cases) {
  test(`names of a definition: ${name}: ${why}`, () => {
    const others = other === undefined ? [] : [crd(other, other)];
    const without = conflict === undefined ? names : named("ws", "W");
    assertNames(withAcceptedNames(crd(names), taken(others), early), want ?? without, conflict);
  });
}

test("what a definition had before it keeps when another has what it asks for now", () => {
  const had = named("ws", "W", { singular: "wone", shortNames: ["ww"] });
  const asked = named("ws", "W", { singular: "widget", shortNames: ["w"] });
  const object = withAcceptedNames(crd(asked, had), taken([crd(widget, widget)]), early);
  assertNames(object, had, ["ShortNamesConflict", "w"]);
});

test("what is established stays so, also when a name is lost", () => {
  const established = withEstablished(withAcceptedNames(crd(widget), taken([]), early), early);
  assert.ok(isConditionTrue(established, "Established"));
  const lost = withAcceptedNames(established, taken([crd(widget, widget)]), late);
  assert.ok(isConditionTrue(lost, "Established"));
  assert.ok(!isConditionTrue(lost, "NamesAccepted"));
});

const ready = { type: "Ready", status: "True", reason: "Done", message: "done" } as const;

test("the time of a condition moves with its status, not with its words", () => {
  const one = withCondition(crd(widget), ready, early);
  assert.equal(withCondition(one, ready, late), one, "an equal condition changes nothing");
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

test("names are free when their last owner goes or changes them, and only in its group", () => {
  const names = new AcceptedNames();
  const inGroup = (group: string, accepted: JsonObject): JsonObject => ({
    spec: { group },
    status: { acceptedNames: accepted, conditions: [{ type: "NamesAccepted", status: "True" }] },
  });
  assert.equal(names.set("a", inGroup("one", widget)), false);
  assert.equal(names.set("b", inGroup("two", widget)), false);
  assert.ok(names.othersOf("x", "one").hasResource("w"));
  assert.ok(names.othersOf("x", "one").hasKind("WidgetList"));
  assert.ok(!names.othersOf("x", "one").hasKind("widgets"), "resources and kinds do not conflict");
  assert.ok(!names.othersOf("a", "one").hasResource("w"), "a definition does not conflict with itself");
  assert.equal(names.set("c", { spec: { group: "one" } }), false);
  assert.deepEqual(names.waiting(), ["c"]);
  assert.equal(names.set("a", inGroup("one", { ...widget, shortNames: [] })), true);
  assert.ok(!names.othersOf("x", "one").hasResource("w"));
  assert.ok(names.othersOf("x", "two").hasResource("w"));
  assert.equal(names.set("b", undefined), true);
  assert.ok(!names.othersOf("x", "two").hasResource("w"));
});
