// SPDX-License-Identifier: Apache-2.0
// FlowSchemas and PriorityLevelConfigurations. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { flowSchemaRules, priorityLevelRules } from "./flow-rules.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];
const schema = (spec: JsonObject, more: JsonObject = {}): string[] =>
  (
    flowSchemaRules.validate?.({
      metadata: { name: "f" },
      spec: { matchingPrecedence: 50, priorityLevelConfiguration: { name: "l" }, ...spec },
      ...more,
    }) ?? []
  ).map(fieldErrorText);

const specs: readonly Case[] = [
  ["a plain one", { distinguisherMethod: { type: "ByUser" } }, []],
  ["the last one", { matchingPrecedence: 10_000 }, []],
  [
    "too late",
    { matchingPrecedence: 10_001 },
    ["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"],
  ],
  ["no place", { matchingPrecedence: 0 }, ["spec.matchingPrecedence: Invalid value: 0: must be a positive value"]],
  [
    "the first one",
    { matchingPrecedence: 1 },
    ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
  ],
  [
    "an unknown way to distinguish requests",
    { distinguisherMethod: { type: "x" } },
    ['spec.distinguisherMethod.type: Unsupported value: {"Type":"x"}: supported values: "ByNamespace", "ByUser"'],
  ],
  [
    "no level",
    { priorityLevelConfiguration: {} },
    ["spec.priorityLevelConfiguration.name: Required value: must reference a priority level"],
  ],
  [
    "an invalid level",
    { priorityLevelConfiguration: { name: "A" } },
    [`spec.priorityLevelConfiguration.name: Invalid value: "A": ${subdomainText}`],
  ],
];

for (const [name, spec, want] of specs) {
  test(`a FlowSchema: ${name}`, () => {
    assert.deepEqual(schema(spec), want);
  });
}

test("the schema named exempt is the first one", () => {
  const spec = { matchingPrecedence: 1, priorityLevelConfiguration: { name: "exempt" } };
  assert.deepEqual(flowSchemaRules.validate?.({ metadata: { name: "exempt" }, spec }), []);
});

const user = { kind: "User", user: { name: "u" } };
const resourceRule = (more: JsonObject = {}): JsonObject => ({
  verbs: ["get"],
  apiGroups: [""],
  resources: ["pods"],
  namespaces: ["n"],
  ...more,
});
const rule = (more: JsonObject): JsonObject => ({ subjects: [user], ...more });
const byResource = (more: JsonObject): JsonObject => rule({ resourceRules: [resourceRule(more)] });
const byUrl = (...nonResourceURLs: string[]): JsonObject =>
  rule({ nonResourceRules: [{ verbs: ["get"], nonResourceURLs }] });
const bySubject = (subject: JsonObject): JsonObject => ({ subjects: [subject], resourceRules: [resourceRule()] });
const at = "r.resourceRules[0]";
const urls = "r.nonResourceRules[0].nonResourceURLs";
const verbs =
  'supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"';

const rules: readonly Case[] = [
  ["resources", byResource({}), []],
  ["all resources", byResource({ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] }), []],
  ["resources of the cluster", byResource({ clusterScope: true, namespaces: [] }), []],
  ["nothing", rule({}), ["r: Required value: at least one of resourceRules and nonResourceRules has to be non-empty"]],
  [
    "no subjects",
    { resourceRules: [resourceRule()] },
    ["r.subjects: Required value: subjects must contain at least one value"],
  ],
  [
    "empty lists",
    byResource({ verbs: [], apiGroups: [], resources: [], namespaces: [] }),
    [
      `${at}.verbs: Required value: verbs must contain at least one value`,
      `${at}.apiGroups: Required value: resource rules must supply at least one api group`,
      `${at}.resources: Required value: resource rules must supply at least one resource`,
      `${at}.namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
    ],
  ],
  [
    "stars beside others",
    byResource({ verbs: ["*", "get"], apiGroups: ["a", "*"], resources: ["*", "b"], namespaces: ["*", "n"] }),
    [
      `${at}.verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs`,
      `${at}.apiGroups: Invalid value: ["a","*"]: if '*' is present, must not specify other api groups`,
      `${at}.resources: Invalid value: ["*","b"]: if '*' is present, must not specify other resources`,
      `${at}.namespaces: Invalid value: ["*","n"]: if '*' is present, must not specify other namespaces`,
    ],
  ],
  [
    "an unknown verb",
    byResource({ verbs: ["get", "escalate"] }),
    [`${at}.verbs: Unsupported value: ["get","escalate"]: ${verbs}`],
  ],
  [
    "an invalid namespace",
    byResource({ namespaces: ["A"] }),
    [`${at}.namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; ${labelText}`],
  ],
  ["URLs", byUrl("/", "/healthz", "/apis/*"), []],
  ["all URLs", byUrl("*"), []],
  ["no URLs", byUrl(), [`${urls}: Required value: nonResourceURLs must contain at least one value`]],
  [
    "a star beside URLs",
    byUrl("*", "x"),
    [`${urls}: Invalid value: ["*","x"]: if '*' is present, must not specify other non-resource URLs`],
  ],
  [
    "invalid URLs",
    byUrl("", "a", "/a b", "/a//b", "/*/a", "/a*", "/a/*/*"),
    [
      `${urls}[0]: Invalid value: "": must not be empty`,
      `${urls}[1]: Invalid value: "a": must start with slash`,
      `${urls}[2]: Invalid value: "/a b": must not contain white-space`,
      `${urls}[3]: Invalid value: "/a//b": must not contain double slash`,
      ...["/*/a", "/a*", "/a/*/*"].map(
        (url, index) => `${urls}[${index + 4}]: Invalid value: "${url}": wildcard can only do suffix matching`,
      ),
    ],
  ],
  [
    "an unknown kind of subject",
    bySubject({ kind: "Robot" }),
    ['r.subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"'],
  ],
  [
    "a subject that is not there",
    bySubject({ kind: "Group" }),
    ["r.subjects[0].group: Required value: group is required when subject kind is 'Group'"],
  ],
  [
    "two subjects in one",
    bySubject({ ...user, group: { name: "g" } }),
    ["r.subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'"],
  ],
  ["a subject without a name", bySubject({ kind: "User", user: {} }), ["r.subjects[0].user.name: Required value"]],
  ["a ServiceAccount", bySubject({ kind: "ServiceAccount", serviceAccount: { name: "*", namespace: "n" } }), []],
  [
    "a ServiceAccount without names",
    bySubject({ kind: "ServiceAccount", serviceAccount: {} }),
    [
      "r.subjects[0].serviceAccount.name: Required value",
      "r.subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account",
    ],
  ],
  [
    "a ServiceAccount with invalid names",
    bySubject({ kind: "ServiceAccount", serviceAccount: { name: "A", namespace: "A" } }),
    [
      `r.subjects[0].serviceAccount.name: Invalid value: "A": ${subdomainText}`,
      `r.subjects[0].serviceAccount.namespace: Invalid value: "A": ${labelText}`,
    ],
  ],
];

for (const [name, one, want] of rules) {
  test(`a rule of a FlowSchema: ${name}`, () => {
    assert.deepEqual(
      schema({ rules: [one] }).map((text) => text.replace("spec.rules[0]", "r")),
      want,
    );
  });
}

test("conditions of both kinds have types, each once", () => {
  const status = { conditions: [{ type: "a" }, {}, { type: "a" }, {}] };
  const want = [
    "status.conditions[1].type: Required value",
    'status.conditions[2].type: Duplicate value: "a"',
    'status.conditions[3].type: Duplicate value: ""',
    "status.conditions[3].type: Required value",
  ];
  assert.deepEqual(schema({}, { status }), want);
  const level = { metadata: { name: "exempt" }, spec: { type: "Exempt" }, status };
  assert.deepEqual((priorityLevelRules.validate?.(level) ?? []).map(fieldErrorText), want);
});

const level = (spec: JsonObject, name = "l"): string[] =>
  (priorityLevelRules.validate?.({ metadata: { name }, spec }) ?? []).map(fieldErrorText);
const limited = (more: JsonObject): JsonObject => ({
  type: "Limited",
  limited: { limitResponse: { type: "Reject" }, ...more },
});
const queuing = (more: JsonObject): JsonObject =>
  limited({ limitResponse: { type: "Queue", queuing: { queues: 64, handSize: 6, queueLengthLimit: 50, ...more } } });
const response = "spec.limited.limitResponse";

const levels: readonly Case[] = [
  ["a plain one", limited({ nominalConcurrencyShares: 0, lendablePercent: 100, borrowingLimitPercent: 0 }), []],
  ["no type", {}, ["spec.type: Required value"]],
  ["an unknown type", { type: "x" }, ['spec.type: Unsupported value: "x": supported values: "Exempt", "Limited"']],
  [
    "an exempt one with another name",
    { type: "Exempt" },
    ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"],
  ],
  [
    "a limited one without limits",
    { type: "Limited" },
    ["spec.limited: Required value: must not be empty when type is Limited"],
  ],
  [
    "a limited one that is exempt",
    { ...limited({}), exempt: {} },
    ["spec.exempt: Forbidden: must be nil if the type is Limited"],
  ],
  [
    "numbers out of range",
    limited({ nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1 }),
    [
      "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
      "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
      "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
    ],
  ],
  ["no response", limited({ limitResponse: {} }), [`${response}.type: Required value`]],
  [
    "an unknown response",
    limited({ limitResponse: { type: "x" } }),
    [`${response}.type: Unsupported value: "x": supported values: "Queue", "Reject"`],
  ],
  [
    "refusals with queues",
    limited({ limitResponse: { type: "Reject", queuing: {} } }),
    [`${response}.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited`],
  ],
  [
    "queues without numbers",
    limited({ limitResponse: { type: "Queue" } }),
    [`${response}.queuing: Required value: must not be empty if limited.limitResponse.type is Limited`],
  ],
  ["queues", queuing({}), []],
  [
    "no queues",
    queuing({ queues: 0, queueLengthLimit: 0, handSize: 0 }),
    ["queueLengthLimit", "queues", "handSize"].map(
      (name) => `${response}.queuing.${name}: Invalid value: 0: must be positive`,
    ),
  ],
  ["ten million queues", queuing({ queues: 10_000_000, handSize: 1 }), []],
  [
    "more queues",
    queuing({ queues: 10_000_001, handSize: 1 }),
    [`${response}.queuing.queues: Invalid value: 10000001: must not be greater than 10000000`],
  ],
  ["a hand of all queues", queuing({ queues: 6 }), []],
  [
    "a larger hand",
    queuing({ queues: 5 }),
    [`${response}.queuing.handSize: Invalid value: 6: should not be greater than queues (5)`],
  ],
  ["a hand that needs 60 bits", queuing({ queues: 64, handSize: 10 }), []],
  [
    "a hand that needs more",
    queuing({ queues: 512, handSize: 7 }),
    [
      `${response}.queuing.handSize: Invalid value: 7: required entropy bits of deckSize 512 and handSize 7 should not be greater than 60`,
    ],
  ],
];

for (const [name, spec, want] of levels) {
  test(`a PriorityLevelConfiguration: ${name}`, () => {
    assert.deepEqual(level(spec), want);
  });
}

test("the level named exempt is exempt, with shares of its own", () => {
  assert.deepEqual(
    level({ type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }, "exempt"),
    [],
  );
  assert.deepEqual(level({ type: "Exempt", limited: {}, exempt: { lendablePercent: -1 } }, "exempt"), [
    "spec.limited: Forbidden: must be nil if the type is not Limited",
    "spec.exempt.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive",
  ]);
  assert.deepEqual(level(limited({}), "exempt"), [
    "spec.type: Invalid value: \"Limited\": must be 'Exempt' if and only if `name` is 'exempt'",
  ]);
});
