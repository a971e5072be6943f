// SPDX-License-Identifier: Apache-2.0
// PersistentVolumes and their claims: changes, statuses, sources of data and warnings. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems, labelKeyProblems } from "@purlin/kube-objects/metadata";
import { claimRules, claimSpec, claimTemplateErrors, volumeRules } from "./volume-rules.ts";

const volumes = volumeRules(() => new Date("2026-01-02T03:04:05Z"));
const subdomainText = String(dns1123SubdomainProblems("A"));

const volume = (spec: JsonObject, name = "v"): JsonObject => ({
  metadata: { name },
  spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
});
const csi = (more: JsonObject = {}): JsonObject => ({ csi: { driver: "d", volumeHandle: "h", ...more } });
const nodes = (key: string): JsonObject => ({
  nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: ["x"] }] }] } },
});

function volumeChange(before: JsonObject, now: JsonObject): string[] {
  return (volumes.validateChange?.(volume(now), volume(before), "") ?? []).map(fieldErrorText);
}

test("the source of a volume stays, apart from a first secret for its expansion", () => {
  const secret = { controllerExpandSecretRef: { name: "a", namespace: "b" } };
  assert.deepEqual(volumeChange(csi(), csi(secret)), []);
  const [first] = volumeChange(csi(), csi({ volumeHandle: "i" }));
  assert.match(
    String(first),
    /^spec\.persistentvolumesource: Forbidden: spec\.persistentvolumesource is immutable after creation\n@@ /,
  );
  assert.match(String(first), /\n-\s+"VolumeHandle": "h",\n\+\s+"VolumeHandle": "i",\n/);
  assert.equal(volumeChange(csi(secret), csi({ controllerExpandSecretRef: { name: "c", namespace: "b" } })).length, 1);
  assert.equal(volumeChange(csi(secret), csi()).length, 1);
});

test("the nodes of a volume can be set once, and get the new names of labels", () => {
  const [old, ga] = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
  assert.deepEqual(volumeChange(csi(), { ...csi(), ...nodes("a") }), []);
  assert.deepEqual(volumeChange({ ...csi(), ...nodes(old) }, { ...csi(), ...nodes(ga) }), []);
  const why = "field is immutable, except for updating from beta label to GA";
  const printed = (key: string): string =>
    `{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"${key}","Operator":"In","Values":["x"]}],"MatchFields":null}]}}`;
  assert.deepEqual(volumeChange({ ...csi(), ...nodes(ga) }, { ...csi(), ...nodes(old) }), [
    `nodeAffinity: Invalid value: ${printed(old)}: ${why}`,
  ]);
  assert.deepEqual(volumeChange({ ...csi(), ...nodes("a") }, csi()), [`nodeAffinity: Invalid value: null: ${why}`]);
});

test("a volume keeps its mode and a class of attributes", () => {
  assert.deepEqual(volumeChange({ ...csi(), volumeMode: "Block" }, { ...csi(), volumeMode: "Filesystem" }), [
    'volumeMode: Invalid value: "Filesystem": field is immutable',
  ]);
  const named = (volumeAttributesClassName: string): JsonObject => ({ ...csi(), volumeAttributesClassName });
  assert.deepEqual(volumeChange(named("a"), named("b")), []);
  assert.deepEqual(volumeChange(csi(), named("b")), []);
  assert.deepEqual(volumeChange(named("a"), csi()), [
    "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden",
  ]);
});

test("the name of a volume and its iSCSI portal have 64 characters together where an initiator has a name", () => {
  const iscsi = {
    targetPortal: "1.2.3.4",
    iqn: "iqn.2015-02.example.com:test",
    initiatorName: "iqn.2015-02.example.com:init",
  };
  const errors = (name: string, more: JsonObject): string[] =>
    (volumes.validate?.(volume({ iscsi: { ...iscsi, ...more } }, name)) ?? []).map(fieldErrorText);
  assert.deepEqual(errors("v".repeat(56), {}), []);
  assert.deepEqual(errors("v".repeat(57), {}), [
    'spec.iscsi.targetportal: Invalid value: "1.2.3.4": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
  ]);
  assert.deepEqual(errors("v".repeat(57), { initiatorName: null }), []);
});

test("the status of a volume records when its phase changed", () => {
  const [now, before] = ["2026-01-02T03:04:05Z", "2025-01-01T00:00:00Z"];
  assert.deepEqual(volumes.prepareCreate?.(volume({}))["status"], { phase: "Pending", lastPhaseTransitionTime: now });
  const status = (sent: JsonObject, old: JsonObject): unknown =>
    volumes.prepareUpdate?.({ status: sent }, { status: old }, "status")["status"];
  const had = { phase: "Available", lastPhaseTransitionTime: before };
  assert.deepEqual(status({ phase: "Bound" }, had), { phase: "Bound", lastPhaseTransitionTime: now });
  assert.deepEqual(status({ ...had, phase: "Bound" }, had), { phase: "Bound", lastPhaseTransitionTime: now });
  const own = { phase: "Bound", lastPhaseTransitionTime: "2025-06-01T00:00:00Z" };
  assert.deepEqual(status(own, had), own, "a time that a client sends counts");
  assert.deepEqual(status({ phase: "Available" }, had), had, "a time that is left out stays");
  assert.deepEqual(status({ phase: "Available" }, { phase: "Available" }), { phase: "Available" });
  const spec = { status: { phase: "Bound" } };
  assert.equal(volumes.prepareUpdate?.(spec, { status: had }, ""), spec);
});

test("warnings name sources, policies and annotations that are deprecated", () => {
  const metadata = {
    annotations: { "volume.beta.kubernetes.io/storage-class": "a", "volume.beta.kubernetes.io/mount-options": "b" },
  };
  const spec = { persistentVolumeReclaimPolicy: "Recycle", storageos: {}, rbd: {} };
  assert.deepEqual(volumes.warnings?.({ metadata, spec }, undefined, ""), [
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
  ]);
  assert.deepEqual(volumes.warnings?.({ metadata, spec }, undefined, "status"), []);
});

const claim = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  ...more,
});
const sized = (storage: string): JsonObject => ({ resources: { requests: { storage } } });

function claimChange(before: JsonObject, now: JsonObject): string[] {
  return (claimRules.validateChange?.(now, before, "") ?? []).map(fieldErrorText);
}

const fixed =
  "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const bound = { status: { phase: "Bound", capacity: { storage: "2Gi" } } };

const claimChanges: Readonly<Record<string, readonly [before: JsonObject, now: JsonObject, want: readonly string[]]>> =
  {
    "a volume can be named once": [claim({}), claim({ volumeName: "v" }), []],
    "and not again": [claim({ volumeName: "v" }), claim({ volumeName: "w" }), [fixed]],
    "a storage class can be set once": [claim({}), claim({ storageClassName: "c" }), []],
    "and not removed": [claim({ storageClassName: "c" }), claim({}), [fixed]],
    "a bound claim can grow": [claim({}, bound), claim(sized("3Gi"), bound), []],
    "one that is not bound cannot": [claim({}), claim(sized("3Gi")), [fixed]],
    "a growth can be taken back down to the capacity": [claim(sized("5Gi"), bound), claim(sized("3Gi"), bound), []],
    "but not to it": [
      claim(sized("5Gi"), bound),
      claim(sized("2048Mi"), bound),
      ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    ],
    "a bound claim can change its class of attributes": [
      claim({ volumeAttributesClassName: "a" }, bound),
      claim({ volumeAttributesClassName: "b" }, bound),
      [],
    ],
    "the mode stays": [
      claim({ volumeMode: "Block" }),
      claim({ volumeMode: "Filesystem" }),
      [fixed, 'volumeMode: Invalid value: "Filesystem": field is immutable'],
    ],
  };

for (const [name, [before, now, want]] of Object.entries(claimChanges)) {
  test(`a change of a claim: ${name}`, () => {
    assert.deepEqual(
      claimChange(before, now).map((text) => text.split("\n")[0]),
      want,
    );
  });
}

test("the old annotation for the storage class goes when the field takes its place", () => {
  const key = "volume.beta.kubernetes.io/storage-class";
  const annotated = (value: string, spec: JsonObject = {}): JsonObject =>
    claim(spec, { metadata: { annotations: { [key]: value } } });
  assert.deepEqual(claimChange(annotated("a"), claim({ storageClassName: "a" })), []);
  assert.deepEqual(claimChange(annotated("a"), annotated("a", { storageClassName: "a" })), []);
  const changed = (value: string): string =>
    `metadata.annotations.${key}: Invalid value: "${value}": field is immutable`;
  assert.deepEqual(claimChange(annotated("a"), annotated("b")), [changed("b")]);
  assert.deepEqual(claimChange(annotated("a"), claim({})), [changed("")]);
  assert.deepEqual(
    claimChange(annotated("a"), annotated("a", { storageClassName: "b" })).map((text) => text.split("\n")[0]),
    [fixed],
  );
});

test("a claim whose volume has a class of attributes keeps one", () => {
  const status = { phase: "Bound", currentVolumeAttributesClassName: "a" };
  const errors = (now: JsonObject, current: JsonObject = status): string[] =>
    claimChange(claim({ volumeAttributesClassName: "a" }, { status: current }), claim(now, { status: current }));
  const at = "spec.volumeAttributesClassName: Forbidden: update to";
  const when = "is forbidden when status.currentVolumeAttributesClassName is not nil";
  assert.deepEqual(errors({}), [`${at} nil ${when}`]);
  assert.deepEqual(errors({ volumeAttributesClassName: "" }), [`${at} empty string ${when}`]);
  assert.deepEqual(errors({ volumeAttributesClassName: "b" }), []);
  assert.deepEqual(errors({}, { phase: "Bound" }), []);
});

test("the status of a claim says what it got, in known words", () => {
  const status = {
    capacity: { storage: "-1" },
    allocatedResourceStatuses: { cpu: "NodeResizePending", storage: "x", "a b": "NodeResizePending" },
    allocatedResources: { storage: "-1", "a.example.org/b": "1", memory: "1" },
  };
  const errors = claimRules.validateChange?.(claim({}, { status }), claim({}), "status") ?? [];
  const states =
    '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"';
  assert.deepEqual(errors.map(fieldErrorText), [
    "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
    `status.allocatedResourceStatuses: Invalid value: "a b": ${String(labelKeyProblems("a b"))}`,
    'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"',
    `status.allocatedResourceStatuses: Unsupported value: "storage": supported values: ${states.split(", ").sort().join(", ")}`,
    'status.allocatedResources: Unsupported value: "memory": supported values: "storage"',
    "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
  ]);
});

const sources: Readonly<Record<string, readonly [spec: JsonObject, want: readonly string[]]>> = {
  "a snapshot": [{ dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" } }, []],
  "another claim": [{ dataSource: { kind: "PersistentVolumeClaim", name: "c" } }, []],
  "nothing named": [
    { dataSource: {} },
    [
      "s.dataSource.name: Required value",
      "s.dataSource.kind: Required value",
      `s.dataSource: Invalid value: "": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
    ],
  ],
  "an invalid group and namespace": [
    { dataSourceRef: { apiGroup: "A", kind: "k", name: "n", namespace: "N" } },
    [
      `s.dataSourceRef.apiGroup: Invalid value: "A": ${subdomainText}`,
      `s.dataSourceRef.namespace: Invalid value: "N": ${String(dns1123LabelProblems("N"))}`,
    ],
  ],
  "two that differ": [
    {
      dataSource: { kind: "PersistentVolumeClaim", name: "a" },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "b" },
    },
    ["s: Invalid value: {}: must match dataSourceRef"],
  ],
  "one of another namespace beside another": [
    {
      dataSource: { kind: "PersistentVolumeClaim", name: "a" },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "a", namespace: "n" },
    },
    ["s: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified"],
  ],
};

for (const [name, [spec, want]] of Object.entries(sources)) {
  test(`the source of data of a claim: ${name}`, () => {
    assert.deepEqual(claimSpec(claim(spec)["spec"] as JsonObject, "s").map(fieldErrorText), want);
  });
}

test("an empty claim lacks access modes and storage", () => {
  assert.deepEqual(claimSpec({}, "s").map(fieldErrorText), [
    "s.accessModes: Required value: at least 1 access mode is required",
    "s.resources[storage]: Required value",
  ]);
});

test("the template of a claim has labels and annotations, and no other metadata", () => {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } };
  const template = { metadata: { labels: { a: "b" }, annotations: {}, name: "n", uid: "u", finalizers: [] }, spec };
  assert.deepEqual(claimTemplateErrors(template, "t").map(fieldErrorText), [
    "t.metadata.name: Forbidden: cannot be set",
    "t.metadata.uID: Forbidden: cannot be set",
    "t.metadata.finalizers: Forbidden: cannot be set",
  ]);
});

test("the source of data of a new claim is in both fields", () => {
  const made = (spec: JsonObject): unknown => claimRules.prepareCreate?.({ spec })["spec"];
  const pvc = { kind: "PersistentVolumeClaim", name: "a" };
  const custom = { apiGroup: "example.org", kind: "Backup", name: "b" };
  assert.deepEqual(made({ dataSource: pvc }), { dataSource: pvc, dataSourceRef: pvc });
  assert.deepEqual(made({ dataSourceRef: custom }), { dataSourceRef: custom, dataSource: custom });
  assert.deepEqual(made({ dataSource: custom }), {}, "the older field accepts claims and snapshots only");
  assert.deepEqual(made({ dataSource: custom, dataSourceRef: custom }), { dataSource: custom, dataSourceRef: custom });
  assert.deepEqual(claimRules.prepareCreate?.({ spec: {}, status: { phase: "Bound" } })["status"], {
    phase: "Pending",
  });
});

test("an update adds a source of data only to a claim that had none", () => {
  const pvc = { kind: "PersistentVolumeClaim", name: "a" };
  const sent = { spec: { dataSource: pvc } };
  assert.deepEqual(claimRules.prepareUpdate?.(sent, { spec: {} }, ""), {
    spec: { dataSource: pvc, dataSourceRef: pvc },
  });
  assert.equal(claimRules.prepareUpdate?.(sent, { spec: { dataSourceRef: pvc } }, ""), sent);
  assert.equal(claimRules.prepareUpdate?.(sent, { spec: {} }, "status"), sent);
});

test("a fraction of a byte gives a warning", () => {
  const warnings = (requests: JsonObject, limits: JsonObject = {}): unknown =>
    claimRules.warnings?.({ spec: { resources: { requests, limits } } }, undefined, "");
  assert.deepEqual(warnings({ storage: "1Gi" }, { storage: "1000m" }), []);
  assert.deepEqual(warnings({ storage: "-1" }, { storage: "999999999n" }), []);
  assert.deepEqual(warnings({ storage: "1500m" }, { storage: "100m" }), [
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    'spec.resources.limits[storage]: fractional byte value "100m" is invalid, must be an integer',
  ]);
});
