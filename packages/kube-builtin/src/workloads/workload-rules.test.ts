// SPDX-License-Identifier: Apache-2.0
// Deployments, ReplicaSets, DaemonSets, StatefulSets, ReplicationControllers and PodTemplates. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { objectErrors } from "../../test/object-errors.ts";
import { controllerRules, podTemplateRules } from "./template.ts";
import { daemonSetRules, deploymentRules, replicaSetRules, revisionRules, statefulSetRules } from "./workload-rules.ts";

const pod = { restartPolicy: "Always", dnsPolicy: "Default", containers: [{ name: "c", image: "i" }] };
const template = (more: JsonObject = {}): JsonObject => ({
  metadata: { labels: { a: "b" } },
  spec: { ...pod, ...more },
});
const selector = { matchLabels: { a: "b" } };
const base = { selector, template: template() };
const valid: Readonly<Record<string, readonly [rules: KindRules, spec: JsonObject]>> = {
  Deployment: [deploymentRules, { ...base, strategy: { type: "Recreate" } }],
  ReplicaSet: [replicaSetRules, base],
  DaemonSet: [daemonSetRules, { ...base, updateStrategy: { type: "OnDelete" } }],
  StatefulSet: [
    statefulSetRules,
    {
      ...base,
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "OnDelete" },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
    },
  ],
  ReplicationController: [controllerRules, { ...base, selector: { a: "b" } }],
};

function errorsOf(kind: string, more: JsonObject = {}): string[] {
  const [rules, spec] = valid[kind] ?? assert.fail(kind);
  return objectErrors(rules, { metadata: { name: "w" }, spec: { ...spec, ...more } }).map(fieldErrorText);
}

const mismatch = 'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`';

for (const kind of Object.keys(valid)) {
  const noun = kind === "Deployment" ? "ReplicaSet" : kind;

  test(`${kind}: a plain one is valid`, () => {
    assert.deepEqual(errorsOf(kind), []);
  });

  test(`${kind}: its Pods run until they are deleted`, () => {
    const always = 'supported values: "Always"';
    assert.deepEqual(errorsOf(kind, { template: template({ restartPolicy: "Never", activeDeadlineSeconds: 5 }) }), [
      `spec.template.spec.restartPolicy: Unsupported value: "Never": ${always}`,
      `spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${noun} is not Supported`,
    ]);
  });

  test(`${kind}: its template has no ephemeral containers`, () => {
    assert.deepEqual(errorsOf(kind, { template: template({ ephemeralContainers: [{ name: "d", image: "i" }] }) }), [
      "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
    ]);
  });

  test(`${kind}: it selects its own Pods`, () => {
    const other = kind === "ReplicationController" ? { a: "c" } : { matchLabels: { a: "c" } };
    assert.deepEqual(errorsOf(kind, { selector: other }), [mismatch]);
  });

  test(`${kind}: minReadySeconds is not negative`, () => {
    assert.deepEqual(errorsOf(kind, { minReadySeconds: -1 }), [
      "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
    ]);
  });
}

const empties: Readonly<Record<string, readonly string[]>> = {
  Deployment: ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
  ReplicaSet: ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
  DaemonSet: ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
  StatefulSet: ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"],
  ReplicationController: ["spec.selector: Required value"],
};

for (const [kind, want] of Object.entries(empties)) {
  test(`${kind}: an empty selector is refused`, () => {
    assert.deepEqual(errorsOf(kind, { selector: {} }), want);
  });
}

test("a selector that cannot be read is refused, and the template is not validated", () => {
  const unreadable = { matchExpressions: [{ key: "a", operator: "x" }] };
  const problem = 'spec.selector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator';
  const printed = 'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"x"}]}';
  const change = { selector: unreadable, template: template({ containers: [] }) };
  assert.deepEqual(errorsOf("Deployment", change), [problem, `${printed}: invalid label selector`]);
  assert.deepEqual(errorsOf("StatefulSet", change), [problem, printed]);
  assert.deepEqual(errorsOf("DaemonSet", change), [problem, "spec.template.spec.containers: Required value"]);
});

test("a Deployment waits longer for progress than Pods need to be ready", () => {
  const text = (value: number): string =>
    `spec.progressDeadlineSeconds: Invalid value: ${value}: must be greater than minReadySeconds`;
  assert.deepEqual(errorsOf("Deployment", { progressDeadlineSeconds: 6, minReadySeconds: 5 }), []);
  assert.deepEqual(errorsOf("Deployment", { progressDeadlineSeconds: 5, minReadySeconds: 5 }), [text(5)]);
  assert.deepEqual(errorsOf("Deployment", { progressDeadlineSeconds: 0 }), [text(0)]);
});

test("numbers of a Deployment and of a DaemonSet are not negative", () => {
  const negative = (name: string): string => `spec.${name}: Invalid value: -1: must be greater than or equal to 0`;
  assert.deepEqual(errorsOf("Deployment", { replicas: -1, revisionHistoryLimit: -1 }), [
    negative("replicas"),
    negative("revisionHistoryLimit"),
  ]);
  assert.deepEqual(errorsOf("DaemonSet", { revisionHistoryLimit: -1 }), [negative("revisionHistoryLimit")]);
  assert.deepEqual(errorsOf("ReplicationController", { replicas: -1 }), [negative("replicas")]);
});

for (const [kind, [rules, spec]] of Object.entries(valid)) {
  test(`${kind}: its selector, and the containers of its template, are validated in parts`, () => {
    const containers = Array.from({ length: 1000 }, (_, at) => ({ name: `c${at}`, image: "i" }));
    const object = { metadata: { name: "w" }, spec: { ...spec, template: template({ containers }) } };
    const work = rules.validatingRest?.(object) ?? assert.fail(kind);
    let parts = 1;
    for (; work.next().done !== true; ) parts += 1;
    assert.ok(parts > 30, `${parts} parts`);
  });
}

test("a ReplicationController without a template is refused", () => {
  const { template: _template, ...spec } = base;
  const errors = objectErrors(controllerRules, { spec: { ...spec, selector: { a: "b" } } });
  assert.deepEqual(errors.map(fieldErrorText), ["spec.template: Required value"]);
});

test("a StatefulSet has policies for its Pods and its claims", () => {
  const policy = (more: JsonObject): string[] => errorsOf("StatefulSet", more);
  assert.deepEqual(policy({ podManagementPolicy: "x", ordinals: { start: -1 }, replicas: -1 }), [
    `spec.podManagementPolicy: Invalid value: "x": must be 'OrderedReady' or 'Parallel'`,
    "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
    "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
  ]);
  const retention = "spec.persistentVolumeClaimRetentionPolicy";
  assert.deepEqual(policy({ persistentVolumeClaimRetentionPolicy: { whenDeleted: "x" } }), [
    `${retention}.whenDeleted: Unsupported value: "x": supported values: "Retain", "Delete"`,
    `${retention}.whenScaled: Unsupported value: "": supported values: "Retain", "Delete"`,
  ]);
});

test("containers of a StatefulSet mount the claims that it makes, also instead of volumes of the template", () => {
  const mounting = { containers: [{ name: "c", image: "i", volumeMounts: [{ name: "data", mountPath: "/d" }] }] };
  const claims = { volumeClaimTemplates: [{ metadata: { name: "data" } }] };
  assert.deepEqual(errorsOf("StatefulSet", { template: template(mounting) }), [
    'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
  ]);
  assert.deepEqual(errorsOf("StatefulSet", { template: template(mounting), ...claims }), []);
  const volumes = [{ name: "data" }];
  assert.deepEqual(errorsOf("StatefulSet", { template: template({ ...mounting, volumes }), ...claims }), []);
});

test("names in the template of a StatefulSet are overwritten, and not validated", () => {
  assert.deepEqual(errorsOf("StatefulSet", { template: template({ hostname: "A", subdomain: "B" }) }), []);
  assert.equal(errorsOf("Deployment", { template: template({ hostname: "A" }) }).length, 1);
});

test("a new StatefulSet has valid claims and a valid name of its service", () => {
  const errors =
    statefulSetRules.validateNew?.({ spec: { serviceName: "S", volumeClaimTemplates: [{ spec: {} }] } }) ?? [];
  assert.deepEqual(errors.map(fieldErrorText), [
    "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
    "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
    `spec.serviceName: Invalid value: "S": ${String(dns1123LabelProblems("S"))}`,
  ]);
});

test("some members of a StatefulSet can change, others cannot", () => {
  const change = (now: JsonObject): string[] =>
    (statefulSetRules.validateChange?.({ spec: { ...base, ...now } }, { spec: base }, "") ?? []).map(fieldErrorText);
  const mutable = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
  ];
  assert.deepEqual(change(Object.fromEntries(mutable.map((name) => [name, 1]))), []);
  assert.deepEqual(change({ podManagementPolicy: "Parallel" }), [
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  ]);
});

for (const rules of [deploymentRules, replicaSetRules, daemonSetRules]) {
  test("the selector of a workload stays", () => {
    const change = (now: JsonObject): string[] =>
      (rules.validateChange?.({ spec: now }, { spec: { selector } }, "") ?? []).map(fieldErrorText);
    assert.deepEqual(change({ selector }), []);
    assert.deepEqual(change({ selector: { matchLabels: { a: "c" } } }), [
      'spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable',
    ]);
    assert.deepEqual(change({}), ["spec.selector: Invalid value: null: field is immutable"]);
  });
}

const notNegative = "must be greater than or equal to 0";
const above = (name: string, value: number, what = "status.replicas"): string =>
  `status.${name}: Invalid value: ${value}: cannot be greater than ${what}`;
const statuses: Readonly<Record<string, readonly [rules: KindRules, status: JsonObject, want: readonly string[]]>> = {
  "a Deployment with more than there are": [
    deploymentRules,
    { replicas: 1, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 2 },
    [above("updatedReplicas", 2), above("availableReplicas", 2), above("availableReplicas", 2, "readyReplicas")],
  ],
  "a Deployment with negative numbers": [
    deploymentRules,
    { collisionCount: -1, terminatingReplicas: -1 },
    ["terminatingReplicas", "collisionCount"].map((name) => `status.${name}: Invalid value: -1: ${notNegative}`),
  ],
  "a ReplicaSet with more than there are": [
    replicaSetRules,
    { replicas: 1, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 1 },
    [above("fullyLabeledReplicas", 2)],
  ],
  "a ReplicationController with more available than ready": [
    controllerRules,
    { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
    [above("availableReplicas", 2, "readyReplicas")],
  ],
  "a DaemonSet, whose numbers are not compared": [
    daemonSetRules,
    { numberReady: 5, desiredNumberScheduled: 1, numberUnavailable: -1 },
    [`status.numberUnavailable: Invalid value: -1: ${notNegative}`],
  ],
  "a StatefulSet with more available than ready": [
    statefulSetRules,
    { replicas: 2, readyReplicas: 1, availableReplicas: 2, currentReplicas: 3 },
    [above("currentReplicas", 3), above("availableReplicas", 2, "status.readyReplicas")],
  ],
};

for (const [name, [rules, status, want]] of Object.entries(statuses)) {
  test(`the status of ${name}`, () => {
    assert.deepEqual((rules.validateChange?.({ status }, {}, "status") ?? []).map(fieldErrorText), want);
    assert.deepEqual(rules.validateChange?.({ status }, {}, ""), [], "the status of other writes is not looked at");
  });
}

test("the data of a revision is an object that never changes", () => {
  const fresh = (data?: JsonValue): string[] =>
    (revisionRules.validateNew?.(data === undefined ? {} : { data }) ?? []).map(fieldErrorText);
  assert.deepEqual(
    [fresh({}), fresh(), fresh(null)],
    [[], ["data: Required value: data is mandatory"], ["data: Required value: data is mandatory"]],
  );
  assert.deepEqual(fresh([1]), ["data: Required value: data must be a valid JSON object"]);
  assert.deepEqual(
    (revisionRules.validateChange?.({ data: { a: 1 } }, { data: { a: 2 } }, "") ?? []).map(fieldErrorText),
    ['data: Invalid value: {"a":1}: field is immutable'],
  );
  assert.deepEqual((revisionRules.validate?.({ revision: -1 }) ?? []).map(fieldErrorText), [
    `revision: Invalid value: -1: ${notNegative}`,
  ]);
});

test("a write to the status of a Deployment keeps its labels", () => {
  const labelled = (labels: JsonObject): JsonObject => ({ metadata: { labels } });
  assert.deepEqual(
    deploymentRules.prepareUpdate?.(labelled({ a: "new" }), labelled({ a: "old" }), "status"),
    labelled({ a: "old" }),
  );
  assert.deepEqual(
    deploymentRules.prepareUpdate?.(labelled({ a: "new" }), labelled({ a: "old" }), ""),
    labelled({ a: "new" }),
  );
});

test("a StatefulSet that keeps all revisions, or claims fractions of bytes, gives warnings", () => {
  const claim = { spec: { resources: { requests: { storage: "100m" } } } };
  const set = {
    metadata: { generation: 1 },
    spec: { revisionHistoryLimit: -1, template: template(), volumeClaimTemplates: [claim] },
  };
  assert.deepEqual(statefulSetRules.warnings?.(set, undefined, ""), [
    'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
  ]);
  assert.deepEqual(statefulSetRules.warnings?.(set, set, "status"), []);
  assert.deepEqual(statefulSetRules.warnings?.(set, set, ""), [
    'spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
  ]);
});

test("templates of their own are validated, and warn when they are new or changed", () => {
  const old = {
    metadata: { generation: 1 },
    template: template({ nodeSelector: { "beta.kubernetes.io/os": "linux" } }),
  };
  const warning =
    'template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead';
  assert.deepEqual(podTemplateRules.warnings?.(old, undefined, ""), [warning]);
  assert.deepEqual(podTemplateRules.warnings?.(old, old, ""), []);
  assert.deepEqual(podTemplateRules.warnings?.({ ...old, metadata: { generation: 2 } }, old, ""), [warning]);
  assert.deepEqual(
    objectErrors(podTemplateRules, { template: { spec: { ...pod, containers: [] } } }).map(fieldErrorText),
    ["template.spec.containers: Required value"],
  );
});

test("a ReplicationController can be selected by its replicas", () => {
  const field = controllerRules.fields?.["status.replicas"];
  assert.deepEqual([field?.({ status: { replicas: 3 } }), field?.({})], ["3", "0"]);
});
