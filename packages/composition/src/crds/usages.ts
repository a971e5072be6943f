// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  type CrdVersion,
  checked,
  column,
  conditionColumn,
  conditions,
  createCrd,
  type Fields,
  type FieldTexts,
  flag,
  type KindDocs,
  mapOf,
  object,
  text,
  under,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { apiextensionsGroup, crossplaneCategory, protectionGroup } from "./crd-shapes.ts";

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

const usageDocs: KindDocs = {
  about: "A Usage says that a resource of its namespace is in use, so that it must not be deleted.",
  fields,
};

const clusterUsageDocs: KindDocs = {
  about: "A ClusterUsage says that a cluster-scoped resource is in use, so that it must not be deleted.",
  fields,
};

function resource(more: Fields = {}): Schema {
  const fields = object({
    apiVersion: text,
    kind: text,
    resourceRef: object({ "name*": text, ...more }),
    resourceSelector: object({ matchControllerRef: flag, matchLabels: mapOf(), ...more }),
  });
  return checked(fields, {
    "has(self.resourceRef) || has(self.resourceSelector)":
      "either a resource reference or a resource selector should be set.",
  });
}

function specOf(of: Schema): Schema {
  return checked(object({ by: resource(), "of*": of, reason: text, replayDeletion: flag }), {
    "has(self.by) || has(self.reason)": 'either "spec.by" or "spec.reason" must be specified.',
  });
}

const clusterSpec = specOf(resource());
// `__namespace__` is how CEL spells a field named `namespace`.
const namespacedSpec = checked(specOf(resource({ namespace: text })), {
  "has(self.by) || (!has(self.of.resourceRef) || !has(self.of.resourceRef.__namespace__)) && (!has(self.of.resourceSelector) || !has(self.of.resourceSelector.__namespace__))":
    'cross-namespace "spec.of" is not allowed without "spec.by" resource.',
});

function versionOf(name: string, spec: Schema): CrdVersion {
  return {
    name,
    fields: { "spec*": spec, status: object({ conditions }) },
    columns: [
      column("DETAILS", ".metadata.annotations.crossplane\\.io/usage-details"),
      conditionColumn("READY", "Ready"),
      ageColumn,
    ],
    hasStatus: true,
  };
}

/** The CRD of the namespaced Usage. */
export function usageCrd(): KubeObject {
  return createCrd({
    group: protectionGroup,
    kind: "Usage",
    docs: usageDocs,
    plural: "usages",
    categories: [crossplaneCategory],
    isNamespaced: true,
    versions: [versionOf("v1beta1", namespacedSpec)],
  });
}

/** The CRD of ClusterUsage. */
export function clusterUsageCrd(): KubeObject {
  return createCrd({
    group: protectionGroup,
    kind: "ClusterUsage",
    docs: clusterUsageDocs,
    plural: "clusterusages",
    categories: [crossplaneCategory],
    versions: [versionOf("v1beta1", clusterSpec)],
  });
}

/** The CRD of the Usage that came before the protection group. */
export function legacyUsageCrd(): KubeObject {
  const deprecation =
    "apiextensions.crossplane.io Usage is deprecated; migrate to protection.crossplane.io Usage or ClusterUsage";
  return createCrd({
    group: apiextensionsGroup,
    kind: "Usage",
    docs: clusterUsageDocs,
    plural: "usages",
    categories: [crossplaneCategory],
    versions: [
      { ...versionOf("v1alpha1", clusterSpec), isStored: true, deprecation },
      { ...versionOf("v1beta1", clusterSpec), deprecation },
    ],
  });
}
