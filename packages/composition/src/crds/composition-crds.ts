// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  type CrdVersion,
  checked,
  choice,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  type Fields,
  type FieldTexts,
  flag,
  immutable,
  integer,
  type KindDocs,
  listOf,
  mapOf,
  object,
  text,
  under,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import {
  apiextensionsGroup,
  compositionStep,
  crossplaneCategory,
  protectionGroup,
  revisionStep,
} from "./crd-shapes.ts";
import {
  compositeResourceDefinitionCrd,
  managedResourceActivationPolicyCrd,
  managedResourceDefinitionCrd,
} from "./definitions.ts";
import { compositionDocs, compositionRevisionDocs, environmentConfigDocs } from "./kind-docs.ts";
import { cronOperationCrd, operationCrd, watchOperationCrd } from "./operations.ts";

const commonFields: Fields = {
  "compositeTypeRef*": immutable(object({ "apiVersion*": text, "kind*": text })),
  mode: defaulted(choice("Pipeline"), "Pipeline"),
  writeConnectionSecretsToNamespace: text,
};

const typeColumns = [
  column("XR-KIND", ".spec.compositeTypeRef.kind"),
  column("XR-APIVERSION", ".spec.compositeTypeRef.apiVersion"),
  ageColumn,
] as const;

/** The CRDs that the controllers of this package work on. */
export function compositionCrds(): readonly KubeObject[] {
  return [compositeResourceDefinitionCrd(), compositionCrd(), compositionRevisionCrd(), environmentConfigCrd()];
}

/** The CRDs of Usages, Operations and managed resource definitions. They are installed even while their feature is off. */
export function keptCrds(): readonly KubeObject[] {
  return [
    managedResourceDefinitionCrd(),
    managedResourceActivationPolicyCrd(),
    legacyUsageCrd(),
    usageCrd(),
    clusterUsageCrd(),
    operationCrd(),
    cronOperationCrd(),
    watchOperationCrd(),
  ];
}

/** The CRD of EnvironmentConfig. */
function environmentConfigCrd(): KubeObject {
  const data = mapOf({ "x-kubernetes-preserve-unknown-fields": true });
  return createCrd({
    group: apiextensionsGroup,
    kind: "EnvironmentConfig",
    docs: environmentConfigDocs,
    plural: "environmentconfigs",
    shortNames: ["envcfg"],
    categories: [crossplaneCategory],
    versions: [{ name: "v1beta1", fields: { data }, columns: [ageColumn], hasStatus: false }],
  });
}

/** The CRD of Composition. */
function compositionCrd(): KubeObject {
  const pipeline = listOf(compositionStep, { mapBy: "step" }, { minItems: 1, maxItems: 99 });
  const spec = checked(object({ ...commonFields, pipeline }), {
    "self.mode == 'Pipeline' && has(self.pipeline)": "an array of pipeline steps is required in Pipeline mode",
  });
  return createCrd({
    group: apiextensionsGroup,
    kind: "Composition",
    docs: compositionDocs,
    plural: "compositions",
    shortNames: ["comp"],
    categories: [crossplaneCategory],
    versions: [{ name: "v1", fields: { spec }, columns: typeColumns, hasStatus: false }],
  });
}

/** The CRD of CompositionRevision. */
function compositionRevisionCrd(): KubeObject {
  const pipeline = listOf(revisionStep, { mapBy: "step" });
  const spec = object({ ...commonFields, pipeline, "revision*": integer });
  return createCrd({
    group: apiextensionsGroup,
    kind: "CompositionRevision",
    docs: compositionRevisionDocs,
    plural: "compositionrevisions",
    shortNames: ["comprev"],
    categories: [crossplaneCategory],
    versions: [
      {
        name: "v1",
        fields: { spec, status: object({ conditions }) },
        columns: [column("REVISION", ".spec.revision"), ...typeColumns],
        hasStatus: true,
      },
    ],
  });
}

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
function clusterUsageCrd(): KubeObject {
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
function legacyUsageCrd(): KubeObject {
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
