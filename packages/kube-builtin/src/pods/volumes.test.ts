// SPDX-License-Identifier: Apache-2.0
// Volumes of Pods, and mounts and devices of containers. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { descendingPath, volumeMounts, volumesOf } from "./volumes.ts";

const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];

type Case = readonly [name: string, volume: JsonObject, want: readonly string[]];

const template = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };
const modeText = "must be a number between 0 and 0777 (octal), both inclusive";

const sources: readonly Case[] = [
  ["none", {}, ["v: Required value: must specify a volume type"]],
  ["an empty directory", { emptyDir: { sizeLimit: "0" } }, []],
  [
    "a negative size",
    { emptyDir: { sizeLimit: "-1" } },
    ["v.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
  ],
  [
    "a repository",
    { gitRepo: { directory: "/a" } },
    ["v.gitRepo.repository: Required value", 'v.gitRepo.directory: Invalid value: "/a": must be a relative path'],
  ],
  [
    "a secret",
    { secret: { defaultMode: -1, items: [{ key: "k" }] } },
    [
      "v.secret.secretName: Required value",
      `v.secret.defaultMode: Invalid value: -1: ${modeText}`,
      "v.secret.items[0].path: Required value",
    ],
  ],
  [
    "a config map",
    { configMap: { items: [{ path: "p" }] } },
    ["v.configMap.name: Required value", "v.configMap.items[0].key: Required value"],
  ],
  ["a claim", { persistentVolumeClaim: {} }, ["v.persistentVolumeClaim.claimName: Required value"]],
  [
    "files with parts of the Pod, whose items have no path of their own",
    { downwardAPI: { defaultMode: 512, items: [{}] } },
    [
      `v.downwardAPI.defaultMode: Invalid value: 512: ${modeText}`,
      "v.downwardAPI.path: Required value",
      "v.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
    ],
  ],
  ["a driver", { csi: { driver: "d", nodePublishSecretRef: { name: "s" } } }, []],
  [
    "a driver without a name and a secret without one",
    { csi: { nodePublishSecretRef: {} } },
    ["v.csi.driver: Required value", "v.csi.nodePublishSecretRef.name: Required value"],
  ],
  [
    "a secret of a driver with an invalid name",
    { csi: { driver: "d", nodePublishSecretRef: { name: "S" } } },
    [`v.csi.name: Invalid value: "S": ${subdomainText}`],
  ],
  ["a claim of its own", { ephemeral: { volumeClaimTemplate: template } }, []],
  ["a claim of its own without a template", { ephemeral: {} }, ["v.ephemeral.volumeClaimTemplate: Required value"]],
  [
    "a claim of its own with an invalid template",
    { ephemeral: { volumeClaimTemplate: { metadata: { name: "n" }, spec: {} } } },
    [
      "v.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
      "v.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
      "v.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
    ],
  ],
  ["an image", { image: { reference: "i", pullPolicy: "Always" } }, []],
  ["an image without a policy", { image: { reference: "i" } }, ["v.image.pullPolicy: Required value"]],
  [
    "an image with an unknown policy",
    { image: { reference: "i", pullPolicy: "x" } },
    ['v.image.pullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never"'],
  ],
  [
    "a source of PersistentVolumes too",
    { nfs: { server: "s", path: "p" } },
    ['v.nfs.path: Invalid value: "p": must be an absolute path'],
  ],
  ["a disk, whose errors have another path", { gcePersistentDisk: {} }, ["v.persistentDisk.pdName: Required value"]],
  [
    "several, of which the first is validated",
    { emptyDir: {}, secret: {}, cephfs: {}, downwardAPI: {} },
    [
      "v.secret: Forbidden: may not specify more than 1 volume type",
      "v.cephFS: Forbidden: may not specify more than 1 volume type",
      "v.downwarAPI: Forbidden: may not specify more than 1 volume type",
    ],
  ],
];

for (const [name, volume, want] of sources) {
  test(`the source of a volume: ${name}`, () => {
    const { errors, valid } = volumesOf({ volumes: [{ name: "n", ...volume }] }, "s", "pod");
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace("s.volumes[0]", "v")),
      want,
    );
    assert.deepEqual([...valid.keys()], want.length === 0 ? ["n"] : []);
  });
}

test("a Pod names the image of a volume, a template may leave it out", () => {
  const spec = { volumes: [{ name: "n", image: { pullPolicy: "Never" } }] };
  assert.deepEqual(volumesOf(spec, "s", "pod").errors.map(fieldErrorText), [
    "s.volumes[0].image.reference: Required value",
  ]);
  assert.deepEqual(volumesOf(spec, "s").errors, []);
});

test("volumes have names of their own, and invalid ones take none", () => {
  const volumes = [
    { name: "a", emptyDir: {} },
    { name: "a", emptyDir: {} },
    { name: "b" },
    { name: "b", emptyDir: {} },
    { emptyDir: {} },
    { name: "C", emptyDir: {} },
  ];
  const { errors, valid } = volumesOf({ volumes }, "s");
  assert.deepEqual(errors.map(fieldErrorText), [
    's.volumes[1].name: Duplicate value: "a"',
    "s.volumes[2]: Required value: must specify a volume type",
    "s.volumes[4].name: Required value",
    `s.volumes[5].name: Invalid value: "C": ${labelText}`,
  ]);
  assert.deepEqual([...valid.keys()], ["a", "b"]);
});

test("the claim of an ephemeral volume is named after the Pod, and no other volume uses it", () => {
  const own = { name: "data", ephemeral: { volumeClaimTemplate: template } };
  const other = { name: "other", persistentVolumeClaim: { claimName: "pod-data" } };
  assert.deepEqual(volumesOf({ volumes: [own, other] }, "s", "pod").errors.map(fieldErrorText), [
    's.volumes[1].persistentVolumeClaim.claimName: Invalid value: "pod-data": must not reference a PVC that gets created for an ephemeral volume',
  ]);
  assert.deepEqual(volumesOf({ volumes: [own, other] }, "s").errors, [], "a template has no name");
  const long = "p".repeat(250);
  assert.deepEqual(volumesOf({ volumes: [own] }, "s", long).errors.map(fieldErrorText), [
    `s.volumes[0].name: Invalid value: "data": PVC name "${long}-data": must be no more than 253 characters`,
  ]);
});

test("an iSCSI portal with a named initiator leaves room for the name of its volume", () => {
  const iscsi = {
    targetPortal: "1.2.3.4",
    iqn: "iqn.2015-02.example.com:test",
    initiatorName: "iqn.2015-02.example.com:init",
  };
  const errors = (length: number, more: JsonObject = {}): number =>
    volumesOf({ volumes: [{ name: "n".repeat(length), iscsi: { ...iscsi, ...more } }] }, "s").errors.length;
  assert.deepEqual([errors(56), errors(57), errors(57, { initiatorName: null })], [0, 1, 0]);
});

test("a path that descends is relative and does not go back", () => {
  const errors = (path: string): string[] => descendingPath(path, "p").map(fieldErrorText);
  assert.deepEqual([errors(""), errors("a/b"), errors("a..b/...")], [[], [], []]);
  assert.deepEqual(errors("/.."), [
    'p: Invalid value: "/..": must be a relative path',
    `p: Invalid value: "/..": must not contain '..'`,
  ]);
});

const known = new Map<string, JsonObject>([
  ["d", { emptyDir: {} }],
  ["e", { emptyDir: {} }],
  ["c", { persistentVolumeClaim: {} }],
  ["f", { ephemeral: {} }],
]);
const mount = (more: JsonObject = {}): JsonObject => ({ name: "d", mountPath: "/d", ...more });
const at = "c.volumeMounts";

const mounts: readonly Case[] = [
  ["a plain one", { volumeMounts: [mount({ subPath: "a", mountPropagation: "HostToContainer" })] }, []],
  ["one volume at two places", { volumeMounts: [mount(), mount({ mountPath: "/e" })] }, []],
  [
    "nothing named",
    { volumeMounts: [{}] },
    [`${at}[0].name: Required value`, `${at}[0].name: Not found: ""`, `${at}[0].mountPath: Required value`],
  ],
  ["an unknown volume", { volumeMounts: [mount({ name: "x" })] }, [`${at}[0].name: Not found: "x"`]],
  [
    "two at one place",
    { volumeMounts: [mount(), mount({ name: "e" })] },
    [`${at}[1].mountPath: Invalid value: "/d": must be unique`],
  ],
  [
    "a place of a device",
    { volumeMounts: [mount({ mountPath: "/dev/x" })], volumeDevices: [{ name: "c", devicePath: "/dev/x" }] },
    [
      `${at}[0].mountPath: Invalid value: "/dev/x": must not already exist as a path in volumeDevices`,
      'c.volumeDevices[0].devicePath: Invalid value: "/dev/x": must not already exist as a path in volumeMounts',
    ],
  ],
  [
    "a volume that is a device",
    { volumeMounts: [mount({ name: "c" })], volumeDevices: [{ name: "c", devicePath: "/dev/x" }] },
    [
      `${at}[0].name: Invalid value: "c": must not already exist in volumeDevices`,
      'c.volumeDevices[0].name: Invalid value: "c": must not already exist in volumeMounts',
    ],
  ],
  [
    "paths below, whose errors have the path of the list",
    { volumeMounts: [mount({ subPath: "../a", subPathExpr: "/b" })] },
    [
      `${at}.subPath: Invalid value: "../a": must not contain '..'`,
      `${at}[0].subPathExpr: Invalid value: "/b": subPathExpr and subPath are mutually exclusive`,
      `${at}.subPathExpr: Invalid value: "/b": must be a relative path`,
    ],
  ],
  [
    "an unknown propagation",
    { volumeMounts: [mount({ mountPropagation: "x" })] },
    [`${at}.mountPropagation: Unsupported value: "x": supported values: "Bidirectional", "HostToContainer", "None"`],
  ],
  [
    "a propagation to the host",
    { volumeMounts: [mount({ mountPropagation: "Bidirectional" })] },
    [`${at}.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`],
  ],
  [
    "a propagation to the host by a privileged container",
    { securityContext: { privileged: true }, volumeMounts: [mount({ mountPropagation: "Bidirectional" })] },
    [],
  ],
  [
    "read only below too",
    { volumeMounts: [mount({ readOnly: true, recursiveReadOnly: "Enabled", mountPropagation: "None" })] },
    [],
  ],
  [
    "not read only below",
    { volumeMounts: [mount({ recursiveReadOnly: "Disabled", mountPropagation: "HostToContainer" })] },
    [],
  ],
  [
    "an unknown depth",
    { volumeMounts: [mount({ recursiveReadOnly: "x" })] },
    [`${at}.recursiveReadOnly: Unsupported value: "x": supported values: "Disabled", "Enabled", "IfPossible"`],
  ],
  [
    "read only below and not above",
    { volumeMounts: [mount({ recursiveReadOnly: "IfPossible", mountPropagation: "HostToContainer" })] },
    [
      `${at}.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
      `${at}.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified`,
    ],
  ],
  [
    "devices of claims",
    {
      volumeDevices: [
        { name: "c", devicePath: "/dev/x" },
        { name: "f", devicePath: "/dev/y" },
      ],
    },
    [],
  ],
  [
    "devices without names",
    { volumeDevices: [{}] },
    [
      "c.volumeDevices[0].name: Required value",
      'c.volumeDevices[0].name: Not found: ""',
      "c.volumeDevices[0].devicePath: Required value",
    ],
  ],
  [
    "a device twice",
    {
      volumeDevices: [
        { name: "c", devicePath: "/x" },
        { name: "c", devicePath: "/x" },
      ],
    },
    [
      'c.volumeDevices[1].name: Invalid value: "c": must be unique',
      'c.volumeDevices[1].devicePath: Invalid value: "/x": must be unique',
    ],
  ],
  [
    "a device of a directory",
    { volumeDevices: [{ name: "d", devicePath: "/x" }] },
    [
      'c.volumeDevices[0].name: Invalid value: "d": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
    ],
  ],
  [
    "a device elsewhere",
    { volumeDevices: [{ name: "c", devicePath: "/../x" }] },
    [`c.volumeDevices[0].devicePath: Invalid value: "/../x": can not contain backsteps ('..')`],
  ],
];

for (const [name, container, want] of mounts) {
  test(`mounts and devices: ${name}`, () => {
    assert.deepEqual(volumeMounts(known)(container, "c").map(fieldErrorText), want);
  });
}
