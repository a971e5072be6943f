// SPDX-License-Identifier: Apache-2.0
import {
  defineKinds,
  type KindDefinition,
  type KindRow,
  type KindSource,
  statusSubresource,
} from "@purlin/kube-apiserver/kinds";
import { requiredValue } from "@purlin/kube-objects/errors";
import { claimRules, volumeRules } from "./volume-rules.ts";

/** PersistentVolumes and their claims. */
export function volumeKinds({ now }: Pick<Parameters<KindSource>[0], "now">): KindRow[] {
  return [
    {
      resource: "persistentvolumeclaims",
      kind: "PersistentVolumeClaim",
      short: ["pvc"],
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: claimRules,
    },
    {
      resource: "persistentvolumes",
      kind: "PersistentVolume",
      short: ["pv"],
      cluster: true,
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: volumeRules(now),
    },
  ];
}

const clusterClass: Pick<KindRow, "cluster" | "write"> = { cluster: true, write: { returnsDeleted: true } };

/** The kinds of storage.k8s.io. */
export const storageKinds: readonly KindDefinition[] = defineKinds(
  { group: "storage.k8s.io", version: "v1", priority: 16_800 },
  [
    {
      resource: "csidrivers",
      kind: "CSIDriver",
      cluster: true,
      write: { unconditionalUpdate: false, returnsDeleted: true },
    },
    {
      resource: "csinodes",
      kind: "CSINode",
      cluster: true,
      write: { unconditionalUpdate: false, returnsDeleted: true },
    },
    { resource: "csistoragecapacities", kind: "CSIStorageCapacity", write: { unconditionalUpdate: false } },
    {
      resource: "storageclasses",
      kind: "StorageClass",
      short: ["sc"],
      ...clusterClass,
      rules: {
        validate: ({ provisioner = "" }) => (provisioner === "" ? [requiredValue("provisioner", "")] : []),
      },
    },
    {
      resource: "volumeattachments",
      kind: "VolumeAttachment",
      cluster: true,
      subresources: [statusSubresource],
      write: { unconditionalUpdate: false, returnsDeleted: true },
    },
    { resource: "volumeattributesclasses", kind: "VolumeAttributesClass", short: ["vac"], ...clusterClass },
  ],
);
