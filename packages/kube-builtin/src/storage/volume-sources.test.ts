// SPDX-License-Identifier: Apache-2.0
// The sources of PersistentVolumes. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { iscsiOfPod, storageOsOfPod, volumeSources } from "./volume-sources.ts";

const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];
const portal = { targetPortal: "1.2.3.4", iqn: "iqn.2015-02.example.com:test" };
const pairs = "must be a host:port pair or multiple pairs separated by commas";
const blob = 'supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"';
const managed =
  'supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"';
const reserved = "kubernetes.io and k8s.io namespaces are reserved";
const disk = { diskName: "d", diskURI: "https://x" };

/** Sources by name, each with members and the errors at the path `s`. */
const cases: Readonly<Record<string, readonly (readonly [source: JsonObject, want: readonly string[]])[]>> = {
  hostPath: [
    [{ path: "/a" }, []],
    [{ path: "/a", type: "DirectoryOrCreate" }, []],
    [{ type: "x" }, ["s.path: Required value"]],
    [
      { path: "/a/../b", type: "x" },
      [
        `s.path: Invalid value: "/a/../b": must not contain '..'`,
        's.type: Unsupported value: "x": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
      ],
    ],
  ],
  local: [
    [{ path: "/a" }, []],
    [{}, ["s.path: Required value"]],
    [{ path: ".." }, [`s.path: Invalid value: "..": must not contain '..'`]],
  ],
  gcePersistentDisk: [
    [{ pdName: "d", partition: 255 }, []],
    [
      { partition: 256 },
      ["s.pdName: Required value", "s.partition: Invalid value: 256: must be between 1 and 255, inclusive"],
    ],
  ],
  awsElasticBlockStore: [
    [{ volumeID: "v", partition: 0 }, []],
    [
      { partition: -1 },
      ["s.volumeID: Required value", "s.partition: Invalid value: -1: must be between 1 and 255, inclusive"],
    ],
  ],
  glusterfs: [
    [{ endpoints: "e", path: "p", endpointsNamespace: "n" }, []],
    [
      { endpointsNamespace: "" },
      [
        "s.endpoints: Required value",
        "s.path: Required value",
        's.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
      ],
    ],
    [
      { endpoints: "e", path: "p", endpointsNamespace: "N" },
      [`s.endpointsNamespace: Invalid value: "N": ${labelText}`],
    ],
  ],
  flocker: [
    [{ datasetName: "a" }, []],
    [{ datasetUUID: "a" }, []],
    [{}, ["s: Required value: one of datasetName and datasetUUID is required"]],
    [
      { datasetName: "a/b", datasetUUID: "c" },
      [
        's: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
        `s.datasetName: Invalid value: "a/b": must not contain '/'`,
      ],
    ],
  ],
  nfs: [
    [{ server: "s", path: "/p" }, []],
    [{}, ["s.server: Required value", "s.path: Required value", 's.path: Invalid value: "": must be an absolute path']],
    [{ server: "s", path: "p" }, ['s.path: Invalid value: "p": must be an absolute path']],
  ],
  rbd: [
    [{ monitors: ["m"], image: "i" }, []],
    [{ monitors: [] }, ["s.monitors: Required value", "s.image: Required value"]],
  ],
  quobyte: [
    [{ registry: "a:1,[::1]:2", volume: "v", tenant: "t".repeat(64) }, []],
    [{}, [`s.registry: Required value: ${pairs}`, "s.volume: Required value"]],
    [{ registry: "a,b:1,::1:2", volume: "v" }, Array(2).fill(`s.registry: Invalid value: "a,b:1,::1:2": ${pairs}`)],
    [
      { registry: "x", volume: "v", tenant: "t".repeat(65) },
      ["s.tenant: Required value: must be a UUID and may not exceed a length of 64 characters"],
    ],
  ],
  cephfs: [
    [{ monitors: ["m"] }, []],
    [{}, ["s.monitors: Required value"]],
  ],
  iscsi: [
    [{ ...portal, lun: 255, secretRef: { name: "s" }, chapAuthSession: true }, []],
    [{}, ["s.targetPortal: Required value", "s.iqn: Required value"]],
    [{ ...portal, iqn: "eui.0123456789ABCDEF", initiatorName: "naa.62004567BA64678D0123456789ABCDEF" }, []],
    [{ ...portal, iqn: "x" }, ['s.iqn: Invalid value: "x": must be valid format']],
    [{ ...portal, iqn: "eui.short" }, ['s.iqn: Invalid value: "eui.short": must be valid format']],
    [
      { ...portal, iqn: "iqn.2015-02.example.com:a b" },
      ['s.iqn: Invalid value: "iqn.2015-02.example.com:a b": must be valid format'],
    ],
    [{ ...portal, lun: 256 }, ["s.lun: Invalid value: 256: must be between 0 and 255, inclusive"]],
    [
      { ...portal, lun: -1, chapAuthDiscovery: true },
      ["s.lun: Invalid value: -1: must be between 0 and 255, inclusive", "s.secretRef: Required value"],
    ],
    [
      { ...portal, secretRef: {}, initiatorName: "" },
      ["s.secretRef.name: Required value", 's.initiatorname: Invalid value: "": must be valid format'],
    ],
  ],
  cinder: [
    [{ volumeID: "v", secretRef: { name: "a", namespace: "b" } }, []],
    [
      { secretRef: {} },
      ["s.volumeID: Required value", "s.secretRef.name: Required value", "s.secretRef.namespace: Required value"],
    ],
  ],
  fc: [
    [{ targetWWNs: ["w"], lun: 0 }, []],
    [{ wwids: ["w"] }, []],
    [{ lun: 1 }, ["s.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"]],
    [
      { targetWWNs: ["w"], wwids: ["x"] },
      [
        's.targetWWNs: Invalid value: ["w"]: targetWWNs and wwids can not be specified simultaneously',
        "s.lun: Required value: lun is required if targetWWNs is specified",
      ],
    ],
    [{ targetWWNs: ["w"], lun: 256 }, ["s.lun: Invalid value: 256: must be between 0 and 255, inclusive"]],
    [{ wwids: ["w"], lun: 256 }, []],
  ],
  flexVolume: [
    [{ driver: "d", options: { "example.org/a": "b", "xk8s.io/a": "b", kubernetes: "c" } }, []],
    [
      { options: { "k8s.io/a": "b" } },
      ["s.driver: Required value", `s.options[k8s.io/a]: Invalid value: "k8s.io/a": ${reserved}`],
    ],
    [
      { driver: "d", options: { "a.Kubernetes.IO/x/y": "b" } },
      [`s.options[a.Kubernetes.IO/x/y]: Invalid value: "a.Kubernetes.IO/x/y": ${reserved}`],
    ],
    [{ driver: "d", options: { "k8s.io": "b" } }, [`s.options[k8s.io]: Invalid value: "k8s.io": ${reserved}`]],
  ],
  azureFile: [
    [{ secretName: "a", shareName: "b" }, []],
    [
      { secretNamespace: "" },
      ["s.secretName: Required value", "s.shareName: Required value", "s.secretNamespace: Required value"],
    ],
  ],
  vsphereVolume: [[{}, ["s.volumePath: Required value"]]],
  photonPersistentDisk: [[{}, ["s.pdID: Required value"]]],
  portworxVolume: [[{}, ["s.volumeID: Required value"]]],
  azureDisk: [
    [disk, []],
    [{ ...disk, kind: "Managed", diskURI: "/subscriptions/a", cachingMode: "ReadOnly" }, []],
    [{ ...disk, kind: "Managed" }, [`s.diskURI: Unsupported value: "https://x": ${managed}`]],
    [
      { ...disk, kind: "Shared", diskURI: "/subscriptions/a" },
      [`s.diskURI: Unsupported value: "/subscriptions/a": ${blob}`],
    ],
    [
      { kind: "x", cachingMode: "y" },
      [
        "s.diskName: Required value",
        "s.diskURI: Required value",
        's.cachingMode: Unsupported value: "y": supported values: "None", "ReadOnly", "ReadWrite"',
        's.kind: Unsupported value: "x": supported values: "Dedicated", "Managed", "Shared"',
        `s.diskURI: Unsupported value: "": ${blob}`,
      ],
    ],
  ],
  scaleIO: [[{}, ["s.gateway: Required value", "s.system: Required value", "s.volumeName: Required value"]]],
  storageos: [
    [{ volumeName: "v", volumeNamespace: "n" }, []],
    [
      { volumeName: "V", volumeNamespace: "N", secretRef: {} },
      [
        `s.volumeName: Invalid value: "V": ${labelText}`,
        `s.volumeNamespace: Invalid value: "N": ${labelText}`,
        "s.secretRef.name: Required value",
        "s.secretRef.namespace: Required value",
      ],
    ],
  ],
  csi: [
    [{ driver: "a.example.org", volumeHandle: "h", controllerExpandSecretRef: { name: "a", namespace: "b" } }, []],
    [{ driver: "Upper.Case", volumeHandle: "h" }, []],
    [{}, ["s.driver: Required value", "s.volumeHandle: Required value"]],
    [{ driver: "d".repeat(64), volumeHandle: "h" }, ["s.driver: Too long: may not be more than 63 bytes"]],
    [
      {
        driver: "d",
        volumeHandle: "h",
        controllerPublishSecretRef: {},
        nodePublishSecretRef: { name: "A", namespace: "A" },
      },
      [
        "s.controllerPublishSecretRef.name: Required value",
        "s.controllerPublishSecretRef.namespace: Required value",
        `s.nodePublishSecretRef.name: Invalid value: "A": ${subdomainText}`,
        `s.nodePublishSecretRef.namespace: Invalid value: "A": ${labelText}`,
      ],
    ],
    [{ driver: "d", volumeHandle: "h", nodeStageSecretRef: {} }, []],
  ],
};

for (const [name, list] of Object.entries(cases)) {
  for (const [source, want] of list) {
    test(`the source ${name} with ${JSON.stringify(source).slice(0, 80)}`, () => {
      assert.deepEqual(volumeSources[name]?.(source, "s").map(fieldErrorText), want);
    });
  }
}

test("every source has cases", () => {
  assert.deepEqual(Object.keys(cases).sort(), Object.keys(volumeSources).sort());
});

test("a Pod says how the name of an iSCSI target begins, and needs no name of a secret", () => {
  const errors = (more: JsonObject): string[] => iscsiOfPod({ ...portal, ...more }, "s").map(fieldErrorText);
  const start = "must be valid format starting with iqn, eui, or naa";
  assert.deepEqual(errors({ secretRef: {}, chapAuthSession: true }), []);
  assert.deepEqual(errors({ iqn: "x", initiatorName: "y" }), [
    `s.iqn: Invalid value: "x": ${start}`,
    `s.initiatorname: Invalid value: "y": ${start}`,
  ]);
  assert.deepEqual(errors({ iqn: "naa.x", initiatorName: "iqn.x" }), [
    's.iqn: Invalid value: "naa.x": must be valid format',
    's.initiatorname: Invalid value: "iqn.x": must be valid format',
  ]);
  assert.deepEqual(errors({ targetPortal: "", iqn: "", lun: 300, chapAuthDiscovery: true }), [
    "s.targetPortal: Required value",
    "s.iqn: Required value",
    "s.lun: Invalid value: 300: must be between 0 and 255, inclusive",
    "s.secretRef: Required value",
  ]);
});

test("the secret of a StorageOS volume in a Pod is in the Pod's namespace", () => {
  assert.deepEqual(storageOsOfPod({ volumeName: "v", secretRef: { name: "s" } }, "s"), []);
  assert.deepEqual(storageOsOfPod({ secretRef: {} }, "s").map(fieldErrorText), [
    "s.volumeName: Required value",
    "s.secretRef.name: Required value",
  ]);
});
