// SPDX-License-Identifier: Apache-2.0

import type { FieldChange } from "@purlin/kube-objects/difference";

/** How a shadow answer differs, from harmless to worst. */
export const shadowClasses = [
  "none",
  /** Another form of the same state, other texts, or another time to live. */
  "cosmetic",
  /** The same state, much later. */
  "slower",
  "change",
  /** Another kind under the same resource name. */
  "replace",
  /** A resource is no longer desired. */
  "delete",
  /** The function returned a fatal result. */
  "fatal",
  /** The function could not be run. */
  "error",
] as const;

/** The worst difference between the answers of two revisions to one request. */
export type ShadowClass = (typeof shadowClasses)[number];

/** How one resource differs. */
export interface ShadowResource {
  /** The name in the pipeline; empty for the composite resource itself and the context of the pipeline. */
  readonly resource: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly class: ShadowClass;
  readonly fields: readonly FieldChange[];
}

/** A composite resource in a report. */
interface ShadowedComposite {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** What a shadow run of one step of one composite resource found. */
export interface ShadowDetail {
  readonly composite: ShadowedComposite;
  readonly step: string;
  readonly class: ShadowClass;
  /** When it ran, as an RFC 3339 time. */
  readonly at: string;
  readonly durationMs: number;
  /** How long the serving revision took. */
  readonly stableMs: number;
  readonly resources: readonly ShadowResource[];
  /** Resources that differ, also those that are not listed. */
  readonly differing: number;
  /** Of a fatal result or a failure. */
  readonly message?: string | undefined;
}

/** The worse of two classes. */
export function worse(one: ShadowClass, other: ShadowClass): ShadowClass {
  return rank(one) >= rank(other) ? one : other;
}

/** The position of a class from harmless to worst. */
export function rank(one: ShadowClass): number {
  return shadowClasses.indexOf(one);
}
