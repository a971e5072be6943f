// SPDX-License-Identifier: Apache-2.0
import type { ConditionText } from "@purlin/kube-objects/object";

// Well-known names of composition. Other controllers, functions and users rely on each of them.

/** Labels of composite and composed resources. */
export const labels = {
  /** The name of the composite resource at the root of the tree; also the prefix of composed resources' names. */
  composite: "crossplane.io/composite",
  claimName: "crossplane.io/claim-name",
  claimNamespace: "crossplane.io/claim-namespace",
  /** On a CompositionRevision: its Composition. */
  compositionName: "crossplane.io/composition-name",
  /** On a CompositionRevision: the first 63 characters of its content's hash. */
  compositionHash: "crossplane.io/composition-hash",
} as const;

/** Annotations composition reads or writes. */
export const annotations = {
  /** Only the value `true` pauses. */
  paused: "crossplane.io/paused",
  /** On a composed resource: its name in the pipeline. */
  resourceName: "crossplane.io/composition-resource-name",
  externalName: "crossplane.io/external-name",
  /** How often to reconcile this object, as a Go duration. */
  pollInterval: "crossplane.io/poll-interval",
  /** A token; a new one asks for a reconcile now. */
  reconcileRequested: "crossplane.io/reconcile-requested-at",
} as const;

/** Finalizers, one for each controller that cleans up before an object is deleted. */
export const finalizers = {
  composite: "composite.apiextensions.crossplane.io",
  claim: "finalizer.apiextensions.crossplane.io",
  defined: "defined.apiextensions.crossplane.io",
  offered: "offered.apiextensions.crossplane.io",
} as const;

/** Field managers. The one of composed resources is made for each composite resource: see composedFieldManager. */
export const fieldManagers = {
  /** Of plain updates, so that a control plane that takes over continues with the same owner. */
  update: "crossplane",
  composite: "apiextensions.crossplane.io/composite",
  composedPrefix: "apiextensions.crossplane.io/composed",
  claim: "apiextensions.crossplane.io/claim",
} as const;

/** The type of Secrets that hold connection details. */
export const connectionSecretType = "connection.crossplane.io/v1alpha1";

/** The API group of XRDs, Compositions and revisions. */
export const apiGroup = "apiextensions.crossplane.io";

/** The kinds that composition uses, in the versions of the controllers. */
export const kinds = {
  definition: { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" },
  composition: { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" },
  revision: { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" },
  secret: { apiVersion: "v1", kind: "Secret" },
  crd: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
} as const;

/** The event sources of XRs and claims: the controllers of their definitions, as in Crossplane. */
export const eventSources = {
  composite: "defined/compositeresourcedefinition.apiextensions.crossplane.io",
  claim: "offered/compositeresourcedefinition.apiextensions.crossplane.io",
} as const;

/** The conditions controllers set on composite resources and claims. */
export const reconcileSuccess: ConditionText = { type: "Synced", status: "True", reason: "ReconcileSuccess" };

/** Synced is False for the reason in the message. */
export function reconcileError(message: string): ConditionText {
  return { type: "Synced", status: "False", reason: "ReconcileError", message };
}

/** A function has not answered yet; the outcome of the reconcile is not known. */
export function waitingForFunction(message: string): ConditionText {
  return { type: "Synced", status: "Unknown", reason: "WaitingForFunction", message };
}

/** The object has the pause annotation. */
export { pausedCondition as reconcilePaused } from "@purlin/kube-objects/object";

/** The object can be used. */
export const available: ConditionText = { type: "Ready", status: "True", reason: "Available" };

/** The object cannot be used yet. */
export function creating(message?: string): ConditionText {
  return { type: "Ready", status: "False", reason: "Creating", ...(message ? { message } : {}) };
}

/** The object is being deleted. */
export const deleting: ConditionText = { type: "Ready", status: "False", reason: "Deleting" };

/** The claim waits for its composite resource. */
export const waiting: ConditionText = {
  type: "Ready",
  status: "False",
  reason: "Waiting",
  message: "Claim is waiting for composite resource to become Ready",
};

/** Condition types that belong to the control plane: functions cannot set them. */
export const systemConditionTypes: ReadonlySet<string> = new Set([
  "Ready",
  "Synced",
  "Healthy",
  "Responsive",
  "UpToDate",
  "Held",
]);
