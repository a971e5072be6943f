// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { type FieldError, fieldErrorText, requiredValue } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  all,
  type Check,
  eachItem,
  hasUnreadableSelector,
  inRange,
  isPort,
  listAt,
  maybeNamed,
  named,
  needed,
  notNegative,
  oneOf,
  portNameProblems,
  portProblems,
  selectorErrors,
  selectorInGo,
  selectorProblems,
  within,
} from "./checks.ts";

const texts = (errors: readonly FieldError[]): string[] => errors.map(fieldErrorText);
const run = (check: Check, object: JsonObject): string[] => texts(check(object, "p"));
const missing: Check = (_, path) => [requiredValue(path)];

test("items of a list that are not objects are empty objects", () => {
  assert.deepEqual(listAt({ a: { b: [{ c: 1 }, "x", null] } }, "a", "b"), [{ c: 1 }, {}, {}]);
  assert.deepEqual(listAt({ a: "x" }, "a"), []);
  assert.deepEqual(listAt({}, "a", "b"), []);
});

test("checks are combined: every item, a member that is there, one after the other", () => {
  assert.deepEqual(run(eachItem("list", missing), { list: [{}, {}] }), [
    "p.list[0]: Required value",
    "p.list[1]: Required value",
  ]);
  assert.deepEqual(run(within("member", missing), { member: {} }), ["p.member: Required value"]);
  assert.deepEqual(run(within("member", missing), { member: null }), []);
  assert.deepEqual(run(all(needed("a"), needed("b")), {}), ["p.a: Required value", "p.b: Required value"]);
});

test("a text may be needed, and may have to follow a rule", () => {
  const rule = (text: string): string[] => (text === "ok" ? [] : ["not ok", "really"]);
  const invalid = ['p.a: Invalid value: "x": not ok', 'p.a: Invalid value: "x": really'];
  assert.deepEqual(run(needed("a"), { a: "x" }), []);
  assert.deepEqual(run(named("a", rule), {}), ["p.a: Required value"]);
  assert.deepEqual(run(named("a", rule), { a: "x" }), invalid);
  assert.deepEqual(run(maybeNamed("a", rule), {}), []);
  assert.deepEqual(run(maybeNamed("a", rule), { a: "x" }), invalid);
  assert.deepEqual(run(maybeNamed("a", rule), { a: "ok" }), []);
});

test("a text may have to be one of a few", () => {
  const check = oneOf("a", ["x", "y"]);
  assert.deepEqual(run(check, { a: "y" }), []);
  assert.deepEqual(run(check, {}), []);
  assert.deepEqual(run(check, { a: "z" }), ['p.a: Unsupported value: "z": supported values: "x", "y"']);
});

test("a number may have to be in a range, or not negative", () => {
  const check = inRange("a", 1, 3);
  for (const a of [1, 3, null]) assert.deepEqual(run(check, { a }), [], String(a));
  assert.deepEqual(run(check, {}), []);
  assert.deepEqual(run(check, { a: 0 }), ["p.a: Invalid value: 0: must be between 1 and 3, inclusive"]);
  assert.deepEqual(run(check, { a: 4n }), ["p.a: Invalid value: 4: must be between 1 and 3, inclusive"]);
  assert.deepEqual(run(notNegative("a"), { a: -1 }), ["p.a: Invalid value: -1: must be greater than or equal to 0"]);
  assert.deepEqual(run(notNegative("a"), { a: -(2n ** 60n) }), [
    "p.a: Invalid value: -1152921504606846976: must be greater than or equal to 0",
  ]);
  assert.deepEqual(run(notNegative("a"), { a: 0 }), []);
  assert.deepEqual(run(notNegative("a"), { a: "-1" }), []);
});

test("ports are numbers from 1 to 65535", () => {
  assert.deepEqual([0, 1, 65_535, 65_536, -1, "80", null, undefined].map(isPort), [
    false,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

const portNames: readonly (readonly [string, readonly string[]])[] = [
  ["http", []],
  ["a-1-b", []],
  ["a23456789012345", []],
  ["a234567890123456", ["must be no more than 15 characters"]],
  [
    "HTTP",
    [
      "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
      "must contain at least one letter (a-z)",
    ],
  ],
  ["80", ["must contain at least one letter (a-z)"]],
  ["a--b", ["must not contain consecutive hyphens"]],
  ["-a", ["must not begin or end with a hyphen"]],
  ["a-", ["must not begin or end with a hyphen"]],
  [
    "",
    [
      "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
      "must contain at least one letter (a-z)",
    ],
  ],
];

for (const [name, expected] of portNames) {
  test(`the name of a port: ${JSON.stringify(name)}`, () => {
    assert.deepEqual(portNameProblems(name), expected);
  });
}

test("a port is a number or a name", () => {
  const port = (value: JsonValue | undefined): string[] => texts(portProblems(value, "p"));
  assert.deepEqual(port(80), []);
  assert.deepEqual(port("http"), []);
  assert.deepEqual(port(0), ["p: Invalid value: 0: must be between 1 and 65535, inclusive"]);
  assert.deepEqual(port(undefined), ["p: Invalid value: 0: must be between 1 and 65535, inclusive"]);
  assert.deepEqual(port("80"), ['p: Invalid value: "80": must contain at least one letter (a-z)']);
});

const selector = (...matchExpressions: JsonObject[]): JsonObject => ({ matchExpressions });
const qualified =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const selectors: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["everything", {}, []],
  [
    "all operators",
    selector(
      { key: "a", operator: "In", values: ["x"] },
      { key: "a", operator: "NotIn", values: ["x"] },
      { key: "a", operator: "Exists" },
      { key: "a", operator: "DoesNotExist", values: [] },
    ),
    [],
  ],
  [
    "In without values",
    selector({ key: "a", operator: "In", values: [] }),
    ["p.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
  ],
  [
    "Exists with values",
    selector({ key: "a", operator: "Exists", values: ["x"] }),
    ["p.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
  ],
  [
    "an unknown operator",
    selector({ key: "a", operator: "Gt", values: ["1"] }),
    ['p.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator'],
  ],
  [
    "an invalid key",
    selector({ key: "a b", operator: "Exists" }),
    [`p.matchExpressions[0].key: Invalid value: "a b": ${qualified}`],
  ],
  ["an invalid label", { matchLabels: { "a b": "x" } }, [`p.matchLabels: Invalid value: "a b": ${qualified}`]],
];

for (const [name, object, expected] of selectors) {
  test(`a selector: ${name}`, () => {
    assert.deepEqual(run(selectorProblems, object), expected);
  });
}

const rules = { noun: "deployment", isRequired: true, unreadable: "invalid label selector" };
const workload = (spec: JsonObject): JsonObject => ({
  spec: { template: { metadata: { labels: { app: "web" } } }, ...spec },
});
const workloadErrors = (spec: JsonObject, more: Partial<typeof rules> = {}): string[] =>
  texts(finish(selectorErrors(workload(spec), { ...rules, ...more })));
const mismatch =
  'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`';

test("the selector of a workload picks its template", () => {
  assert.deepEqual(workloadErrors({ selector: { matchLabels: { app: "web" } } }), []);
  assert.deepEqual(workloadErrors({ selector: { matchLabels: { app: "db" } } }), [mismatch]);
  assert.deepEqual(workloadErrors({ selector: selector({ key: "app", operator: "Exists" }) }), []);
});

test("the selector of a workload must be there where it is required", () => {
  assert.deepEqual(workloadErrors({}), ["spec.selector: Required value", mismatch]);
  assert.deepEqual(workloadErrors({}, { isRequired: false }), [mismatch]);
});

test("a workload whose template has no labels is not picked", () => {
  const object = { spec: { selector: { matchLabels: { app: "web" } }, template: {} } };
  assert.deepEqual(texts(finish(selectorErrors(object, rules))), [
    "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
  ]);
});

test("an empty selector is invalid for the kind", () => {
  assert.deepEqual(workloadErrors({ selector: {} }), [
    "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
  ]);
});

test("a selector that cannot be read is shown as the reference prints it", () => {
  const broken = { matchExpressions: [{ key: "a", operator: "Gt" }], matchLabels: { app: "web" } };
  const own = 'spec.selector.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator';
  assert.deepEqual(workloadErrors({ selector: broken }), [
    own,
    'spec.selector: Invalid value: {"matchLabels":{"app":"web"},"matchExpressions":[{"key":"a","operator":"Gt"}]}: invalid label selector',
  ]);
  assert.deepEqual(workloadErrors({ selector: broken }, { isRequired: false }), [own]);
  assert.equal(selectorInGo(broken), '{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"a","operator":"Gt"}]}');
  assert.equal(selectorInGo({}), "{}");
  assert.equal(hasUnreadableSelector(workload({ selector: broken })), true);
  assert.equal(hasUnreadableSelector(workload({ selector: {} })), false);
  assert.equal(hasUnreadableSelector(workload({})), false);
});

test("of a long list with many errors the first hundred are reported, and the rest is not looked at", () => {
  let looks = 0;
  const counted: Check = (_, path) => {
    looks += 1;
    return [requiredValue(path)];
  };
  const errors = run(eachItem("list", counted), { list: Array.from({ length: 1000 }, () => ({})) });
  assert.deepEqual([errors.length, looks, errors.at(-1)], [100, 100, "p.list[99]: Required value"]);
});
