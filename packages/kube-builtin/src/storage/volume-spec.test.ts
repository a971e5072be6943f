// SPDX-License-Identifier: Apache-2.0
// The specs of PersistentVolumes and of inline volumes, and selectors of nodes. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import {
  basicAmount,
  inlineVolume,
  nodeSelector,
  nodeSelectorTerm,
  positiveAmount,
  volumeSpec,
} from "./volume-spec.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const subdomainText = String(dns1123SubdomainProblems("A"));
const hostPath = { path: "/a" };
const spec = (more: JsonObject): JsonObject => ({
  capacity: { storage: "1Gi" },
  accessModes: ["ReadWriteOnce"],
  hostPath,
  ...more,
});
const csi = { driver: "d", volumeHandle: "h" };
const term = { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }] };

const specs: readonly Case[] = [
  ["a plain one", spec({ persistentVolumeReclaimPolicy: "Retain", volumeMode: "Block", storageClassName: "c" }), []],
  [
    "an empty one",
    {},
    [
      "s.accessModes: Required value",
      "s.capacity: Required value",
      's.capacity: Unsupported value: null: supported values: "storage"',
      "s: Required value: must specify a volume type",
    ],
  ],
  [
    "unknown access modes",
    spec({ accessModes: ["x", "ReadWriteOncePod", "ReadOnlyMany"] }),
    [
      's.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
      "s.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
    ],
  ],
  ["one Pod twice", spec({ accessModes: ["ReadWriteOncePod", "ReadWriteOncePod"] }), []],
  [
    "another resource beside the storage",
    spec({ capacity: { storage: "1Gi", cpu: "-1500m" } }),
    [
      's.capacity: Unsupported value: {"cpu":"-1500m","storage":"1Gi"}: supported values: "storage"',
      "s.capacity[cpu]: Invalid value: -2: must be a valid resource quantity",
      's.capacity[cpu]: Invalid value: "-1500m": must be greater than zero',
    ],
  ],
  [
    "no storage",
    spec({ capacity: { storage: "0" } }),
    ['s.capacity[storage]: Invalid value: "0": must be greater than zero'],
  ],
  [
    "an unknown policy",
    spec({ persistentVolumeReclaimPolicy: "x" }),
    ['s.persistentVolumeReclaimPolicy: Unsupported value: "x": supported values: "Delete", "Recycle", "Retain"'],
  ],
  [
    "nodes that need not match",
    spec({ nodeAffinity: {} }),
    ["s.nodeAffinity.required: Required value: must specify required node constraints"],
  ],
  [
    "two sources",
    spec({ nfs: { server: "s", path: "/p" } }),
    ["s.nfs: Forbidden: may not specify more than 1 volume type"],
  ],
  [
    "the source cephfs, with a path of its own",
    spec({ cephfs: { monitors: ["m"] } }),
    ["s.cephFS: Forbidden: may not specify more than 1 volume type"],
  ],
  [
    "the disk, whose errors have another path",
    { ...spec({ gcePersistentDisk: {} }), hostPath: null },
    ["s.persistentDisk.pdName: Required value"],
  ],
  ["a flexible volume beside another is validated", spec({ flexVolume: {} }), ["s.flexVolume.driver: Required value"]],
  [
    "a local volume needs nodes",
    { ...spec({ local: { path: "/a" } }), hostPath: null },
    ["s.nodeAffinity: Required value: Local volume requires node affinity"],
  ],
  [
    "a local volume with nodes",
    { ...spec({ local: { path: "/a" }, nodeAffinity: { required: term } }), hostPath: null },
    [],
  ],
  ...["/", "//", "/.", "/./"].map(
    (path): Case => [
      `a root that would be emptied: ${path}`,
      spec({ hostPath: { path }, persistentVolumeReclaimPolicy: "Recycle" }),
      ["s.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
    ],
  ),
  [
    "another directory may be emptied",
    spec({ hostPath: { path: "/a/" }, persistentVolumeReclaimPolicy: "Recycle" }),
    [],
  ],
  [
    "invalid names and modes",
    spec({ storageClassName: "A", volumeMode: "x", volumeAttributesClassName: "A" }),
    [
      `s.storageClassName: Invalid value: "A": ${subdomainText}`,
      's.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"',
      `s.volumeAttributesClassName: Invalid value: "A": ${subdomainText}`,
      "s.csi: Required value: has to be specified when using volumeAttributesClassName",
    ],
  ],
  [
    "an empty class of attributes",
    { ...spec({ csi, volumeAttributesClassName: "" }), hostPath: null },
    ["s.volumeAttributesClassName: Required value: an empty string is disallowed"],
  ],
];

for (const [name, object, want] of specs) {
  test(`the spec of a volume: ${name}`, () => {
    assert.deepEqual(volumeSpec(object, "s").map(fieldErrorText), want);
  });
}

const inline = "in the context of inline volumes";
const inlines: readonly Case[] = [
  [
    "a plain one",
    {
      accessModes: ["ReadWriteOnce"],
      csi,
      persistentVolumeReclaimPolicy: "Retain",
      volumeMode: "Filesystem",
      capacity: {},
    },
    [],
  ],
  [
    "everything that it must not have, in the order of the reference",
    {
      claimRef: {},
      capacity: { storage: "1Gi" },
      hostPath: { path: "/" },
      persistentVolumeReclaimPolicy: "Recycle",
      nodeAffinity: {},
      storageClassName: "c",
      volumeMode: "Block",
    },
    [
      `s.claimRef: Forbidden: may not be specified ${inline}`,
      `s.capacity: Forbidden: may not be specified ${inline}`,
      `s.csi: Required value: has to be specified ${inline}`,
      "s.accessModes: Required value",
      `s.persistentVolumeReclaimPolicy: Forbidden: may only be Retain ${inline}`,
      `s.nodeAffinity: Forbidden: may not be specified ${inline}`,
      "s.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      `s.storageClassName: Forbidden: may not be specified ${inline}`,
      `s.volumeMode: Forbidden: may not specify volumeMode other than Filesystem ${inline}`,
    ],
  ],
  [
    "a local volume, which cannot have nodes",
    { accessModes: ["ReadWriteOnce"], local: { path: "/a" }, nodeAffinity: { required: term } },
    [
      `s.csi: Required value: has to be specified ${inline}`,
      `s.nodeAffinity: Forbidden: may not be specified ${inline}`,
      "s.nodeAffinity: Required value: Local volume requires node affinity",
    ],
  ],
];

for (const [name, object, want] of inlines) {
  test(`an inline volume: ${name}`, () => {
    assert.deepEqual(inlineVolume(object, "s").map(fieldErrorText), want);
  });
}

const requirement = (operator: string, ...values: string[]): JsonObject => ({
  key: "a",
  operator,
  ...(values.length > 0 && { values }),
});
const labels: readonly (readonly [requirement: JsonObject, want: readonly string[]])[] = [
  [requirement("In", "x", "y"), []],
  [requirement("In"), ["e.values: Required value: must be specified when `operator` is 'In' or 'NotIn'"]],
  [requirement("NotIn"), ["e.values: Required value: must be specified when `operator` is 'In' or 'NotIn'"]],
  [
    requirement("Exists", "x"),
    ["e.values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
  ],
  [requirement("DoesNotExist"), []],
  [requirement("Gt", "1"), []],
  [
    requirement("Gt", "1", "2"),
    ["e.values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"],
  ],
  [requirement("Lt"), ["e.values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"]],
  [requirement("="), ['e.operator: Invalid value: "=": not a valid selector operator']],
  [{ key: "a b", operator: "Exists" }, [`e.key: Invalid value: "a b": ${String(labelKeyProblems("a b"))}`]],
  [requirement("In", "x", "a b"), [`e.values[1]: Invalid value: "a b": ${String(labelValueProblems("a b"))}`]],
];

for (const [one, want] of labels) {
  test(`a requirement of labels of nodes: ${JSON.stringify(one)}`, () => {
    const errors = nodeSelectorTerm({ checksValues: true })({ matchExpressions: [one] }, "t");
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace("t.matchExpressions[0]", "e")),
      want,
    );
  });
}

test("values that are only preferred are not checked", () => {
  const check = nodeSelectorTerm({ checksValues: false });
  assert.deepEqual(check({ matchExpressions: [requirement("In", "a b")] }, "t"), []);
  assert.equal(check({ matchExpressions: [requirement("In")] }, "t").length, 1);
});

test("nodes can be selected by the field metadata.name alone", () => {
  const errors = (one: JsonObject): string[] =>
    nodeSelector({ nodeSelectorTerms: [{ matchFields: [one] }] }, "n").map((error) =>
      fieldErrorText(error).replace("n.nodeSelectorTerms[0].matchFields[0]", "f"),
    );
  assert.deepEqual(errors({ key: "metadata.name", operator: "In", values: ["a"] }), []);
  const single =
    "f.values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
  assert.deepEqual(errors({ key: "metadata.name", operator: "NotIn", values: ["a", "B"] }), [
    single,
    `f.values[1]: Invalid value: "B": ${subdomainText}`,
  ]);
  assert.deepEqual(errors({ key: "metadata.name", operator: "In" }), [single]);
  assert.deepEqual(errors({ key: "metadata.uid", operator: "Exists" }), [
    'f.operator: Invalid value: "Exists": not a valid selector operator',
    'f.key: Invalid value: "metadata.uid": not a valid field selector key',
  ]);
  assert.deepEqual(nodeSelector({}, "n").map(fieldErrorText), [
    "n.nodeSelectorTerms: Required value: must have at least one node selector term",
  ]);
});

test("amounts are compared exactly, and negative ones are rounded away from zero", () => {
  assert.deepEqual(positiveAmount("1n", "p"), []);
  assert.deepEqual(positiveAmount("-1", "p").map(fieldErrorText), [
    'p: Invalid value: "-1": must be greater than zero',
  ]);
  assert.deepEqual(basicAmount("0", "p"), []);
  assert.deepEqual(basicAmount("-1m", "p").map(fieldErrorText), [
    "p: Invalid value: -1: must be a valid resource quantity",
  ]);
  assert.deepEqual(basicAmount("-2Ki", "p").map(fieldErrorText), [
    "p: Invalid value: -2048: must be a valid resource quantity",
  ]);
});
