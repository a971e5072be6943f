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
  flag,
  free,
  immutable,
  listOf,
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
  lowercase,
  printerColumn,
  scale,
} from "./crd-shapes.ts";
import { activationPolicyDocs, managedDefinitionDocs } from "./docs/definition-docs.ts";

const version: Schema = object({
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
  "versions*": listOf(version, "atomic"),
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
