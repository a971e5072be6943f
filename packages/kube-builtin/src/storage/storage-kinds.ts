// SPDX-License-Identifier: Apache-2.0
import {
  defineKinds,
  type KindDefinition,
  type KindRow,
  type KindSource,
  statusSubresource,
} from "@purlin/kube-apiserver/kinds";
import { attributesClassRules, storageCapacityRules, storageClassRules } from "./class-rules.ts";
import { attachmentRules, csiNodeRules, driverRules } from "./driver-rules.ts";
import {
  attributesClassProtection,
  claimProtection,
  ProtectionController,
  storageObjectInUseProtection,
  volumeProtection,
} from "./volume-protection.ts";
import { claimRules, volumeRules } from "./volume-rules.ts";

/** PersistentVolumes and their claims. */
export function volumeKinds({ store, now }: Parameters<KindSource>[0]): KindRow[] {
  return [
    {
      resource: "persistentvolumeclaims",
      kind: "PersistentVolumeClaim",
      short: ["pvc"],
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: claimRules,
      admission: [storageObjectInUseProtection],
      controllers: (deps) => [new ProtectionController(store, claimProtection, deps)],
    },
    {
      resource: "persistentvolumes",
      kind: "PersistentVolume",
      short: ["pv"],
      cluster: true,
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: volumeRules(now),
      controllers: (deps) => [new ProtectionController(store, volumeProtection, deps)],
    },
  ];
}

const clusterClass: Pick<KindRow, "cluster" | "write"> = { cluster: true, write: { returnsDeleted: true } };

/** The kinds of storage.k8s.io. */
export const storageKinds = ({ store }: Pick<Parameters<KindSource>[0], "store">): readonly KindDefinition[] =>
  defineKinds({ group: "storage.k8s.io", version: "v1", priority: 16_800 }, [
    {
      resource: "csidrivers",
      kind: "CSIDriver",
      cluster: true,
      write: { unconditionalUpdate: false, returnsDeleted: true, generation: "changed-spec" },
      rules: driverRules,
    },
    {
      resource: "csinodes",
      kind: "CSINode",
      cluster: true,
      write: { unconditionalUpdate: false, returnsDeleted: true },
      rules: csiNodeRules,
    },
    {
      resource: "csistoragecapacities",
      kind: "CSIStorageCapacity",
      write: { unconditionalUpdate: false },
      rules: storageCapacityRules,
    },
    {
      resource: "storageclasses",
      kind: "StorageClass",
      short: ["sc"],
      ...clusterClass,
      rules: storageClassRules,
    },
    {
      resource: "volumeattachments",
      kind: "VolumeAttachment",
      cluster: true,
      subresources: [statusSubresource],
      write: { unconditionalUpdate: false, returnsDeleted: true },
      rules: attachmentRules,
    },
    {
      resource: "volumeattributesclasses",
      kind: "VolumeAttributesClass",
      short: ["vac"],
      ...clusterClass,
      rules: attributesClassRules,
      controllers: (deps) => [new ProtectionController(store, attributesClassProtection, deps)],
    },
  ]);
