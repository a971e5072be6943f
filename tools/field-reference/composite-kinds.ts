// SPDX-License-Identifier: Apache-2.0
// The kinds that a definition makes have no CRD of their own: their fields are those that a definition without any gets.
import { deriveClaimCrd, deriveCompositeCrd } from "@purlin/composition";
import { describeFields, type FieldTexts, under } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

const composition: FieldTexts = {
  compositionRef: "The Composition to use. Set by the control plane if left out.",
  "compositionRef.name": "Its name.",
  compositionRevisionRef:
    "The CompositionRevision in use. Set by the control plane, or by users with update policy Manual.",
  "compositionRevisionRef.name": "Its name.",
  compositionRevisionSelector: "Labels of the CompositionRevisions to choose from.",
  "compositionRevisionSelector.matchLabels": "Labels that must be equal.",
  compositionSelector: "Labels of the Compositions to choose from, when none is named.",
  "compositionSelector.matchLabels": "Labels that must be equal.",
  compositionUpdatePolicy:
    "Automatic follows the newest revision of the Composition; Manual stays with compositionRevisionRef.",
};

const composedRefs: FieldTexts = {
  resourceRefs: "The composed resources. Written by the control plane.",
  "resourceRefs.apiVersion": "API version of the composed resource.",
  "resourceRefs.kind": "Kind of the composed resource.",
  "resourceRefs.name": "Name of the composed resource.",
  "resourceRefs.namespace": "Namespace of the composed resource.",
};

const secretRef: FieldTexts = {
  writeConnectionSecretToRef: "The Secret to write connection details to.",
  "writeConnectionSecretToRef.name": "Name of the Secret.",
  "writeConnectionSecretToRef.namespace": "Namespace of the Secret.",
};

const status: FieldTexts = {
  conditions: "Conditions, such as Synced and Ready.",
  "conditions.lastTransitionTime": "When the status of the condition last changed.",
  "conditions.message": "What happened, in words.",
  "conditions.observedGeneration": "Generation of the object that the condition is about.",
  "conditions.reason": "What happened, as one word.",
  "conditions.status": "True, False or Unknown.",
  "conditions.type": "Type of the condition. There is one of each type.",
  claimConditions: "Types of the conditions that are copied to the claim.",
  claimConditionTypes:
    "Types of the conditions that are copied to the claim. Kept for compatibility and never written.",
  connectionDetails: "State of the connection Secret.",
  "connectionDetails.lastPublishedTime": "When its data last changed.",
  crossplane: "What the control plane observed. Only with --enable-function-revision-selectors.",
  "crossplane.functionRevisions":
    "The function revisions that the last reconcile ran. Only with --enable-function-revision-selectors.",
  "crossplane.functionRevisions.functionRevision": "Name of the FunctionRevision.",
  "crossplane.functionRevisions.step": "Step of the pipeline.",
  lastHandledReconcileAt: "The reconcile request annotation that was handled last.",
};

const root: FieldTexts = {
  apiVersion: "Group and version of this object's schema.",
  kind: "Kind of this object.",
  metadata: "Standard object metadata.",
  "metadata.name": "Name of the object.",
  spec: "Desired state, with the fields of the definition and these.",
  status: "Observed state, with the fields of the definition and these.",
  ...under("status", status),
};

const crossplane: FieldTexts = {
  "spec.crossplane": "How this composite resource is composed.",
  ...under("spec.crossplane", { ...composition, ...composedRefs }),
};

const legacy: FieldTexts = {
  ...under("spec", { ...composition, ...composedRefs, ...secretRef }),
  "spec.claimRef": "The claim of this composite resource.",
  "spec.claimRef.apiVersion": "API version of the claim.",
  "spec.claimRef.kind": "Kind of the claim.",
  "spec.claimRef.namespace": "Namespace of the claim.",
  "spec.claimRef.name": "Name of the claim.",
};

const claim: FieldTexts = {
  ...under("spec", { ...composition, ...secretRef }),
  "spec.compositeDeletePolicy":
    "How the composite resource of a deleted claim is deleted: Background without waiting for it, Foreground before the claim is gone.",
  "spec.resourceRef": "The composite resource of this claim. Set by the control plane.",
  "spec.resourceRef.apiVersion": "API version of the composite resource.",
  "spec.resourceRef.kind": "Kind of the composite resource.",
  "spec.resourceRef.name": "Name of the composite resource.",
};

/** A kind that definitions make, with the schema of the fields that the control plane adds. */
export interface CompositeKind {
  readonly file: string;
  readonly title: string;
  readonly about: string;
  readonly schema: JsonObject;
}

/** The kinds that definitions make. */
export function compositeKinds(): readonly CompositeKind[] {
  const modern = deriveCompositeCrd(definition("Cluster"), { functionRevisions: true });
  const legacyCrd = deriveCompositeCrd(definition("LegacyCluster"), { functionRevisions: true });
  return [
    {
      file: "composite-resource.md",
      title: "Composite resource",
      about:
        "The fields that the control plane adds to a composite resource of scope `Namespaced` or `Cluster`. A namespaced one has no " +
        "`spec.crossplane.resourceRefs[].namespace`: it composes in its own namespace.",
      schema: described(modern, crossplane),
    },
    {
      file: "composite-resource-legacy.md",
      title: "Composite resource, scope LegacyCluster",
      about:
        "The fields that the control plane adds to a composite resource of scope `LegacyCluster`, the only one that offers claims.",
      schema: described(legacyCrd, legacy),
    },
    {
      file: "claim.md",
      title: "Claim",
      about: "The fields that the control plane adds to a claim. Claims are supported; upstream calls them legacy.",
      schema: described(deriveClaimCrd(definition("LegacyCluster")), claim),
    },
  ];
}

function definition(scope: string): KubeObject {
  const version = { name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object" } } };
  return {
    apiVersion: `apiextensions.crossplane.io/${scope === "LegacyCluster" ? "v1" : "v2"}`,
    kind: "CompositeResourceDefinition",
    metadata: { name: "xthings.example.org" },
    spec: {
      group: "example.org",
      scope,
      names: { kind: "XThing", plural: "xthings" },
      claimNames: { kind: "Thing", plural: "things" },
      versions: [version],
    },
  };
}

function described(crd: KubeObject, texts: FieldTexts): JsonObject {
  const { versions } = crd["spec"] as { readonly versions: readonly { readonly schema: JsonObject }[] };
  const schema = versions[0]?.schema["openAPIV3Schema"];
  if (!isJsonObject(schema)) throw new Error(`the CRD ${crd.metadata.name} has no schema`);
  return describeFields(schema, { ...root, ...texts });
}
