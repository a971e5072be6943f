// SPDX-License-Identifier: Apache-2.0
// Affinity, spread, gates, tolerations and device claims of Pods. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { affinity, resourceClaims, schedulingGates, tolerationErrors, topologySpread } from "./scheduling.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const keyText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const valueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const empty = "name part must be non-empty";

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const term = (more: JsonObject = {}): JsonObject => ({ topologyKey: "zone", labelSelector: {}, ...more });
const near = (more: JsonObject): JsonObject => ({ podAffinity: { [required]: [term(more)] } });
const at = `s.affinity.podAffinity.${required}[0]`;

const affinities: readonly Case[] = [
  ["none", {}, []],
  ["Pods nearby", near({ namespaces: ["a"], matchLabelKeys: ["x"], mismatchLabelKeys: ["y"] }), []],
  [
    "no topology",
    near({ topologyKey: "" }),
    [
      `${at}.topologyKey: Required value: can not be empty`,
      `${at}.topologyKey: Invalid value: "": ${empty}`,
      `${at}.topologyKey: Invalid value: "": ${keyText}`,
    ],
  ],
  ["an invalid namespace", near({ namespaces: ["a", "B"] }), [`${at}.namespace: Invalid value: "B": ${labelText}`]],
  [
    "invalid selectors",
    near({
      labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
      namespaceSelector: { matchExpressions: [{ key: "a", operator: "x" }] },
    }),
    [
      `${at}.labelSelector.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `${at}.namespaceSelector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator`,
    ],
  ],
  [
    "keys without a selector",
    { podAntiAffinity: { [required]: [{ topologyKey: "zone", matchLabelKeys: ["a"], mismatchLabelKeys: ["b"] }] } },
    [
      `s.affinity.podAntiAffinity.${required}[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
      `s.affinity.podAntiAffinity.${required}[0].mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
    ],
  ],
  ["invalid keys", near({ matchLabelKeys: ["a b"] }), [`${at}.matchLabelKeys[0]: Invalid value: "a b": ${keyText}`]],
  [
    "a key in both lists",
    near({ matchLabelKeys: ["a", "b"], mismatchLabelKeys: ["b"] }),
    [`${at}.matchLabelKeys[1]: Invalid value: "b": exists in both matchLabelKeys and mismatchLabelKeys`],
  ],
  [
    "a key that the selector has once, as the server adds it",
    near({ matchLabelKeys: ["a"], labelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }),
    [],
  ],
  [
    "a key that the selector has twice",
    near({
      matchLabelKeys: ["b", "a"],
      labelSelector: { matchLabels: { a: "x" }, matchExpressions: [{ key: "a", operator: "Exists" }] },
    }),
    [`${at}[1]: Invalid value: "a": exists in both matchLabelKeys and labelSelector`],
  ],
  [
    "weights out of range",
    {
      podAffinity: {
        [preferred]: [
          { weight: 1, podAffinityTerm: term() },
          { weight: 100, podAffinityTerm: term() },
          { weight: 0, podAffinityTerm: term() },
          { weight: 101, podAffinityTerm: term() },
        ],
      },
    },
    [
      `s.affinity.podAffinity.${preferred}[2].weight: Invalid value: 0: must be in the range 1-100`,
      `s.affinity.podAffinity.${preferred}[3].weight: Invalid value: 101: must be in the range 1-100`,
    ],
  ],
  [
    "a preference without a topology",
    { podAntiAffinity: { [preferred]: [{ weight: 1 }] } },
    [
      `s.affinity.podAntiAffinity.${preferred}[0].podAffinityTerm.topologyKey: Required value: can not be empty`,
      `s.affinity.podAntiAffinity.${preferred}[0].podAffinityTerm.topologyKey: Invalid value: "": ${empty}`,
      `s.affinity.podAntiAffinity.${preferred}[0].podAffinityTerm.topologyKey: Invalid value: "": ${keyText}`,
    ],
  ],
  [
    "nodes without terms",
    { nodeAffinity: { [required]: { nodeSelectorTerms: [] } } },
    [
      `s.affinity.nodeAffinity.${required}.nodeSelectorTerms: Required value: must have at least one node selector term`,
    ],
  ],
  [
    "values of a node that must match",
    {
      nodeAffinity: {
        [required]: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["a b"] }] }] },
      },
    },
    [
      `s.affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "a b": ${valueText}`,
    ],
  ],
  [
    "values of a node that should match are not checked",
    {
      nodeAffinity: {
        [preferred]: [{ weight: 5, preference: { matchExpressions: [{ key: "a", operator: "In", values: ["a b"] }] } }],
      },
    },
    [],
  ],
  [
    "a weight of nodes",
    { nodeAffinity: { [preferred]: [{ preference: {} }] } },
    [`s.affinity.nodeAffinity.${preferred}[0].weight: Invalid value: 0: must be in the range 1-100`],
  ],
];

for (const [name, object, want] of affinities) {
  test(`affinity: ${name}`, () => {
    assert.deepEqual(affinity({ affinity: object }, "s").map(fieldErrorText), want);
  });
}

const spread = (more: JsonObject = {}): JsonObject => ({
  maxSkew: 1,
  topologyKey: "zone",
  whenUnsatisfiable: "DoNotSchedule",
  ...more,
});
const spreads: readonly (readonly [name: string, list: readonly JsonObject[], want: readonly string[]])[] = [
  ["a plain one", [spread({ minDomains: 1, nodeAffinityPolicy: "Honor", nodeTaintsPolicy: "Ignore" })], []],
  ["no skew", [spread({ maxSkew: 0 })], ["c[0].maxSkew: Invalid value: 0: must be greater than zero"]],
  ["no topology", [spread({ topologyKey: "" })], ["c[0].topologyKey: Required value: can not be empty"]],
  [
    "no action",
    [spread({ whenUnsatisfiable: "" })],
    ['c[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"'],
  ],
  [
    "the same twice",
    [spread(), spread({ whenUnsatisfiable: "ScheduleAnyway" }), spread({ maxSkew: 3 })],
    ['c[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"'],
  ],
  ["no domains", [spread({ minDomains: 0 })], ["c[0].minDomains: Invalid value: 0: must be greater than zero"]],
  [
    "domains for a wish",
    [spread({ minDomains: 2, whenUnsatisfiable: "ScheduleAnyway" })],
    [
      "c[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
    ],
  ],
  [
    "unknown policies",
    [spread({ nodeAffinityPolicy: "x", nodeTaintsPolicy: "" })],
    [
      'c[0].nodeAffinityPolicy: Unsupported value: "x": supported values: "Honor", "Ignore"',
      'c[0].nodeTaintsPolicy: Unsupported value: "": supported values: "Honor", "Ignore"',
    ],
  ],
  [
    "keys without a selector",
    [spread({ matchLabelKeys: ["a"] })],
    ["c[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"],
  ],
  [
    "an invalid selector",
    [spread({ labelSelector: { matchLabels: { "a b": "c" } } })],
    [`c[0].labelSelector.matchLabels: Invalid value: "a b": ${keyText}`],
  ],
];

for (const [name, list, want] of spreads) {
  test(`spread over nodes: ${name}`, () => {
    const errors = topologySpread({ topologySpreadConstraints: [...list] }, "s").map(fieldErrorText);
    assert.deepEqual(
      errors.map((text) => text.replace("s.topologySpreadConstraints", "c")),
      want,
    );
  });
}

test("scheduling gates are qualified names, each once", () => {
  const names = (...list: string[]): string[] =>
    schedulingGates({ schedulingGates: list.map((name) => ({ name })) }, "s").map(fieldErrorText);
  assert.deepEqual(names("a", "example.org/a"), []);
  assert.deepEqual(names("a", "b c", "a"), [
    `s.schedulingGates[1]: Invalid value: "b c": ${keyText}`,
    's.schedulingGates[2]: Duplicate value: "a"',
  ]);
});

const tolerations: readonly Case[] = [
  ["everything", { operator: "Exists" }, []],
  ["a value", { key: "a", value: "b", effect: "NoSchedule" }, []],
  ["a time", { key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: -1 }, []],
  [
    "a time for another effect",
    { key: "a", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 1 },
    [`t.effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when \`tolerationSeconds\` is set`],
  ],
  [
    "a time for every effect",
    { key: "a", operator: "Exists", tolerationSeconds: 0 },
    [`t.effect: Invalid value: "": effect must be 'NoExecute' when \`tolerationSeconds\` is set`],
  ],
  [
    "no key",
    { operator: "Equal", value: "b" },
    [
      't.operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
  ],
  [
    "an invalid key and an invalid value",
    { key: "a b", value: "c d" },
    [`t.key: Invalid value: "a b": ${keyText}`, `t.operator: Invalid value: "c d": ${valueText}`],
  ],
  [
    "a value that need not be",
    { key: "a", operator: "Exists", value: "b" },
    [`t.operator: Invalid value: "b": value must be empty when \`operator\` is 'Exists'`],
  ],
  [
    "a comparison, which is off by default",
    { key: "a", operator: "Gt", value: "1" },
    ['t.operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'],
  ],
  [
    "an unknown operator and an unknown effect",
    { key: "a", operator: "In", effect: "Run" },
    [
      't.operator: Unsupported value: "In": supported values: "Equal", "Exists"',
      't.effect: Unsupported value: "Run": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
  ],
];

for (const [name, toleration, want] of tolerations) {
  test(`a toleration: ${name}`, () => {
    assert.deepEqual(tolerationErrors(toleration, "t").map(fieldErrorText), want);
  });
}

const claims: readonly (readonly [name: string, list: readonly JsonObject[], want: readonly string[]])[] = [
  [
    "one by name and one by template",
    [
      { name: "a", resourceClaimName: "x" },
      { name: "b", resourceClaimTemplateName: "y" },
    ],
    [],
  ],
  ["no name", [{ resourceClaimName: "x" }], ["s.resourceClaims[0].name: Required value"]],
  [
    "an invalid name",
    [{ name: "A", resourceClaimName: "x" }],
    [`s.resourceClaims[0].name: Invalid value: "A": ${labelText}`],
  ],
  [
    "one name twice",
    [
      { name: "a", resourceClaimName: "x" },
      { name: "a", resourceClaimName: "y" },
    ],
    ['s.resourceClaims[1].name: Duplicate value: "a"'],
  ],
  [
    "no source",
    [{ name: "a" }],
    [
      's.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
    ],
  ],
  [
    "two sources",
    [{ name: "a", resourceClaimName: "x", resourceClaimTemplateName: "y" }],
    [
      's.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":"x","ResourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
    ],
  ],
  [
    "an invalid source",
    [{ name: "a", resourceClaimTemplateName: "Y" }],
    [`s.resourceClaims[0].resourceClaimTemplateName: Invalid value: "Y": ${subdomainText}`],
  ],
];

for (const [name, list, want] of claims) {
  test(`claims of devices: ${name}`, () => {
    assert.deepEqual(resourceClaims({ resourceClaims: [...list] }, "s").map(fieldErrorText), want);
  });
}
