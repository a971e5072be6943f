// SPDX-License-Identifier: Apache-2.0
import type { FieldTexts } from "@purlin/kube-controller";

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
export const selectionTexts: FieldTexts = {
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
