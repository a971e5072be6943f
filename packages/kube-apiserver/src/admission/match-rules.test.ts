// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { untypedValue } from "@purlin/cel";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  compileConditions,
  conditionErrors,
  conditionsHold,
  matchResourcesErrors,
  mutatingRuleErrors,
  operationRuleErrors,
  webhookConditionErrors,
  webhookScope,
} from "./match-rules.ts";

const complete = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const ruleErrors = (more: JsonObject): string[] =>
  operationRuleErrors({ ...complete, ...more }, "r").map(fieldErrorText);

const operations = 'supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"';
const rules: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["a complete rule", {}, []],
  ["stars", { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: "*" }, []],
  [
    "empty lists",
    { operations: [], apiGroups: [], apiVersions: [], resources: [] },
    [
      "r.operations: Required value",
      "r.apiGroups: Required value",
      "r.apiVersions: Required value",
      "r.resources: Required value",
    ],
  ],
  [
    "an unknown operation",
    { operations: ["CREATE", "PATCH"] },
    [`r.operations[1]: Unsupported value: "PATCH": ${operations}`],
  ],
  [
    "a star beside operations",
    { operations: ["CREATE", "*"] },
    [`r.operations: Invalid value: ["CREATE","*"]: if '*' is present, must not specify other operations`],
  ],
  [
    "a star beside groups",
    { apiGroups: ["*", ""] },
    [`r.apiGroups: Invalid value: ["*",""]: if '*' is present, must not specify other API groups`],
  ],
  [
    "a star beside versions",
    { apiVersions: ["*", "v1"] },
    [`r.apiVersions: Invalid value: ["*","v1"]: if '*' is present, must not specify other API versions`],
  ],
  ["an empty version", { apiVersions: ["v1", ""] }, ["r.apiVersions[1]: Required value"]],
  ["an empty group is the core group", { apiGroups: [""] }, []],
  ["an empty resource", { resources: ["pods", ""] }, ["r.resources[1]: Required value"]],
  [
    "*/* beside resources",
    { resources: ["*/*", "pods"] },
    [`r.resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`],
  ],
  [
    "a star beside resources",
    { resources: ["*", "pods"] },
    [
      `r.resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`,
    ],
  ],
  ["a star beside subresources", { resources: ["*", "pods/status"] }, []],
  [
    "a subresource after all of its resource",
    { resources: ["pods/*", "pods/status"] },
    [`r.resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`],
  ],
  [
    "a subresource after that of all resources",
    { resources: ["*/status", "pods/status"] },
    [`r.resources[1]: Invalid value: "pods/status": if '*/status' is present, must not specify pods/status`],
  ],
  ["a subresource before all of its resource", { resources: ["pods/status", "pods/*"] }, []],
  ["different subresources", { resources: ["pods/*", "nodes/status", "*/log"] }, []],
  [
    "an unknown scope",
    { scope: "Everywhere" },
    ['r.scope: Unsupported value: "Everywhere": supported values: "*", "Cluster", "Namespaced"'],
  ],
];

for (const [name, rule, expected] of rules) {
  test(`a rule: ${name}`, () => {
    assert.deepEqual(ruleErrors(rule), expected);
  });
}

const matchErrors = (match: JsonObject): string[] => matchResourcesErrors(match, "m").map(fieldErrorText);

test("the rules and selectors of a policy are checked at their places", () => {
  assert.deepEqual(matchErrors({}), []);
  const selector = { matchExpressions: [{ key: "a", operator: "Like" }] };
  assert.deepEqual(
    matchErrors({
      matchPolicy: "Some",
      namespaceSelector: selector,
      objectSelector: selector,
      resourceRules: [complete, { ...complete, operations: [] }],
      excludeResourceRules: [{ ...complete, scope: "X" }],
    }),
    [
      'm.matchPolicy: Unsupported value: "Some": supported values: "Equivalent", "Exact"',
      'm.namespaceSelector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
      'm.objectSelector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
      "m.resourceRules[1].operations: Required value",
      'm.excludeResourceRules[0].scope: Unsupported value: "X": supported values: "*", "Cluster", "Namespaced"',
    ],
  );
});

test("the names of objects are names of paths, each once, and are checked before the rest of the rule", () => {
  const named = (...resourceNames: string[]): string[] =>
    matchErrors({ resourceRules: [{ ...complete, scope: "X", resourceNames }] });
  assert.deepEqual(named("a", "b/c", "a").slice(0, -1), [
    "m.resourceRules[0].resourceNames[1]: Invalid value: \"b/c\": may not contain '/'",
    'm.resourceRules[0].resourceNames[2]: Duplicate value: "a"',
  ]);
  assert.match(named("a").at(-1) ?? "", /scope/);
});

test("mutating policies cannot select deletions", () => {
  const match = { resourceRules: [complete, { ...complete, operations: ["CREATE", "DELETE", "CONNECT"] }] };
  assert.deepEqual(mutatingRuleErrors(match, "m").map(fieldErrorText), [
    'm.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
  ]);
  assert.deepEqual(mutatingRuleErrors({ resourceRules: [{ ...complete, operations: ["*"] }] }, "m"), []);
  assert.deepEqual(mutatingRuleErrors({}, "m"), []);
});

const conditions = (...matchConditions: JsonObject[]): string[] =>
  finish(webhookConditionErrors({ matchConditions }, "w")).map(fieldErrorText);

test("a condition needs a name and an expression", () => {
  assert.deepEqual(conditions({ name: "a", expression: "true" }, { name: "x.org/b", expression: "object.a == 1" }), []);
  assert.deepEqual(conditions({}), [
    "w.matchConditions[0].expression: Required value",
    "w.matchConditions[0].name: Required value",
  ]);
  assert.deepEqual(conditions({ name: "a", expression: " \n" }), ["w.matchConditions[0].expression: Required value"]);
});

test("the name of a condition is a qualified name, unique in its list", () => {
  const ok = { expression: "true" };
  assert.deepEqual(conditions({ ...ok, name: "a" }, { ...ok, name: "b" }, { ...ok, name: "a" }), [
    'w.matchConditions[2].name: Duplicate value: "a"',
  ]);
  assert.deepEqual(conditions({ ...ok, name: "a b" }), [
    "w.matchConditions[0].name: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ]);
});

test("an expression must compile to a boolean; the error shows it without surrounding spaces", () => {
  const [number] = conditions({ name: "a", expression: " 1 + 1 " });
  assert.equal(number, 'w.matchConditions[0].expression: Invalid value: "1 + 1": must evaluate to bool but got int');
  const [broken = ""] = conditions({ name: "a", expression: "object." });
  assert.match(broken, /^w\.matchConditions\[0\]\.expression: Invalid value: "object\.": compilation failed: /);
});

test("there may be 64 conditions", () => {
  const many = (count: number): string[] =>
    conditions(...Array.from({ length: count }, (_, index) => ({ name: `c${index}`, expression: "true" })));
  assert.deepEqual(many(64), []);
  assert.deepEqual(many(65), ["w.matchConditions: Too many: 65: must have at most 64 items"]);
});

test("what an expression can refer to depends on the scope", () => {
  const one = { matchConditions: [{ name: "a", expression: "params.a == 1" }] };
  assert.equal(finish(conditionErrors(one, "p", { hasParams: true })).length, 0);
  assert.equal(finish(conditionErrors(one, "p", webhookScope)).length, 1);
});

interface Outcome {
  readonly held: boolean | { readonly error: string };
  /** The errors of each observed evaluation. */
  readonly observed: readonly number[];
}

function held(...expressions: string[]): Outcome {
  const observed: number[] = [];
  const compiled = compileConditions(
    expressions.map((expression) => ({ expression })),
    webhookScope,
  );
  const work = conditionsHold(compiled, { object: untypedValue({ a: 1 }) }, (seconds, errors) => {
    assert.ok(seconds >= 0);
    observed.push(errors);
  });
  return { held: finish(work), observed };
}

test("all conditions must hold; only evaluations that do not hold are observed", () => {
  assert.deepEqual(held(), { held: true, observed: [] });
  assert.deepEqual(held("object.a == 1", "true"), { held: true, observed: [] });
  assert.deepEqual(held("true", "object.a == 2"), { held: false, observed: [0] });
});

test("an error counts only when no condition is false", () => {
  assert.deepEqual(held("object.b == 1", "false"), { held: false, observed: [1] });
  assert.deepEqual(held("object.b == 1", "true"), {
    held: { error: "expression 'object.b == 1' resulted in error: no such key: b" },
    observed: [1],
  });
  assert.deepEqual(held("object.b == 1", "object.c == 1"), {
    held: {
      error:
        "[expression 'object.b == 1' resulted in error: no such key: b, expression 'object.c == 1' resulted in error: no such key: c]",
    },
    observed: [2],
  });
});

test("a condition that does not compile is an error", () => {
  const { held: result } = held("object.");
  assert.ok(typeof result === "object" && result.error.startsWith("compilation failed: "));
  assert.equal(held("object.", "false").held, false);
});
