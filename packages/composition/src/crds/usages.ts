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
  flag,
  mapOf,
  object,
  type Schema,
  text,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { clusterUsageDocs, usageDocs } from "./docs/usage-docs.ts";
import { apiextensionsGroup, crossplaneCategory, protectionGroup } from "./groups.ts";

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
