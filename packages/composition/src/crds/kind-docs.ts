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

/** What `kubectl explain` says about a step of a pipeline. */
export const stepTexts: FieldTexts = {
  step: "Name of the step, unique in the pipeline. Events, results and errors name it.",
  input:
    "Input of the function, an object of any kind that the function understands. It is sent with each call; changing it " +
    "needs no new version of the function.",
  credentials: "Secrets that are sent to the function with each call.",
  "credentials.name": "Name by which the function finds these credentials.",
  "credentials.source": "Where the credentials come from: Secret, or None for no credentials.",
  "credentials.secretRef": "The Secret with the credentials. Required when source is Secret.",
  "credentials.secretRef.name": "Name of the Secret.",
  "credentials.secretRef.namespace": "Namespace of the Secret.",
  requirements:
    "Resources and schemas that the function always needs. They are sent with its first call, so that it need not ask for them.",
  "requirements.requiredResources": "Existing resources to send to the function.",
  "requirements.requiredResources.requirementName": "Name by which the function finds these resources.",
  "requirements.requiredResources.apiVersion": "apiVersion of the resources.",
  "requirements.requiredResources.kind": "Kind of the resources.",
  "requirements.requiredResources.name": "Name of one resource. Excludes matchLabels.",
  "requirements.requiredResources.matchLabels": "Labels of the resources to send. Excludes name.",
  "requirements.requiredResources.namespace": "Namespace of the resources; leave it out for cluster-scoped ones.",
  "requirements.requiredSchemas": "OpenAPI schemas of kinds to send to the function.",
  "requirements.requiredSchemas.requirementName": "Name by which the function finds this schema.",
  "requirements.requiredSchemas.apiVersion": "apiVersion of the kind.",
  "requirements.requiredSchemas.kind": "The kind whose schema is sent.",
  functionRef: "The Function to call.",
  "functionRef.name": "Name of the Function.",
};

/** What it says about how a step of a Composition chooses a revision of its function. */
const selectionTexts: FieldTexts = {
  function:
    "A function by its image with digest, such as registry.example.org/acme/fn@sha256:…, instead of functionRef. The active " +
    "revision with that image is called, so the step always runs the same code.",
  functionRevisionRef:
    "Pins the step to one FunctionRevision of the Function in functionRef. The step fails while that revision is not active. " +
    "Needs --enable-function-revision-selectors. Excludes functionRevisionSelector.",
  "functionRevisionRef.name": "Name of the FunctionRevision.",
  functionRevisionSelector:
    "Chooses among the active FunctionRevisions of the Function in functionRef by their labels. Of several that match, the " +
    "one with the highest number that serves is called; the step fails where none matches. Without a selector all active " +
    "revisions of the Function count. Needs --enable-function-revision-selectors, and usually a Function whose activeRevisionLimit " +
    "is above 1. Excludes functionRevisionRef.",
  "functionRevisionSelector.matchLabels":
    "Labels that a FunctionRevision must have, with exactly these values. Labels come from spec.commonLabels of the Function. " +
    "pkg.crossplane.io/package cannot be used: the Function is chosen by functionRef.",
};

/** What it says about composed resources that get another name. */
const moveTexts: FieldTexts = {
  moved:
    "Composed resources that got another name in the pipeline, or another composite resource. The object stays and keeps its uid: " +
    "nothing is deleted or created. A move works in both directions, so that a rollback deletes nothing either.",
  "moved.from": "Name of the composed resource in the pipeline before the move.",
  "moved.to": "Name of the composed resource in the pipeline after the move.",
  "moved.fromComposite":
    "The composite resource that has the composed resource now, if it comes from another one. That one must declare the move too, " +
    "with toComposite. Excludes toComposite.",
  "moved.toComposite":
    "The composite resource that gets the composed resource, if it goes to another one. That one must declare the move too, with " +
    "fromComposite. Excludes fromComposite.",
  ...Object.fromEntries(
    ["fromComposite", "toComposite"].flatMap((end) => [
      [`moved.${end}.apiVersion`, "apiVersion of the composite resource."],
      [`moved.${end}.kind`, "Kind of the composite resource."],
      [
        `moved.${end}.name`,
        "Name of the composite resource. Without it the two have the same name, or one of them composes the other.",
      ],
    ]),
  ),
};

const commonTexts: FieldTexts = {
  "spec.compositeTypeRef": "The kind of composite resource that is composed this way. Cannot be changed.",
  "spec.compositeTypeRef.apiVersion": "apiVersion of the composite resource.",
  "spec.compositeTypeRef.kind": "Kind of the composite resource.",
  "spec.mode": "How resources are composed. Pipeline, which runs functions one after the other, is the only mode.",
  "spec.pipeline":
    "Steps that run in this order at each reconcile of a composite resource. Each step calls a function with the desired state " +
    "that the steps before it have built, and hands its own result on. What the last step returns is applied.",
  ...under("spec.pipeline", { ...stepTexts, ...selectionTexts, ...moveTexts }),
  "spec.writeConnectionSecretsToNamespace":
    "Namespace for the connection Secrets of composite resources that can have one (scope LegacyCluster).",
};

export const compositionDocs: KindDocs = {
  about:
    "A Composition says how composite resources of one kind are composed of other resources: by a pipeline of functions. Each " +
    "change of its spec makes a new CompositionRevision.",
  fields: commonTexts,
};

export const compositionRevisionDocs: KindDocs = {
  about:
    "A CompositionRevision is the spec of a Composition as it was at one time. The control plane creates it; composite resources " +
    "use one, chosen by their update policy and selector.",
  fields: {
    ...commonTexts,
    "spec.revision": "Number of the revision. The newest revision of a Composition has the highest one.",
  },
};

export const environmentConfigDocs: KindDocs = {
  about: "An EnvironmentConfig holds data that functions can ask for, such as settings of a cluster or a region.",
  fields: { data: "Any data, by key." },
};
