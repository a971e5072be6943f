// SPDX-License-Identifier: Apache-2.0
// Nodes, PriorityClasses, RuntimeClasses and Leases. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import { leaseRules, priorityClassRules, runtimeClassRules } from "./class-rules.ts";
import { nodeRules } from "./node-rules.ts";

const errorsOf = (rules: KindRules, object: JsonObject): string[] =>
  (rules.validate?.(object) ?? []).map(fieldErrorText);
const changeOf = (rules: KindRules, now: JsonObject, old: JsonObject, endpoint: "" | "status" = ""): string[] =>
  (rules.validateChange?.(now, old, endpoint) ?? []).map(fieldErrorText);
const keyText = String(labelKeyProblems("a b"));

test("the taints of a node are valid, each once", () => {
  const taints = [
    { key: "a", value: "b", effect: "NoSchedule" },
    { key: "a", effect: "NoExecute" },
    { key: "a b", value: "c d", effect: "x" },
    { key: "z" },
    { key: "a", value: "c", effect: "NoSchedule", timeAdded: "t" },
  ];
  assert.deepEqual(errorsOf(nodeRules, { spec: { taints } }), [
    `metadata.taints[2].key: Invalid value: "a b": ${keyText}`,
    `metadata.taints[2].value: Invalid value: "c d": ${String(labelValueProblems("c d"))}`,
    'metadata.taints[2].effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    "metadata.taints[3].effect: Required value",
    'metadata.taints[4]: Duplicate value: {"Key":"a","Value":"c","Effect":"NoSchedule","TimeAdded":"t"}: taints must be unique by key and effect pair',
  ]);
});

test("the capacity of a node is not negative, and whole where a resource is counted", () => {
  assert.deepEqual(
    errorsOf(nodeRules, {
      status: { capacity: { cpu: "100m", pods: "1.5" }, allocatable: { memory: "-1", "example.org/gpu": "500m" } },
    }),
    [
      'status.capacity.pods: Invalid value: "1.5": must be an integer',
      'status.allocatable.example.org/gpu: Invalid value: "500m": must be an integer',
      'status.allocatable.memory: Invalid value: "-1": must be greater than or equal to 0',
    ],
  );
});

test("a new node takes no Pods until it is ready", () => {
  const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
  const other = { key: "a", effect: "NoSchedule" };
  assert.deepEqual(nodeRules.prepareCreate?.({ spec: { taints: [other] } }), { spec: { taints: [other, taint] } });
  assert.deepEqual(nodeRules.prepareCreate?.({}), { spec: { taints: [taint] } });
  const tainted = { spec: { taints: [{ ...taint, value: "x" }] } };
  assert.equal(nodeRules.prepareCreate?.(tainted), tainted);
});

test("the older field for the range of Pods decides", () => {
  const decoded = (spec: JsonObject): unknown => nodeRules.decode?.({ spec }, {})["spec"];
  assert.deepEqual(decoded({ podCIDR: "10.0.0.0/24" }), { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] });
  assert.deepEqual(decoded({ podCIDRs: ["10.0.0.0/24", "fd00::/64"] }), {
    podCIDR: "10.0.0.0/24",
    podCIDRs: ["10.0.0.0/24", "fd00::/64"],
  });
  assert.deepEqual(decoded({ podCIDR: "a", podCIDRs: ["b", "c"] }), { podCIDR: "a", podCIDRs: ["a"] });
  assert.deepEqual(decoded({}), {});
});

test("a node has one range of Pods for each family", () => {
  const errors = (...podCIDRs: string[]): string[] =>
    (nodeRules.validateNew?.({ spec: { podCIDRs } }) ?? []).map(fieldErrorText);
  const one = "may specify no more than one CIDR for each IP family";
  const invalid = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  assert.deepEqual([errors(), errors("10.0.0.0/24"), errors("10.0.0.0/24", "fd00::/64")], [[], [], []]);
  assert.deepEqual(errors("10.0.0.0/24", "10.0.1.0/24"), [
    `spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: ${one}`,
  ]);
  assert.deepEqual(errors("x"), [`spec.podCIDRs[0]: Invalid value: "x": ${invalid}`]);
  assert.deepEqual(errors("10.0.0.0/24", "x"), [
    `spec.podCIDRs[1]: Invalid value: "x": ${invalid}`,
    "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: <nil> (invalid CIDR address: x)",
    `spec.podCIDRs: Invalid value: ["10.0.0.0/24","x"]: ${one}`,
  ]);
});

test("ranges, the provider and the old id of a node stay once they are set", () => {
  const kept = (name: string): string => `node updates may not change ${name} except from "" to valid`;
  const node = (spec: JsonObject): JsonObject => ({ spec });
  assert.deepEqual(changeOf(nodeRules, node({ podCIDRs: ["10.0.0.0/24"], providerID: "p" }), node({})), []);
  assert.deepEqual(
    changeOf(
      nodeRules,
      node({ podCIDRs: ["10.0.1.0/24"], providerID: "q", externalID: "e" }),
      node({ podCIDRs: ["10.0.0.0/24"], providerID: "p" }),
    ),
    [
      `spec.podCIDRs: Forbidden: ${kept("podCIDR")}`,
      `spec.providerID: Forbidden: ${kept("providerID")}`,
      "spec.externalID: Forbidden: may not be updated",
    ],
  );
  assert.deepEqual(changeOf(nodeRules, node({}), node({ podCIDRs: ["10.0.0.0/24", "fd00::/64"] })), [
    `spec.podCIDRs: Forbidden: ${kept("podCIDR")}`,
  ]);
});

test("errors of a change of a node are in the order of the reference", () => {
  const address = { type: "InternalIP", address: "10.0.0.1" };
  const now = {
    spec: { podCIDRs: ["x"], externalID: "e", taints: [{ key: "a" }] },
    status: { capacity: { cpu: "-1" }, addresses: [address, address] },
  };
  const fields = changeOf(nodeRules, now, { spec: { podCIDRs: ["10.0.0.0/24"] } }).map((text) => text.split(":")[0]);
  assert.deepEqual(fields, [
    "spec.podCIDRs[0]",
    "status.capacity.cpu",
    "status.addresses[1]",
    "spec.podCIDRs",
    "metadata.taints[0].effect",
    "spec.externalID",
  ]);
  assert.deepEqual(changeOf(nodeRules, { status: now.status }, {}, "status"), [
    'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}',
  ]);
});

test("nodes can be selected by whether they take Pods", () => {
  const field = nodeRules.fields?.["spec.unschedulable"];
  assert.deepEqual([field?.({ spec: { unschedulable: true } }), field?.({})], ["true", "false"]);
  assert.equal(nodeRules.fieldProblem?.("metadata.namespace"), "field label not supported: metadata.namespace");
  assert.deepEqual(nodeRules.warnings?.({ spec: { externalID: "e" } }, undefined, ""), [
    "spec.externalID: this field is deprecated, and is unused by Kubernetes",
  ]);
});

const priorities: readonly (readonly [name: string, object: JsonObject, want: readonly string[]])[] = [
  ["high", { value: 1_000_000_000, preemptionPolicy: "Never" }, []],
  [
    "higher",
    { value: 1_000_000_001 },
    ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
  ],
  [
    "low",
    { value: -2_147_483_648, preemptionPolicy: "x" },
    ['preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"'],
  ],
  ["none", { value: 0, preemptionPolicy: "" }, ["preemptionPolicy: Required value"]],
  ["system-node-critical", { value: 2_000_001_000 }, []],
  [
    "system-node-critical",
    { value: 1 },
    [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000",
    ],
  ],
  [
    "system-cluster-critical",
    { value: 2_000_000_000, globalDefault: true },
    [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: globalDefault of system-cluster-critical PriorityClass must be false",
    ],
  ],
  [
    "system-mine",
    { value: 1 },
    [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
  ],
];

for (const [name, object, want] of priorities) {
  test(`the PriorityClass ${name} with ${JSON.stringify(object)}`, () => {
    assert.deepEqual(
      (priorityClassRules.validateNew?.({ metadata: { name }, ...object }) ?? []).map(fieldErrorText),
      want,
    );
  });
}

test("the value and the policy of a PriorityClass stay", () => {
  assert.deepEqual(
    changeOf(priorityClassRules, { value: 2, preemptionPolicy: "Never", globalDefault: true }, { value: 1 }),
    [
      "value: Forbidden: may not be changed in an update.",
      'preemptionPolicy: Invalid value: "Never": field is immutable',
    ],
  );
  assert.deepEqual(changeOf(priorityClassRules, { value: 1, description: "x" }, { value: 1 }), []);
});

test("a RuntimeClass has a handler, which stays, and valid overhead and tolerations", () => {
  const toleration = { key: "a", operator: "Exists" };
  assert.deepEqual(
    errorsOf(runtimeClassRules, {
      handler: "runc",
      overhead: { podFixed: { cpu: "10m" } },
      scheduling: { tolerations: [toleration] },
    }),
    [],
  );
  assert.deepEqual(errorsOf(runtimeClassRules, {}), ["handler: Required value"]);
  const scheduling = {
    nodeSelector: { "a b": "c" },
    tolerations: [toleration, { ...toleration, tolerationSeconds: 5 }],
  };
  assert.deepEqual(
    errorsOf(runtimeClassRules, { handler: "A", overhead: { podFixed: { cpu: "-1", x: "1" } }, scheduling }),
    [
      `handler: Invalid value: "A": ${String(dns1123LabelProblems("A"))}`,
      'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      'overhead.limits[x]: Invalid value: "x": must be a standard resource type or fully qualified',
      'overhead.limits[x]: Invalid value: "x": must be a standard resource for containers',
      `scheduling.nodeSelector: Invalid value: "a b": ${keyText}`,
      "scheduling.tolerations[1].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
      'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":5}',
    ],
  );
  assert.deepEqual(changeOf(runtimeClassRules, { handler: "b" }, { handler: "a" }), [
    'handler: Invalid value: "b": field is immutable',
  ]);
});

test("a Lease lasts for more than no time", () => {
  assert.deepEqual(errorsOf(leaseRules, { spec: { leaseDurationSeconds: 1, leaseTransitions: 0 } }), []);
  assert.deepEqual(errorsOf(leaseRules, { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }), [
    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
    "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
  ]);
  assert.deepEqual(errorsOf(leaseRules, {}), []);
});
