// SPDX-License-Identifier: Apache-2.0
import type { Status, StatusReason } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { inUseText, targetOf, UsageIndex, type UsageTarget, usageResources } from "./usage-index.ts";

/** On an object whose deletion was refused: how it was to be deleted. */
export const attemptAnnotation = "usage.crossplane.io/deletion-attempt-with-policy";

/** On an object whose deletion was refused: its UID. The annotations of an object may be copied to another. */
export const attemptUidAnnotation = "purlin.dev/deletion-attempt-uid";

/** On an object whose deletion by the garbage collector was refused. */
export const attemptByAnnotation = "purlin.dev/deletion-attempt-by";

/** The value of {@link attemptByAnnotation}. */
export const byGarbageCollector = "garbage-collector";

/** The webhook that refuses deletions on a cluster. */
export const usageWebhookName = "nousages.protection.crossplane.io";

/** The users that the garbage collector acts as. */
export const collectors: ReadonlySet<string> = new Set([
  "system:serviceaccount:kube-system:generic-garbage-collector",
  "system:kube-controller-manager",
]);

/** A deletion that is about to happen. */
interface Deletion {
  readonly group: string;
  readonly kind: string;
  readonly object: JsonObject;
  readonly user: { readonly name: string };
  readonly policy: string;
}

/** Why an object is not deleted, and what is recorded on it. */
interface Refusal {
  readonly text: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The keys of the Usages. */
  readonly because: readonly string[];
}

/** Why Usages forbid a deletion; undefined when none does. */
export function usageRefusal(index: UsageIndex, { group, kind, object, user, policy }: Deletion): Refusal | undefined {
  const holders = index.holders({ ...targetOf(object), group, kind });
  if (holders.length === 0) return undefined;
  const uid = stringAt(object, ["metadata", "uid"]);
  return {
    text: inUseText(holders),
    annotations: {
      [attemptAnnotation]: policy,
      ...(uid !== "" && { [attemptUidAnnotation]: uid }),
      ...(collectors.has(user.name) && { [attemptByAnnotation]: byGarbageCollector }),
    },
    because: holders.map(({ key }) => key),
  };
}

/** The Status of a refused deletion: that of an API server whose webhook denied it. */
export function deniedStatus(webhook: string, text: string): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `admission webhook "${webhook}" denied the request: ${text}`,
    reason: text as StatusReason,
    code: 409,
  };
}

/** The guard of an API server in the same process: Usages protect from the write on that creates them, without a label or a webhook. */
export interface UsageGuard {
  readonly resources: typeof usageResources;
  written(key: string, usage: JsonObject | undefined): void;
  refusalOf(deletion: Deletion): (Omit<Refusal, "text"> & { readonly status: Status }) | undefined;
  onRelease(listener: (target: UsageTarget) => void): void;
}

/** Makes a guard without Usages. */
export function createUsageGuard(): UsageGuard {
  const index = new UsageIndex();
  return {
    resources: usageResources,
    written: (key, usage) => index.written(key, usage),
    onRelease: (listener) => index.onRelease(listener),
    refusalOf(deletion) {
      const refusal = usageRefusal(index, deletion);
      return refusal && { ...refusal, status: deniedStatus(usageWebhookName, refusal.text) };
    },
  };
}
