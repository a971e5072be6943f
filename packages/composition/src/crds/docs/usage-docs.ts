// SPDX-License-Identifier: Apache-2.0
import { type FieldTexts, type KindDocs, under } from "@purlin/kube-controller";

const resourceTexts: FieldTexts = {
  apiVersion: "apiVersion of the resource.",
  kind: "Kind of the resource.",
  resourceRef: "The resource by name.",
  "resourceRef.name": "Name of the resource.",
  "resourceRef.namespace": "Namespace of the resource; that of the Usage by default.",
  resourceSelector: "The resource by labels, resolved once to a name.",
  "resourceSelector.matchControllerRef": "Whether the resource must have the same controller as the Usage.",
  "resourceSelector.matchLabels": "Labels that the resource must have.",
  "resourceSelector.namespace": "Namespace to look in; that of the Usage by default.",
};

const fields: FieldTexts = {
  "spec.of": "The resource that is used, and must not be deleted meanwhile.",
  ...under("spec.of", resourceTexts),
  "spec.by": "The resource that uses it. Leave it out to protect the resource with a reason.",
  ...under("spec.by", resourceTexts),
  "spec.reason": "Why the resource must not be deleted, for people.",
  "spec.replayDeletion": "Whether a deletion that was refused is made again once the Usage is gone.",
};

export const usageDocs: KindDocs = {
  about: "A Usage says that a resource of its namespace is in use, so that it must not be deleted.",
  fields,
};

export const clusterUsageDocs: KindDocs = {
  about: "A ClusterUsage says that a cluster-scoped resource is in use, so that it must not be deleted.",
  fields,
};
