// SPDX-License-Identifier: Apache-2.0
import { type FieldTexts, type KindDocs, under } from "@purlin/kube-controller";

const versionTexts: FieldTexts = {
  name: "Name of the version, such as v1alpha1.",
  served: "Whether the API server serves this version.",
  schema: "The fields of objects in this version.",
  "schema.openAPIV3Schema": "OpenAPI v3 schema of spec and status. The control plane adds its own fields.",
  deprecated: "Whether clients that use this version get a warning.",
  deprecationWarning: "Text of that warning; a default one if left out.",
  additionalPrinterColumns: "Columns of kubectl get, in addition to those of the control plane.",
  subresources: "Subresources of objects in this version.",
  "subresources.scale": "Offers the scale subresource, for kubectl scale and autoscalers.",
};

export const definitionDocs: KindDocs = {
  about:
    "A CompositeResourceDefinition (XRD) defines a kind of composite resource (XR) and, if it offers claims, the kind of its " +
    "claims. The control plane makes their CRDs and reconciles their objects.",
  fields: {
    "spec.group": "API group of the composite resource. Cannot be changed.",
    "spec.names": "Names of the kind of composite resource. Cannot be changed.",
    "spec.claimNames":
      "Names of the kind of claim, for scope LegacyCluster only. Without it there are no claims. Cannot be changed.",
    "spec.scope":
      "Whether composite resources are Namespaced or Cluster-scoped. LegacyCluster, in v1 only, is cluster-scoped and can offer claims " +
      "and connection Secrets. Cannot be changed.",
    "spec.versions": "Versions of the kind. Exactly one must be referenceable.",
    ...under("spec.versions", versionTexts),
    "spec.versions.referenceable":
      "Whether Compositions may refer to this version. It is also the version that objects are stored in.",
    "spec.conversion": "How objects are converted between versions.",
    "spec.metadata": "Metadata of the CRDs that are made.",
    "spec.metadata.annotations": "Annotations of the CRDs.",
    "spec.metadata.labels": "Labels of the CRDs.",
    "spec.connectionSecretKeys":
      "Keys that the connection Secret may have; all keys if left out. For scope LegacyCluster only.",
    "spec.defaultCompositionRef": "The Composition of composite resources that choose none.",
    "spec.defaultCompositionRevisionSelector":
      "Labels of the CompositionRevisions that composite resources use unless they choose themselves.",
    "spec.defaultCompositionUpdatePolicy":
      "Whether composite resources follow new revisions of their Composition (Automatic) or stay with theirs (Manual), unless they say it.",
    "spec.defaultCompositeDeletePolicy":
      "How the composite resource of a deleted claim is deleted unless the claim says it: Background at once, Foreground before the claim is gone.",
    "spec.enforcedCompositionRef":
      "The Composition of all composite resources, whatever they choose. Cannot be changed.",
    "status.controllers": "The kinds that the control plane reconciles for this definition.",
    "status.controllers.compositeResourceType": "The kind of composite resource that is reconciled now.",
    "status.controllers.compositeResourceType.apiVersion": "Its apiVersion.",
    "status.controllers.compositeResourceType.kind": "Its kind.",
    "status.controllers.compositeResourceClaimType": "The kind of claim that is reconciled now.",
    "status.controllers.compositeResourceClaimType.apiVersion": "Its apiVersion.",
    "status.controllers.compositeResourceClaimType.kind": "Its kind.",
  },
};

export const managedDefinitionDocs: KindDocs = {
  about:
    "A ManagedResourceDefinition describes a kind of managed resource of a provider, whose CRD is only made once it is active.",
  fields: {
    "spec.connectionDetails": "Keys of the connection Secret of such a resource.",
    "spec.connectionDetails.name": "Name of the key.",
    "spec.connectionDetails.description": "What the key holds.",
    "spec.conversion": "How objects are converted between versions.",
    "spec.group": "API group of the managed resource. Cannot be changed.",
    "spec.names": "Names of the kind. Cannot be changed.",
    "spec.preserveUnknownFields": "Whether fields without a schema are kept. Deprecated by Kubernetes.",
    "spec.scope": "Whether the kind is Namespaced or Cluster-scoped. Cannot be changed.",
    "spec.state": "Active for a kind whose CRD is made, Inactive otherwise. Active is for good.",
    "spec.versions": "Versions of the kind.",
    ...under("spec.versions", versionTexts),
    "spec.versions.storage": "Whether objects are stored in this version. Exactly one version is.",
    "spec.versions.selectableFields": "Fields that field selectors may name.",
    "spec.versions.selectableFields.jsonPath": "Path of the field, such as .spec.region.",
    "spec.versions.subresources.status": "Offers the status subresource.",
  },
};

export const activationPolicyDocs: KindDocs = {
  about: "A ManagedResourceActivationPolicy activates ManagedResourceDefinitions by name.",
  fields: {
    "spec.activate": "Names of definitions to activate; * stands for any part of a name.",
    "status.activated": "Names of the definitions that this policy activated.",
  },
};
