// SPDX-License-Identifier: Apache-2.0

import { isControlledBy, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { labels } from "../../composite-resource/constants.ts";
import type { MatchLabels } from "../../composite-resource/crossplane-fields.ts";

/** The inputs for the choice of a revision. */
export interface RevisionQuestion {
  readonly policy: "Automatic" | "Manual" | undefined;
  readonly selector: MatchLabels | undefined;
  /** The revision the XR is on. */
  readonly ref: string | undefined;
  /** That revision, if it still exists. Needed under Manual only. */
  readonly pinned?: KubeObject | undefined;
}

/** Which revision to use. */
export type RevisionChoice =
  | { readonly use: "pinned" }
  /** The newest of the Composition's revisions that carry the labels. */
  | { readonly use: "newest"; readonly matching: MatchLabels }
  /** As newest; when none carries the labels the pinned one stays. */
  | { readonly use: "newest-or-stay"; readonly matching: MatchLabels };

/**
 * Decides how to find the revision of an XR. Under Manual a revision stays as long as it carries the labels of the selector, so
 * that editing the selector is how a user moves the XR.
 */
export function chooseRevision({ policy, selector, ref, pinned }: RevisionQuestion): RevisionChoice {
  if (policy === undefined) return { use: "newest", matching: {} };
  if (policy === "Automatic") return { use: "newest", matching: selector ?? {} };
  if (ref === undefined) return { use: "newest", matching: selector ?? {} };
  if (selector === undefined) return { use: "pinned" };
  if (pinned !== undefined && carries(pinned, selector)) return { use: "pinned" };
  return { use: "newest-or-stay", matching: selector };
}

/** Whether an object carries all these labels. */
export function carries({ metadata }: KubeObject, wanted: MatchLabels): boolean {
  const has = metadata.labels ?? {};
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(has, key) && has[key] === value);
}

/** The newest of the revisions that this Composition controls. */
export function newestRevision(revisions: readonly KubeObject[], compositionUid: string): KubeObject | undefined {
  let newest: KubeObject | undefined;
  for (const revision of revisions) {
    if (!isControlledBy(revision, compositionUid)) continue;
    if (newest === undefined || numberOf(revision) > numberOf(newest)) newest = revision;
  }
  return newest !== undefined && numberOf(newest) > 0 ? newest : undefined;
}

function numberOf(revision: KubeObject): number {
  return Number(memberAt(revision, ["spec", "revision"]) ?? 0);
}

/** The labels by which a Composition's revisions are listed. */
export function revisionLabels(composition: string, matching: MatchLabels): MatchLabels {
  return { ...matching, [labels.compositionName]: composition };
}
