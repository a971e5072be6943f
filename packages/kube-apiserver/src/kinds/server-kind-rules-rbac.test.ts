// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type FieldError, fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KindRules } from "../strategy/kind-rules.ts";
import { clusterRoleBindingRules, clusterRoleRules, roleBindingRules, roleRules } from "./server-kind-rules.ts";

const group = "rbac.authorization.k8s.io";
const texts = (errors: readonly FieldError[] | undefined): string[] => (errors ?? []).map(fieldErrorText);
const errorsOf = (rules: KindRules, object: JsonObject): string[] => texts(rules.validate?.(object));

const complete = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };

const rules: readonly (readonly [string, JsonObject, readonly string[], readonly string[]])[] = [
  ["a rule about resources", complete, [], []],
  ["a rule with the names of objects", { ...complete, resourceNames: ["a"] }, [], []],
  [
    "no verbs",
    { ...complete, verbs: [] },
    ["rules[0].verbs: Required value: verbs must contain at least one value"],
    [],
  ],
  [
    "nothing",
    {},
    [
      "rules[0].verbs: Required value: verbs must contain at least one value",
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
      "rules[0].resources: Required value: resource rules must supply at least one resource",
    ],
    [],
  ],
  [
    "no API group",
    { resources: ["pods"], verbs: ["get"] },
    ["rules[0].apiGroups: Required value: resource rules must supply at least one api group"],
    [],
  ],
  [
    "a path",
    { nonResourceURLs: ["/x"], verbs: ["get"] },
    [],
    ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
  ],
  [
    "a path and resources",
    { ...complete, nonResourceURLs: ["/x", "/y"] },
    [
      'rules[0].nonResourceURLs: Invalid value: ["/x","/y"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    ['rules[0].nonResourceURLs: Invalid value: ["/x","/y"]: namespaced rules cannot apply to non-resource URLs'],
  ],
  [
    "a path and names of objects, without verbs",
    { nonResourceURLs: ["/x"], resourceNames: ["a"] },
    [
      "rules[0].verbs: Required value: verbs must contain at least one value",
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
  ],
];

for (const [name, rule, ofAll, ofRoles] of rules) {
  test(`a rule of a role: ${name}`, () => {
    assert.deepEqual(errorsOf(clusterRoleRules, { rules: [rule] }), ofAll);
    assert.deepEqual(new Set(errorsOf(roleRules, { rules: [rule] })), new Set([...ofAll, ...ofRoles]));
  });
}

test("the path of an error has the index of the rule", () => {
  assert.deepEqual(errorsOf(roleRules, { rules: [complete, { ...complete, verbs: [] }] }), [
    "rules[1].verbs: Required value: verbs must contain at least one value",
  ]);
  assert.deepEqual(errorsOf(roleRules, { rules: null }), []);
});

test("an aggregation rule needs selectors, and its selectors must be valid", () => {
  const withSelectors = (...clusterRoleSelectors: JsonObject[]): string[] =>
    errorsOf(clusterRoleRules, { aggregationRule: { clusterRoleSelectors } });
  assert.deepEqual(withSelectors({ matchLabels: { a: "b" } }, {}), []);
  const required =
    "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil";
  assert.deepEqual(withSelectors(), [required]);
  assert.deepEqual(errorsOf(clusterRoleRules, { aggregationRule: {} }), [required]);
  assert.deepEqual(errorsOf(clusterRoleRules, { aggregationRule: null }), []);
  const at = "aggregationRule.clusterRoleSelectors[1]";
  assert.deepEqual(withSelectors({}, { matchExpressions: [{ key: "a", operator: "In" }] }), [
    `${at}.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
    `${at}: Invalid value: null: invalid label selector.`,
  ]);
  assert.deepEqual(errorsOf(roleRules, { aggregationRule: {} }), [], "a Role has none");
});

const roleRef = { apiGroup: group, kind: "ClusterRole", name: "view" };

const subjects: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["a user", { kind: "User", apiGroup: group, name: "jane" }, []],
  ["a group", { kind: "Group", apiGroup: group, name: "system:authenticated" }, []],
  [
    "a user without a group",
    { kind: "User", name: "jane" },
    [`subjects[0].apiGroup: Unsupported value: "": supported values: "${group}"`],
  ],
  ["a group without a name", { kind: "Group", apiGroup: group }, ["subjects[0].name: Required value"]],
  ["a ServiceAccount", { kind: "ServiceAccount", namespace: "ns", name: "robot.1" }, []],
  [
    "a ServiceAccount with a group and a bad name",
    { kind: "ServiceAccount", namespace: "ns", name: "Robot", apiGroup: group },
    [
      "subjects[0].name: Invalid value: \"Robot\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      `subjects[0].apiGroup: Unsupported value: "${group}": supported values: ""`,
    ],
  ],
  [
    "a ServiceAccount without a name",
    { kind: "ServiceAccount", namespace: "ns" },
    ["subjects[0].name: Required value"],
  ],
  [
    "another kind",
    { kind: "Node", name: "a" },
    ['subjects[0].kind: Unsupported value: "Node": supported values: "ServiceAccount", "User", "Group"'],
  ],
];

for (const [name, subject, expected] of subjects) {
  test(`a subject of a binding: ${name}`, () => {
    const object = { roleRef, subjects: [subject] };
    assert.deepEqual(errorsOf(clusterRoleBindingRules, object), expected);
    assert.deepEqual(errorsOf(roleBindingRules, object), expected);
  });
}

test("a ServiceAccount needs a namespace where the binding has none", () => {
  const object = { roleRef, subjects: [{ kind: "ServiceAccount", name: "robot" }] };
  assert.deepEqual(errorsOf(roleBindingRules, object), []);
  assert.deepEqual(errorsOf(clusterRoleBindingRules, object), ["subjects[0].namespace: Required value"]);
});

test("a binding without subjects is valid", () => {
  assert.deepEqual(errorsOf(roleBindingRules, { roleRef }), []);
});

test("the role of a binding has a group, a kind that the binding may refer to, and a name", () => {
  const withRef = (ref: JsonObject): JsonObject => ({ roleRef: ref });
  assert.deepEqual(errorsOf(roleBindingRules, withRef({ ...roleRef, kind: "Role" })), []);
  assert.deepEqual(errorsOf(clusterRoleBindingRules, withRef({ ...roleRef, kind: "Role" })), [
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
  ]);
  assert.deepEqual(errorsOf(roleBindingRules, {}), [
    `roleRef.apiGroup: Unsupported value: "": supported values: "${group}"`,
    'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
    "roleRef.name: Required value",
  ]);
  assert.deepEqual(errorsOf(roleBindingRules, withRef({ ...roleRef, name: "system:a" })), []);
  assert.deepEqual(errorsOf(roleBindingRules, withRef({ ...roleRef, name: "a/b%" })), [
    "roleRef.name: Invalid value: \"a/b%\": may not contain '/'",
    "roleRef.name: Invalid value: \"a/b%\": may not contain '%'",
  ]);
});

test("the role of a binding cannot be changed", () => {
  const change = (ref: JsonObject | undefined): string[] =>
    texts(roleBindingRules.validateChange?.(ref === undefined ? {} : { roleRef: ref }, { roleRef }, ""));
  const { name, kind, apiGroup } = roleRef;
  assert.deepEqual(change({ name, kind, apiGroup }), [], "the order of members does not matter");
  assert.deepEqual(change({ ...roleRef, name: "edit" }), [
    `roleRef: Invalid value: {"APIGroup":"${group}","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef`,
  ]);
  assert.deepEqual(change(undefined), [
    'roleRef: Invalid value: {"APIGroup":"","Kind":"","Name":""}: cannot change roleRef',
  ]);
});
