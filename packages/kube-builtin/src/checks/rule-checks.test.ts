// SPDX-License-Identifier: Apache-2.0
// Rules that several kinds share, and how values of Go types and their differences are printed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { goDifference, goForm, goForms } from "./go-form.ts";
import {
  atRoot,
  changes,
  driverName,
  eachText,
  exactlyOneOf,
  goStruct,
  immutable,
  immutableText,
  inMember,
  noNamespaceField,
  notAbove,
  notNegativeAt,
  onStatus,
  optionallyOneOf,
  selectorAt,
  sharedConditions,
} from "./rule-checks.ts";
import { unifiedDiff } from "./unified-diff.ts";

const texts = (errors: readonly Parameters<typeof fieldErrorText>[0][]): string[] => errors.map(fieldErrorText);

test("a check of the whole object has paths without a dot in front", () => {
  assert.deepEqual(texts(atRoot(exactlyOneOf("a", ["x"]))({})), ['a: Unsupported value: "": supported values: "x"']);
  assert.deepEqual(texts(inMember("spec", exactlyOneOf("a", ["x"]))({})), [
    'spec.a: Unsupported value: "": supported values: "x"',
  ]);
});

test("checks of the status are made on writes to it alone", () => {
  const check = onStatus(notNegativeAt("replicas"));
  const object = { status: { replicas: -1 } };
  assert.deepEqual(texts(check(object, {}, "status")), [
    "status.replicas: Invalid value: -1: must be greater than or equal to 0",
  ]);
  assert.deepEqual(check(object, {}, ""), []);
});

test("members that stay, and how missing ones are printed", () => {
  const change = changes(immutable(["spec", "a"]), immutableText(["spec", "b"]), immutable(["spec", "c"], "shown"));
  const errors = (now: JsonObject, old: JsonObject): string[] => texts(change({ spec: now }, { spec: old }, ""));
  assert.deepEqual(errors({ a: { x: 1, y: [2] } }, { a: { y: [2], x: 1 } }), [], "the order of members does not count");
  assert.deepEqual(errors({}, { a: 1, b: "x", c: true }), [
    "spec.a: Invalid value: null: field is immutable",
    'spec.b: Invalid value: "": field is immutable',
    "shown: Invalid value: null: field is immutable",
  ]);
  assert.deepEqual(errors({ b: "" }, {}), [], "an empty text is as good as none");
});

test("an optional member that is there is one of a few, also when it is empty", () => {
  const check = optionallyOneOf("a", ["x", "y"]);
  assert.deepEqual([check({}, "p"), check({ a: "y" }, "p"), check({ a: 7 }, "p")], [[], [], []]);
  assert.deepEqual(texts(check({ a: "" }, "p")), ['p.a: Unsupported value: "": supported values: "x", "y"']);
});

test("texts of a list, numbers and selectors", () => {
  assert.deepEqual(texts(eachText("l", (text) => (text === "x" ? ["no"] : []))({ l: ["a", "x"] }, "p")), [
    'p.l[1]: Invalid value: "x": no',
  ]);
  assert.deepEqual(texts(notNegativeAt("a", "b", "c")({ a: 0, b: -1, c: -(2n ** 63n) }, "p")), [
    "p.b: Invalid value: -1: must be greater than or equal to 0",
    "p.c: Invalid value: -9223372036854775808: must be greater than or equal to 0",
  ]);
  assert.deepEqual(texts(notAbove(["a", "b"], "most", "too many")({ a: 2, b: 1, most: 1 }, "p")), [
    "p.a: Invalid value: 2: too many",
  ]);
  assert.deepEqual(selectorAt("s")({}, "p"), []);
  assert.deepEqual(texts(selectorAt("s")({ s: { matchLabels: { "a b": "c" } } }, "p")), [
    `p.s.matchLabels: Invalid value: "a b": ${String(labelKeyProblems("a b"))}`,
  ]);
});

test("the name of a driver has up to 63 bytes, in any case", () => {
  const errors = (name: string): string[] => texts(driverName("driver")({ driver: name }, "p"));
  assert.deepEqual([errors("Disk.CSI.example.org"), errors("d".repeat(63))], [[], []]);
  assert.deepEqual(errors(""), ["p.driver: Required value"]);
  assert.deepEqual(errors("d".repeat(64)), ["p.driver: Too long: may not be more than 63 bytes"]);
  assert.equal(errors("a_b").length, 1);
});

const condition = (more: JsonObject = {}): JsonObject => ({
  type: "Ready",
  status: "True",
  reason: "Ok",
  lastTransitionTime: "t",
  ...more,
});
const reasonText =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

test("conditions of the shared type are complete, each type once", () => {
  const errors = (...conditions: JsonObject[]): string[] =>
    texts(sharedConditions({ conditions }, "s")).map((text) => text.replace("s.conditions", "c"));
  assert.deepEqual(errors(condition(), condition({ type: "a.b/C", reason: "A,B:C_" })), []);
  assert.deepEqual(errors(condition(), condition({ message: "x".repeat(32_769), observedGeneration: -1 })), [
    'c[1].type: Duplicate value: "Ready"',
    "c[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
    "c[1].message: Too long: may not be more than 32768 bytes",
  ]);
  assert.deepEqual(errors({ type: "a b", status: "x" }), [
    `c[0].type: Invalid value: "a b": ${String(labelKeyProblems("a b"))}`,
    'c[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"',
    "c[0].lastTransitionTime: Required value",
    "c[0].reason: Required value",
  ]);
  assert.deepEqual(errors(condition({ reason: "1a" }), condition({ type: "b", reason: "a".repeat(1025) })), [
    `c[0].reason: Invalid value: "1a": ${reasonText}`,
    "c[1].reason: Too long: may not be more than 1024 bytes",
  ]);
});

test("kinds of the cluster are not selected by namespace", () => {
  assert.equal(noNamespaceField("metadata.namespace"), "field label not supported: metadata.namespace");
  assert.equal(noNamespaceField("metadata.name"), undefined);
});

const forms: readonly (readonly [type: string, value: JsonValue | undefined, want: string])[] = [
  ["Toleration", {}, '{"Key":"","Operator":"","Value":"","Effect":"","TolerationSeconds":null}'],
  ["Toleration", undefined, '{"Key":"","Operator":"","Value":"","Effect":"","TolerationSeconds":null}'],
  [
    "Toleration",
    { tolerationSeconds: 9223372036854775807n, key: "<a>" },
    '{"Key":"\\u003ca\\u003e","Operator":"","Value":"","Effect":"","TolerationSeconds":9223372036854775807}',
  ],
  [
    "VolumeMount",
    { name: "v", readOnly: true },
    '{"Name":"v","ReadOnly":true,"RecursiveReadOnly":null,"MountPath":"","SubPath":"","MountPropagation":null,"SubPathExpr":""}',
  ],
  [
    "LabelSelector",
    { matchExpressions: [], matchLabels: { b: "1", a: "2" } },
    '{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[]}',
  ],
  ["SuccessPolicy", { rules: [] }, '{"Rules":null}'],
  ["VolumeResourceRequirements", { requests: { storage: "1" } }, '{"Limits":null,"Requests":{"storage":"1"}}'],
  ["ConfigMapEnvSource", { name: "c" }, '{"Name":"c","Optional":null}'],
];

for (const [type, value, want] of forms) {
  test(`the Go form of ${type} ${want.slice(0, 50)}`, () => {
    assert.equal(goForm(type, value), want);
  });
}

test("lists of values and structs", () => {
  assert.equal(goForms("Sysctl", []), "null");
  assert.equal(goForms("Sysctl", [{ name: "a", value: "1" }, {}]), '[{"Name":"a","Value":"1"},{"Name":"","Value":""}]');
  assert.equal(goStruct({ B: "<", A: null }), '{"B":"\\u003c","A":null}');
});

test("what a Pod shares with its host is printed in its security context", () => {
  assert.match(goForm("PodSpec", { hostNetwork: true }), /"SecurityContext":\{"HostNetwork":true,"HostPID":false/);
  assert.match(goForm("PodSpec", {}), /"SecurityContext":null/);
});

test("the difference of two values is that of their lines", () => {
  assert.equal(goDifference("Sysctl", { name: "a", value: "1" }, { name: "a", value: "1" }), "");
  assert.equal(
    goDifference("Sysctl", { name: "a", value: "1" }, { name: "a", value: "<2>" }),
    '@@ -1,4 +1,4 @@\n {\n  "Name": "a",\n- "Value": "1"\n+ "Value": "\\u003c2\\u003e"\n }\n',
  );
});

const lines = (text: string): string[] => text.split("");
const diffs: readonly (readonly [name: string, old: string, now: string, want: string])[] = [
  ["equal texts", "abc", "abc", ""],
  ["two empty texts", "", "", ""],
  ["one line more", "abc", "abxc", "@@ -1,3 +1,4 @@\n a\n b\n+x\n c\n"],
  ["one line less", "abc", "ac", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"],
  ["the first text", "", "a", "@@ -0,0 +1 @@\n+a\n"],
  ["no text", "a", "", "@@ -1 +0,0 @@\n-a\n"],
  ["three lines around a change", "abcdefghi", "abcdXfghi", "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n"],
  [
    "changes with six lines between them are shown together",
    "a123456b",
    "A123456B",
    "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n",
  ],
  [
    "changes with seven lines between them are shown apart",
    "a1234567b",
    "A1234567B",
    "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n",
  ],
];

for (const [name, old, now, want] of diffs) {
  test(`the difference of texts: ${name}`, () => {
    assert.equal(unifiedDiff(lines(old), lines(now)), want);
  });
}
