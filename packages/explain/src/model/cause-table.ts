// SPDX-License-Identifier: Apache-2.0

/** What a cause code means, for people. */
interface CauseDoc {
  readonly name: string;
  /** What is wrong. */
  readonly summary: string;
  /** What it is recognized by. */
  readonly signal: string;
  /** What to do. */
  readonly fix: string;
}

type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9";

/** A stable code of a cause: E01 to E68. */
export type CauseCode =
  | `E0${Exclude<Digit, "0">}`
  | `E${"1" | "2" | "3" | "4" | "5"}${Digit}`
  | `E6${Exclude<Digit, "9">}`;

const doc = (name: string, summary: string, [signal, fix]: readonly [string, string]): CauseDoc => ({
  name,
  summary,
  signal,
  fix,
});

/** Every cause by its code. Codes never change; names may. */
export const causeTable: Readonly<Record<CauseCode, CauseDoc>> = {
  E01: doc("NO_COMPOSITION", "No Composition has the version and kind of the composite resource.", [
    'Synced is False with "no compatible Compositions found", and no Composition has its compositeTypeRef.',
    "Apply a Composition whose spec.compositeTypeRef is this version and kind.",
  ]),
  E02: doc("NO_MATCHING_COMPOSITION", "The compositionSelector matches no Composition of the type.", [
    'Synced is False with "no compatible Compositions found", and Compositions of the type have other labels.',
    "Correct the labels of the selector or of the Composition.",
  ]),
  E03: doc("COMPOSITION_NOT_FOUND", "The Composition that the composite resource refers to does not exist.", [
    'Synced is False with "cannot get Composition" and the Composition is not found.',
    "Apply the Composition again, or name another one in compositionRef.",
  ]),
  E04: doc("NO_REVISION", "No CompositionRevision matches.", [
    'Synced is False with "no compatible CompositionRevisions found".',
    "Label a revision, or correct the compositionRevisionSelector.",
  ]),
  E05: doc("PINNED_REVISION", "The composite resource is pinned to an older CompositionRevision.", [
    "compositionUpdatePolicy is Manual and the Composition has newer revisions.",
    "Name a newer revision in compositionRevisionRef, or set compositionUpdatePolicy to Automatic.",
  ]),
  E06: doc("WRONG_COMPOSITE_TYPE", "The Composition is for another kind of composite resource.", [
    'Synced is False with "referenced composition is not compatible".',
    "Name another Composition in compositionRef.",
  ]),
  E07: doc("INVALID_PIPELINE", "A function of the pipeline cannot be used for composition.", [
    "The CompositionRevision's condition ValidPipeline is not True.",
    "Use another function in the step, or enable the feature that the message names.",
  ]),
  E08: doc("PAUSED", "Reconciliation is paused.", [
    "The annotation crossplane.io/paused is true, or Synced has the reason ReconcilePaused.",
    "Remove the annotation crossplane.io/paused.",
  ]),
  E09: doc("NOT_RECONCILED", "No control plane reconciles the object.", [
    "It has no conditions and no finalizer: its definition is not established, or no control plane is running.",
    "Start the control plane: purlin up, or purlin start on a cluster.",
  ]),
  E10: doc("STALE_STATUS", "The status is older than the object.", [
    "observedGeneration is lower than generation, or a reported cause no longer exists, for more than 30 seconds.",
    "Request a reconcile with the annotation crossplane.io/reconcile-requested-at.",
  ]),
  E11: doc("FUNCTION_NOT_INSTALLED", "A step uses a Function that is not installed.", [
    "The step has no active FunctionRevision, and there is no Function of that name.",
    "Install it with purlin xpkg install function, or correct functionRef.name.",
  ]),
  E12: doc("NO_ACTIVE_REVISION", "A Function has revisions, but none is active.", [
    "The step has no active FunctionRevision, and all revisions of the Function have desiredState Inactive.",
    "Set spec.desiredState of a FunctionRevision to Active.",
  ]),
  E13: doc("REVISION_UNAVAILABLE", "A step names a FunctionRevision that it cannot use.", [
    "The FunctionRevision does not exist, belongs to another Function, is inactive, or the feature is off.",
    "Name another revision, activate it, or start with --enable-function-revision-selectors.",
  ]),
  E14: doc("NO_ENDPOINT", "The active FunctionRevision has no endpoint yet.", [
    'The step fails with "has an empty status.endpoint"; the cause is in the runtime of the function.',
    "See the cause of the FunctionRevision.",
  ]),
  E15: doc("CRASH", "A program exits at startup.", [
    "RuntimeHealthy is False with the exit of the process, or a Pod is in CrashLoopBackOff or OOMKilled.",
    "Read its last log lines with purlin logs.",
  ]),
  E16: doc("IMAGE_PULL", "A node cannot pull an image.", [
    "A container of a Pod waits with ErrImagePull or ImagePullBackOff.",
    "Check the image name, the registry and the pull secret.",
  ]),
  E17: doc("PACKAGE_PULL", "A package cannot be pulled.", [
    "Installed is False with the reason UnpackingPackage.",
    "Check the image name and tag, the registry and the pull secret.",
  ]),
  E18: doc("INVALID_PACKAGE", "The content of a package is invalid.", [
    "RevisionHealthy is False: the package cannot be parsed, fails validation, or is of another kind.",
    "Install it as the kind that it is, or publish a corrected package.",
  ]),
  E19: doc("INCOMPATIBLE_VERSION", "A package requires another Crossplane version.", [
    'RevisionHealthy is False with "incompatible Crossplane version".',
    "Install another version of the package, or set spec.ignoreCrossplaneConstraints.",
  ]),
  E20: doc("DEPENDENCY", "The dependencies of a package cannot be resolved.", [
    'RevisionHealthy is False with "cannot resolve package dependencies", or the Lock is not Resolved.',
    "Change one of the constraints that the cause lists.",
  ]),
  E21: doc("OBJECT_CONFLICT", "An object of a package belongs to another package.", [
    'RevisionHealthy is False with "already controlled by".',
    "Remove one of the two packages.",
  ]),
  E22: doc("SIGNATURE", "The signature of an image is not verified.", [
    'The message says "signature verification failed".',
    "Sign the image, or change the ImageConfig that requires the signature.",
  ]),
  E23: doc("TLS", "The TLS connection to a function fails.", [
    "The step fails with a certificate error.",
    "Delete the TLS Secret of the function: it is issued again.",
  ]),
  E24: doc("UNREACHABLE", "A function cannot be reached.", [
    "The step fails with Unavailable: connection refused, host not found, or no endpoints.",
    "Start the function, or correct its address.",
  ]),
  E25: doc("DEADLINE", "A function does not respond in time.", [
    "The step fails with DeadlineExceeded.",
    "Read the logs of the function.",
  ]),
  E26: doc("TOO_LARGE", "A request or response is larger than its receiver accepts.", [
    "The step fails with ResourceExhausted.",
    "Raise the limit that the message names, or make the request smaller.",
  ]),
  E27: doc("NOT_A_FUNCTION", "The endpoint does not serve composition functions.", [
    "The step fails with Unimplemented.",
    "Check the address and port of the function.",
  ]),
  E28: doc("FUNCTION_ERROR", "A function fails or returns an invalid response.", [
    "The step fails with Unknown, Internal or another gRPC status, or its response is refused.",
    "Read the logs of the function and correct it.",
  ]),
  E29: doc("FATAL_RESULT", "A function returned a fatal result.", [
    'Synced is False with "returned a fatal result".',
    "Correct what the message of the function says.",
  ]),
  E30: doc("UNSTABLE_REQUIREMENTS", "A function requires other resources on every call.", [
    `Synced is False with "requirements didn't stabilize".`,
    "Correct the function: it must return the same requirements when they are satisfied.",
  ]),
  E31: doc("REQUIRED_RESOURCE_MISSING", "A step requires an object that does not exist.", [
    "A recorded run shows a requirement by name without a result.",
    "Create the object.",
  ]),
  E32: doc("REQUIRED_RESOURCE_UNREADABLE", "The control plane cannot read an object that a step requires.", [
    'The step fails with "fetching resources for": forbidden, or the kind is not served.',
    "Grant get, list and watch on the kind to the control plane.",
  ]),
  E33: doc("SCHEMA_MISSING", "A step requires the schema of a kind that is not served.", [
    "A recorded run shows a required schema without a result, and the step warns.",
    "Install the CRD of the kind.",
  ]),
  E34: doc("CREDENTIALS_MISSING", "The Secret of a step's credentials is missing.", [
    'The step fails with "credential ... from Secret".',
    "Create the Secret, or correct credentials in the step.",
  ]),
  E35: doc("KIND_NOT_SERVED", "The API server does not serve a kind.", [
    'Synced is False with "no matches for kind".',
    "Install the CRD or the provider of the kind, or activate its ManagedResourceDefinition.",
  ]),
  E36: doc("INVALID_RESOURCE", "The API server refuses a composed resource as invalid.", [
    'Synced is False with "Unsynced resources" or "some resources were invalid", and a Warning event has the details.',
    "Correct the field in the step that sets it.",
  ]),
  E37: doc("FORBIDDEN", "The control plane lacks RBAC permissions.", [
    "The message says forbidden, or a RoleBasedAccessControl event lists the denied verbs.",
    "Grant the verbs to the service account of the control plane.",
  ]),
  E38: doc("WEBHOOK_DENIED", "An admission webhook denies a request.", [
    'The message says "admission webhook ... denied the request".',
    "Change the resource as the policy requires, or ask the owner of the webhook.",
  ]),
  E39: doc("WEBHOOK_UNAVAILABLE", "An admission webhook does not respond.", [
    'The message says "failed calling webhook".',
    "Check the Service and the Pods of the webhook.",
  ]),
  E40: doc("QUOTA_EXCEEDED", "A ResourceQuota or LimitRange refuses a resource.", [
    'The message says "exceeded quota", or names a limit per Container or Pod.',
    "Raise the quota, or request less.",
  ]),
  E41: doc("NAMESPACE_UNAVAILABLE", "A namespace does not exist or is being deleted.", [
    'The message says that the namespace is not found, or "because it is being terminated".',
    "Create the namespace, or correct the function.",
  ]),
  E42: doc("RESOURCE_CONFLICT", "A composed resource belongs to another controller.", [
    "The API server refuses a second controller reference, or the control plane refuses to delete the resource.",
    "Give the resource another name.",
  ]),
  E43: doc("INVALID_NAME_OR_SCOPE", "A composed resource has an invalid name or scope.", [
    "The name is not an RFC 1123 name, a namespaced XR composes a cluster-scoped resource, or two resources are one object.",
    "Correct metadata.name or the kind in the function.",
  ]),
  E44: doc("IMMUTABLE_FIELD", "A change of an immutable field is refused.", [
    'The message says "field is immutable" or "Forbidden: updates to".',
    "Undo the change, or delete the object so that it is created again.",
  ]),
  E45: doc("STATUS_REJECTED", "The API server refuses the status that functions set.", [
    'Synced is False with "cannot apply composite resource status".',
    "Correct the status schema of the XRD, or the step that sets the field.",
  ]),
  E46: doc("FIELD_PRUNED", "A field that a function sets is not in the XRD and is dropped.", [
    "A recorded run sets a status field that the live object does not have and the XRD does not define.",
    "Add the field to the schema of the XRD.",
  ]),
  E47: doc("READINESS_NOT_REPORTED", "No step reports whether a composed resource is ready.", [
    "The resource is listed as unready although its own condition Ready is True, and every response leaves ready unset.",
    "Add function-auto-ready as the last step, or set ready in a function.",
  ]),
  E48: doc("CHILD_NOT_READY", "A composed resource is not ready.", [
    "Ready is False with a list of unready resources; the cause is in one of them.",
    "See the cause of the resource.",
  ]),
  E49: doc("EXTERNAL_ERROR", "A provider reports an error of a resource.", [
    "A composed resource has Synced False with the reason ReconcileError.",
    "Correct what the message of the provider says.",
  ]),
  E50: doc("NO_PROVIDER", "No provider reconciles a resource.", [
    "A composed resource has no conditions and no finalizer after 60 seconds.",
    "Install the provider, or explain it if it is unhealthy.",
  ]),
  E51: doc("PROVIDER_CONFIG", "A ProviderConfig or its credentials are missing.", [
    'A composed resource reports that its ProviderConfig is not found or that it "cannot get credentials".',
    "Create the ProviderConfig or its Secret.",
  ]),
  E52: doc("WITHHELD", "A function withholds a resource until another one is ready.", [
    "A resource is not desired at present, and an event or result of a step names the one that it waits for.",
    "Explain the resource that it waits for.",
  ]),
  E53: doc("REPORTED_NOT_READY", "A step reports that the composite resource is not ready.", [
    "Ready is False with the reason Creating and no message, and a recorded response sets ready to false.",
    "See the recorded run for the step.",
  ]),
  E54: doc("CLAIM_OUT_OF_DATE", "A claim does not show the state of its composite resource.", [
    "The composite resource is Ready and the claim is still waiting after 10 seconds.",
    "Request a reconcile of the claim.",
  ]),
  E55: doc("FOREIGN_COMPOSITE", "A claim refers to a composite resource of another claim.", [
    'Synced is False with "refusing to operate on composite resource".',
    "Correct spec.resourceRef of the claim.",
  ]),
  E56: doc("CONNECTION_SECRET", "A connection Secret cannot be written.", [
    'Synced is False with "cannot publish connection details" or "cannot propagate connection details".',
    "Use another Secret name in writeConnectionSecretToRef.",
  ]),
  E57: doc("FINALIZER", "A deletion waits for a finalizer.", [
    "The object has been in deletion for more than two minutes and still has finalizers.",
    "Start the controller that owns the finalizer.",
  ]),
  E58: doc("IN_USE", "A Usage protects the object from deletion.", [
    "The annotation usage.crossplane.io/deletion-attempt-with-policy is set, or a Usage names the object.",
    "Delete the object that uses it first.",
  ]),
  E59: doc("FOREGROUND_DELETION", "A deletion waits for dependent objects.", [
    "The object has the finalizer foregroundDeletion and dependents are left.",
    "Explain the dependents.",
  ]),
  E60: doc("INVALID_DEFINITION", "An XRD cannot be used.", [
    "The XRD has Synced False, or is not Established.",
    "Correct the field that the message names.",
  ]),
  E61: doc("DEFINITION_DELETING", "An XRD is being deleted and instances are left.", [
    "The XRD has a deletion timestamp and objects of its kind exist.",
    "Delete the instances.",
  ]),
  E62: doc("CIRCUIT_OPEN", "Too many watch events: the control plane limits reconciles of the object.", [
    "Responsive is False with the reason WatchCircuitOpen.",
    "Find out what changes the object that the message names.",
  ]),
  E63: doc("FIELD_CONFLICT", "Two writers change one field in turns.", [
    "Recorded runs show that a field differs from what was applied before each run.",
    "Leave the field out of the function, or out of the other writer.",
  ]),
  E64: doc("NONDETERMINISTIC", "A function returns different results for equal inputs.", [
    "Successive recorded runs have equal observed state and different desired state.",
    "Correct the function.",
  ]),
  E65: doc("SECOND_CONTROL_PLANE", "Two control planes run on one API server.", [
    "The leader election Lease is held by another process, or a Crossplane Deployment is ready beside Purlin.",
    "Scale one of them to zero.",
  ]),
  E66: doc("RESOURCE_RENAMED", "A composed resource has another name in the pipeline, so it was replaced.", [
    "Recorded runs show that a resource name disappeared when another one of the same kind appeared.",
    "Keep the old name in the function, or declare the rename on the step of the Composition: moved: [{from: old-name, to: new-name}].",
  ]),
  E67: doc("HELD", "Changes wait for approval.", [
    "The object has the condition Held=True.",
    "Approve the plan whose hash the message has with the annotation purlin.dev/approve-plan, or take the change back.",
  ]),
  E68: doc("INVALID_SCHEDULE", "The schedule of a CronOperation cannot be used.", [
    "Scheduling is False with the reason ScheduleInvalid.",
    "Correct spec.schedule.",
  ]),
};

/** Whether a text is a code. */
export function isCauseCode(text: string): text is CauseCode {
  return Object.hasOwn(causeTable, text);
}
