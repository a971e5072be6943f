// SPDX-License-Identifier: Apache-2.0
// Which writes a webhook selects: by operation and resource, by the labels of the namespace, and by those of the object.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf } from "../../test/test-server.ts";
import { Registry, type ResourceType } from "../registry/registry.ts";
import { defineKinds, type KindRow } from "../strategy/kind-rules.ts";
import type { AdmissionAttributes, AdmissionOperation } from "./admission.ts";
import {
  type AdmissionWebhook,
  isPolicyType,
  isWebhookConfiguration,
  matchedType,
  namespaceSelected,
  objectSelected,
  operationRule,
  selectorAt,
  webhookMatch,
  webhookOf,
} from "./admission-webhook.ts";

const status = { name: "status", verbs: ["get"] };
const kinds = (group: string, version: string, ...rows: KindRow[]): ResourceType[] =>
  defineKinds({ group, version, priority: 1 }, rows).map(({ type }) => type);
const [pods, namespaces, nodes] = kinds(
  "",
  "v1",
  { resource: "pods", kind: "Pod", subresources: [status] },
  { resource: "namespaces", kind: "Namespace", cluster: true },
  { resource: "nodes", kind: "Node", cluster: true },
) as [ResourceType, ResourceType, ResourceType];
const [scalers] = kinds("autoscaling", "v2", { resource: "hpas", kind: "HPA", subresources: [status] }) as [
  ResourceType,
];
const [olderScalers] = kinds("autoscaling", "v1", { resource: "hpas", kind: "HPA" }) as [ResourceType];
const [extensions] = kinds("extensions", "v1", {
  resource: "hpas",
  kind: "HPA",
  storedIn: "autoscaling",
  subresources: [status],
}) as [ResourceType];
const { catalog } = new Registry([pods, namespaces, nodes, scalers, olderScalers, extensions]);

const anything = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };

function matched(
  rule: JsonObject,
  type: ResourceType,
  more: { operation?: AdmissionOperation; subresource?: string; isEquivalent?: boolean } = {},
): ResourceType | undefined {
  const { operation = "CREATE", subresource = "", isEquivalent = false } = more;
  const match = { rules: [operationRule({ ...anything, ...rule })], isEquivalent };
  return matchedType(match, { operation, type, subresource }, catalog);
}

const rules: readonly (readonly [
  string,
  JsonObject,
  readonly (readonly [ResourceType, string])[],
  readonly (readonly [ResourceType, string])[],
])[] = [
  [
    "every resource, but no subresource",
    {},
    [
      [pods, ""],
      [nodes, ""],
    ],
    [[pods, "status"]],
  ],
  [
    "one resource",
    { resources: ["pods"] },
    [[pods, ""]],
    [
      [pods, "status"],
      [nodes, ""],
    ],
  ],
  [
    "one subresource",
    { resources: ["pods/status"] },
    [[pods, "status"]],
    [
      [pods, ""],
      [scalers, "status"],
    ],
  ],
  ["a resource and its subresources", { resources: ["pods/*"] }, [[pods, "status"]], [[nodes, ""]]],
  [
    "a subresource of all",
    { resources: ["*/status"] },
    [
      [pods, "status"],
      [scalers, "status"],
    ],
    [[pods, ""]],
  ],
  [
    "everything",
    { resources: ["*/*"] },
    [
      [pods, ""],
      [pods, "status"],
      [nodes, ""],
    ],
    [],
  ],
  ["one group", { apiGroups: [""] }, [[pods, ""]], [[scalers, ""]]],
  [
    "one version",
    { apiVersions: ["v2"] },
    [[scalers, ""]],
    [
      [olderScalers, ""],
      [pods, ""],
    ],
  ],
  [
    "objects in namespaces",
    { scope: "Namespaced" },
    [[pods, ""]],
    [
      [nodes, ""],
      [namespaces, ""],
    ],
  ],
  [
    "objects of the cluster",
    { scope: "Cluster" },
    [
      [nodes, ""],
      [namespaces, ""],
    ],
    [[pods, ""]],
  ],
  [
    "both",
    { scope: "*" },
    [
      [nodes, ""],
      [pods, ""],
    ],
    [],
  ],
  ["no operation", { operations: [] }, [], [[pods, ""]]],
];

for (const [name, rule, selected, others] of rules) {
  test(`a rule selects ${name}`, () => {
    for (const [type, subresource] of selected) assert.equal(matched(rule, type, { subresource }), type, type.resource);
    for (const [type, subresource] of others) {
      assert.equal(matched(rule, type, { subresource }), undefined, `${type.resource} ${subresource}`);
    }
  });
}

test("pods/* selects pods themselves, as in the reference", () => {
  assert.equal(matched({ resources: ["pods/*"] }, pods), pods);
});

test("a rule selects operations", () => {
  const rule = { operations: ["CREATE", "DELETE"] };
  assert.equal(matched(rule, pods, { operation: "DELETE" }), pods);
  assert.equal(matched(rule, pods, { operation: "UPDATE" }), undefined);
  assert.equal(matched(rule, pods, { operation: "CONNECT" }), undefined);
});

test("one of several rules is enough, none select nothing", () => {
  const rule = (resource: string): ReturnType<typeof operationRule> =>
    operationRule({ ...anything, resources: [resource] });
  const write = { operation: "CREATE", type: pods, subresource: "" } as const;
  assert.equal(matchedType({ rules: [rule("nodes"), rule("pods")], isEquivalent: false }, write, catalog), pods);
  assert.equal(matchedType({ rules: [], isEquivalent: true }, write, catalog), undefined);
});

test("an equivalent match finds the same objects in another version or group", () => {
  const isEquivalent = true;
  const old = { apiGroups: ["autoscaling"], apiVersions: ["v1"] };
  assert.equal(matched(old, scalers, { isEquivalent }), olderScalers);
  assert.equal(matched(old, scalers), undefined, "an exact match does not");
  assert.equal(matched({ apiGroups: ["extensions"] }, scalers, { isEquivalent }), extensions);
  assert.equal(matched({ apiGroups: ["autoscaling"] }, scalers, { isEquivalent }), scalers, "its own type comes first");
  assert.equal(matched({ apiGroups: ["extensions"] }, pods, { isEquivalent }), undefined);
});

test("an equivalent match of a subresource needs a version that has it", () => {
  const at = { isEquivalent: true, subresource: "status" };
  const rule = { resources: ["hpas/status"] };
  assert.equal(matched({ ...rule, apiGroups: ["autoscaling"], apiVersions: ["v1"] }, scalers, at), undefined);
  assert.equal(matched({ ...rule, apiGroups: ["extensions"] }, scalers, at), extensions);
});

test("policies, bindings and configurations of webhooks are known by group and resource", () => {
  const type = (group: string, resource: string): ResourceType => ({ ...pods, group, resource });
  const own = "admissionregistration.k8s.io";
  for (const kind of [
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
  ]) {
    assert.ok(isPolicyType(type(own, kind)) && !isWebhookConfiguration(type(own, kind)), kind);
    assert.ok(!isPolicyType(type("example.org", kind)), kind);
  }
  for (const kind of ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]) {
    assert.ok(isWebhookConfiguration(type(own, kind)) && !isPolicyType(type(own, kind)), kind);
    assert.ok(!isWebhookConfiguration(type("example.org", kind)), kind);
  }
});

test("a webhook has the defaults of the API", () => {
  assert.deepEqual(webhookMatch({ name: "a.b.c", rules: [{}] }), {
    rules: [{ operations: [], groups: [], versions: [], resources: [], resourceNames: [], scope: "*" }],
    isEquivalent: true,
  });
  assert.deepEqual(webhookOf({ name: "a.b.c" }, { configuration: "conf", namesakes: 0 }), {
    name: "a.b.c",
    configuration: "conf",
    id: "conf/a.b.c/0",
    config: {},
    namespaceSelector: undefined,
    objectSelector: undefined,
    matchConditions: [],
    ignoresFailure: false,
    supportsDryRun: false,
    timeoutMs: 10_000,
    reviewVersion: "v1",
    isReinvoked: false,
  });
});

test("the members of a webhook are read", () => {
  const hook = (more: JsonObject): AdmissionWebhook =>
    webhookOf({ name: "a", ...more }, { configuration: "conf", namesakes: 0 });
  assert.equal(webhookMatch({ matchPolicy: "Exact" }).isEquivalent, false);
  assert.equal(hook({ failurePolicy: "Ignore" }).ignoresFailure, true);
  assert.equal(hook({ sideEffects: "None" }).supportsDryRun, true);
  assert.equal(hook({ sideEffects: "NoneOnDryRun" }).supportsDryRun, true);
  assert.equal(hook({ sideEffects: "Some" }).supportsDryRun, false);
  assert.equal(hook({ timeoutSeconds: 3 }).timeoutMs, 3000);
  assert.equal(hook({ reinvocationPolicy: "IfNeeded" }).isReinvoked, true);
  const version = (...admissionReviewVersions: string[]): string | undefined =>
    hook({ admissionReviewVersions }).reviewVersion;
  assert.equal(version("v1beta1", "v1"), "v1beta1", "the first version that the server knows");
  assert.equal(version("v2", "v1", "v1beta1"), "v1");
});

const attributes = (more: Partial<AdmissionAttributes>): AdmissionAttributes =>
  ({
    operation: "CREATE",
    type: pods,
    namespace: "ns",
    object: undefined,
    old: undefined,
    ...more,
  }) as AdmissionAttributes;
const labelled = (value: string): JsonObject => ({ metadata: { labels: { env: value } } });
const production = selectorAt({ s: { matchLabels: { env: "prod" } } }, "s");

test("no selector and an empty one select everything", () => {
  assert.equal(selectorAt({ s: {} }, "s"), undefined);
  assert.equal(selectorAt({}, "s"), undefined);
  assert.ok(objectSelected(undefined, attributes({})));
});

test("an object is selected when the new or the current one is", () => {
  const selected = (object?: JsonObject, old?: JsonObject): boolean =>
    objectSelected(production, attributes({ object, old }));
  assert.ok(selected(labelled("prod")));
  assert.ok(selected(labelled("dev"), labelled("prod")));
  assert.ok(selected(undefined, labelled("prod")));
  assert.ok(!selected(labelled("dev"), labelled("dev")));
  assert.ok(!selected(undefined, undefined));
  const not = selectorAt({ s: { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] } }, "s");
  assert.ok(objectSelected(not, attributes({ object: {} })), "an object without labels");
  assert.ok(!objectSelected(not, attributes({})), "no object");
});

test("the labels of the namespace in the store decide", async () => {
  await using store = await storeOf({ "//namespaces/ns": labelled("prod"), "//namespaces/dev": labelled("dev") });
  const selected = (more: Partial<AdmissionAttributes>): boolean =>
    namespaceSelected(production, attributes(more), store);
  assert.ok(selected({}));
  assert.ok(!selected({ namespace: "dev" }));
  assert.ok(selected({ type: nodes, namespace: "" }), "objects of the cluster are always selected");
  assert.throws(
    () => selected({ namespace: "gone" }),
    (error: Error) => {
      assert.ok(isNotFound(error));
      assert.equal(error.message, 'namespaces "gone" not found');
      return true;
    },
  );
  assert.ok(namespaceSelected(undefined, attributes({ namespace: "gone" }), store), "no selector needs no namespace");
});

test("a namespace that is written is selected by its new labels, one that is deleted by those in the store", async () => {
  await using store = await storeOf({ "//namespaces/ns": labelled("dev") });
  const selected = (operation: AdmissionOperation): boolean =>
    namespaceSelected(production, attributes({ type: namespaces, operation, object: labelled("prod") }), store);
  assert.deepEqual(
    ["CREATE", "UPDATE", "DELETE"].map((one) => selected(one as AdmissionOperation)),
    [true, true, false],
  );
});
