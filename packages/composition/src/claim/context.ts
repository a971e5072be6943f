// SPDX-License-Identifier: Apache-2.0

import { type ReconcileContext, withConditionTexts } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { annotationOf, type ConditionText, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { annotations } from "../composite-resource/constants.ts";
import type { ClaimDeps, ClaimSettings } from "./deps.ts";

/** One reconcile of a claim. */
export interface ClaimContext extends ReconcileContext {
  readonly deps: ClaimDeps;
  readonly settings: ClaimSettings;
}

/** The annotations of all events about a claim. */
export function eventAnnotations(claim: KubeObject): Readonly<Record<string, string>> {
  const composite = textAt(claim, ["spec", "resourceRef", "name"]);
  return {
    "external-name": annotationOf(claim, annotations.externalName) ?? "",
    ...(composite !== undefined && { "composite-name": composite }),
  };
}

/** Stores the status of a claim with conditions that its controller sets. */
export function writeConditions(
  { deps, writeStatus }: ClaimContext,
  claim: KubeObject,
  ...texts: readonly ConditionText[]
): Promise<void> {
  return during("cannot update claim status", () => writeStatus(withConditionTexts(claim, texts, deps.clock)));
}
