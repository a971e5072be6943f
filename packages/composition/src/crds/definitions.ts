// SPDX-License-Identifier: Apache-2.0
import {
  ageColumn,
  checked,
  choice,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  type Fields,
  flag,
  free,
  immutable,
  listOf,
  mapOf,
  nameRef,
  object,
  text,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import {
  apiextensionsGroup,
  conversion,
  crdNames,
  crossplaneCategory,
  labelSelector,
  lowercase,
  printerColumn,
  scale,
} from "./crd-shapes.ts";
import { activationPolicyDocs, definitionDocs, managedDefinitionDocs } from "./kind-docs.ts";

const version: Schema = object({
  additionalPrinterColumns: listOf(printerColumn),
  deprecated: flag,
  deprecationWarning: { ...text, maxLength: 256 },
  "name*": text,
  "referenceable*": flag,
  schema: object({ openAPIV3Schema: free }),
  "served*": flag,
  subresources: object({ scale }),
});

const updatePolicy = defaulted(choice("Automatic", "Manual"), "Automatic");
const deletePolicy = choice("Background", "Foreground");

const commonFields: Fields = {
  connectionSecretKeys: listOf(text),
  defaultCompositionRef: nameRef,
  defaultCompositionRevisionSelector: labelSelector,
  defaultCompositionUpdatePolicy: updatePolicy,
  enforcedCompositionRef: immutable(nameRef),
  "group*": immutable(text),
  metadata: object({ annotations: mapOf(), labels: mapOf() }),
  "names*": lowercase(immutable(crdNames)),
  "versions*": listOf(version),
};

const specV1: Schema = checked(
  object({
    ...commonFields,
    claimNames: lowercase(immutable(crdNames)),
    conversion: checked(conversion, {
      "self.strategy == 'Webhook' && has(self.webhook)":
        "Webhook configuration is required when conversion strategy is Webhook",
    }),
    defaultCompositeDeletePolicy: defaulted(deletePolicy, "Background"),
    scope: immutable(defaulted(choice("LegacyCluster", "Namespaced", "Cluster"), "LegacyCluster")),
  }),
  {
    "self.scope == 'LegacyCluster' || !has(self.claimNames)": "Only LegacyCluster composite resources can offer claims",
    "self.scope == 'LegacyCluster' || !has(self.connectionSecretKeys)":
      "Only LegacyCluster composite resources support connection secrets",
  },
);

const specV2: Schema = checked(
  object({
    ...commonFields,
    claimNames: crdNames,
    conversion,
    defaultCompositeDeletePolicy: deletePolicy,
    scope: immutable(defaulted(choice("Namespaced", "Cluster"), "Namespaced")),
  }),
  {
    "!has(self.claimNames)": "Claims aren't supported in apiextensions.crossplane.io/v2",
    "!has(self.connectionSecretKeys)": "XR connection secrets aren't supported in apiextensions.crossplane.io/v2",
  },
);

const typeRef: Schema = object({ "apiVersion*": text, "kind*": text });

const status: Schema = object({
  conditions,
  controllers: object({ compositeResourceClaimType: typeRef, compositeResourceType: typeRef }),
});

const columns = [
  conditionColumn("ESTABLISHED", "Established"),
  conditionColumn("OFFERED", "Offered"),
  ageColumn,
] as const;

const deprecation =
  "CompositeResourceDefinition v1 is deprecated and will be removed in a future release; consider migrating to v2";

/** The CRD of CompositeResourceDefinition. */
export function compositeResourceDefinitionCrd(): KubeObject {
  return createCrd({
    group: apiextensionsGroup,
    kind: "CompositeResourceDefinition",
    docs: definitionDocs,
    plural: "compositeresourcedefinitions",
    shortNames: ["xrd", "xrds"],
    categories: [crossplaneCategory],
    versions: [
      { name: "v1", isStored: true, deprecation, fields: { spec: specV1, status }, columns, hasStatus: true },
      { name: "v2", fields: { spec: specV2, status }, columns, hasStatus: true },
    ],
  });
}

const managedVersion: Schema = object({
  additionalPrinterColumns: listOf(printerColumn, "atomic"),
  deprecated: flag,
  deprecationWarning: text,
  "name*": text,
  schema: object({ openAPIV3Schema: free }),
  selectableFields: listOf(object({ "jsonPath*": text }), "atomic"),
  "served*": flag,
  "storage*": flag,
  subresources: object({ scale, status: { type: "object" } }),
});

const definitionSpec: Schema = object({
  connectionDetails: listOf(object({ "description*": text, "name*": text })),
  conversion,
  "group*": immutable(text),
  "names*": lowercase(immutable(crdNames)),
  preserveUnknownFields: flag,
  "scope*": immutable(defaulted(choice("Namespaced", "Cluster"), "Namespaced")),
  state: checked(defaulted(choice("Active", "Inactive"), "Inactive"), {
    "self == oldSelf || oldSelf != 'Active'": "state cannot be changed once it becomes Active",
  }),
  "versions*": listOf(managedVersion, "atomic"),
});

/** The CRD of ManagedResourceDefinition. */
export function managedResourceDefinitionCrd(): KubeObject {
  return createCrd({
    group: apiextensionsGroup,
    kind: "ManagedResourceDefinition",
    docs: managedDefinitionDocs,
    plural: "managedresourcedefinitions",
    shortNames: ["mrd", "mrds"],
    categories: [crossplaneCategory],
    versions: [
      {
        name: "v1alpha1",
        fields: { spec: definitionSpec, status: object({ conditions }) },
        columns: [column("STATE", ".spec.state"), conditionColumn("ESTABLISHED", "Established"), ageColumn],
        hasStatus: true,
      },
    ],
  });
}

/** The CRD of ManagedResourceActivationPolicy. */
export function managedResourceActivationPolicyCrd(): KubeObject {
  const spec = object({ "activate*": listOf(text, undefined, { minItems: 1 }) });
  return createCrd({
    group: apiextensionsGroup,
    kind: "ManagedResourceActivationPolicy",
    docs: activationPolicyDocs,
    plural: "managedresourceactivationpolicies",
    shortNames: ["mrap"],
    categories: [crossplaneCategory],
    versions: [
      {
        name: "v1alpha1",
        fields: { spec, status: object({ activated: listOf(text), conditions }) },
        columns: [ageColumn],
        hasStatus: true,
      },
    ],
  });
}
