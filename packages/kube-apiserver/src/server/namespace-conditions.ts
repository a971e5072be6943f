// SPDX-License-Identifier: Apache-2.0
import { compareUtf8, type JsonObject } from "@purlin/kube-objects/json";
import type { ResourceType } from "../registry/resource-type.ts";

/** What is left of one kind in a namespace that is being deleted. */
export interface Remaining {
  readonly type: ResourceType;
  readonly count: number;
  /** Of all of them, repeated as often as they have it. */
  readonly finalizers: readonly string[];
}

/** The conditions of a namespace that cannot go yet. */
export function blockedConditions(
  remaining: readonly Remaining[],
  before: readonly JsonObject[],
  time: string,
): JsonObject[] {
  const finalizers = remaining.flatMap((one) => one.finalizers);
  return [
    condition(
      "NamespaceDeletionDiscoveryFailure",
      "False",
      "ResourcesDiscovered",
      "All resources successfully discovered",
    ),
    condition(
      "NamespaceDeletionGroupVersionParsingFailure",
      "False",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    condition(
      "NamespaceDeletionContentFailure",
      "False",
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ),
    condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", remainingText(remaining)),
    finalizers.length === 0
      ? condition(
          "NamespaceFinalizersRemaining",
          "False",
          "ContentHasNoFinalizers",
          "All content-preserving finalizers finished",
        )
      : condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", finalizersText(finalizers)),
  ].map((one) => ({ ...one, lastTransitionTime: transitionTime(one, before, time) }));
}

function condition(type: string, status: string, reason: string, message: string): JsonObject {
  return { type, status, reason, message };
}

/** The time of a condition changes only with its status. */
function transitionTime(now: JsonObject, before: readonly JsonObject[], time: string): string {
  const known = before.find((one) => one["type"] === now["type"] && one["status"] === now["status"]);
  return typeof known?.["lastTransitionTime"] === "string" ? known["lastTransitionTime"] : time;
}

function remainingText(remaining: readonly Remaining[]): string {
  const parts = remaining.map(({ type, count }) => `${type.resource}.${type.group} has ${count} resource instances`);
  return `Some resources are remaining: ${parts.sort(compareUtf8).join(", ")}`;
}

function finalizersText(finalizers: readonly string[]): string {
  const counts = [...Map.groupBy(finalizers, (finalizer) => finalizer)].map(
    ([finalizer, all]) => `${finalizer} in ${all.length} resource instances`,
  );
  return `Some content in the namespace has finalizers remaining: ${counts.sort(compareUtf8).join(", ")}`;
}
