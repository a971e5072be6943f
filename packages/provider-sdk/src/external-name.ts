// SPDX-License-Identifier: Apache-2.0
// The annotations that record the identity of an external resource, and how far its creation went.

import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";

export const externalAnnotations = {
  name: "crossplane.io/external-name",
  pending: "crossplane.io/external-create-pending",
  succeeded: "crossplane.io/external-create-succeeded",
  failed: "crossplane.io/external-create-failed",
} as const;

/** The name of the external resource; empty while it is unknown. */
export function externalNameOf(object: KubeObject): string {
  return annotationOf(object, externalAnnotations.name) ?? "";
}

function timeOf(object: KubeObject, annotation: string): number {
  const time = Date.parse(annotationOf(object, annotation) ?? "");
  return Number.isNaN(time) ? 0 : time;
}

/** Whether a creation was begun and its result is unknown: the process ended in between. */
export function isCreateIncomplete(object: KubeObject): boolean {
  const pending = timeOf(object, externalAnnotations.pending);
  const ended = Math.max(timeOf(object, externalAnnotations.succeeded), timeOf(object, externalAnnotations.failed));
  return pending > ended;
}

/** Whether the external resource was created within this time. */
export function wasCreatedWithin(object: KubeObject, periodMs: number, now: number): boolean {
  const succeeded = timeOf(object, externalAnnotations.succeeded);
  return succeeded > 0 && now - succeeded < periodMs;
}

/** A time as the annotations have it: seconds, as Go's RFC 3339. */
export function annotationTime(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
