// SPDX-License-Identifier: Apache-2.0
// Deleting a managed resource definition deletes its CRD, and with it every object of the kind: that is refused while there are any.
import { crdType } from "@purlin/kube-controller";
import type { ResourceName, Status, StatusReason } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, objectsAt, parseApiVersion, stringAt } from "@purlin/kube-objects/object";
import { managedDefinitionType } from "../managed/definition-controller.ts";
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
  // Most deletions are of objects that no Usage names.
  if (!index.names(object)) return undefined;
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
function deniedStatus(webhook: string, text: string): Status {
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
interface UsageGuard {
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

/** The webhook that refuses such deletions on a cluster. */
export const dataLossWebhookName = "nodataloss.purlin.dev";

/** On a definition: its objects may be deleted with it. */
const allowAnnotation = "purlin.dev/allow-data-loss";

/** The resource of managed resource definitions. */
export const managedDefinitionResource: ResourceName = {
  group: parseApiVersion(managedDefinitionType.apiVersion).group,
  resource: "managedresourcedefinitions",
};

const crdResource: ResourceName = {
  group: parseApiVersion(crdType.apiVersion).group,
  resource: "customresourcedefinitions",
};

/** The user that deletes a definition, and what happens to its CRD. */
interface DefinitionDeletion {
  readonly object: JsonObject;
  readonly user: { readonly name: string };
  readonly policy: string;
}

/**
 * Whether the CRD of a definition goes with it: it has no other owner, it is not orphaned, and the user has not accepted the loss. The
 * garbage collector deletes the definition of a package that is gone, which is not refused.
 */
export function deletesItsKind({ object, user, policy }: DefinitionDeletion, crd: JsonObject | undefined): boolean {
  if (crd === undefined || policy === "Orphan" || collectors.has(user.name)) return false;
  if (annotationOf(object, allowAnnotation) === "true") return false;
  const owners = objectsAt(crd, ["metadata", "ownerReferences"]);
  const uid = stringAt(object, ["metadata", "uid"]);
  return owners.length > 0 && owners.every((one) => one["uid"] === uid);
}

/** Why a definition with objects is not deleted; undefined without objects. */
export function dataLossText(mrd: JsonObject, count: number): string | undefined {
  if (count === 0) return undefined;
  const kind = `${stringAt(mrd, ["spec", "names", "kind"])}.${stringAt(mrd, ["spec", "group"])}`;
  const objects = count === 1 ? `1 object of ${kind}` : `${count} objects of ${kind}`;
  return `This would delete ${objects}. Delete them first, or set the annotation ${allowAnnotation}: "true" on the ManagedResourceDefinition.`;
}

/** A deletion that the API server in this process is about to make, and what is stored. */
interface EmbeddedDeletion extends DefinitionDeletion {
  readonly group: string;
  readonly kind: string;
  readonly stored: {
    /** A cluster-scoped object. */
    get(resource: ResourceName, name: string): JsonObject | undefined;
    count(resource: ResourceName): number;
  };
}

/** The guard of an API server in the same process, for Usages and for managed resource definitions. */
export interface DeletionGuard extends Omit<UsageGuard, "refusalOf"> {
  refusalOf(deletion: EmbeddedDeletion): ReturnType<UsageGuard["refusalOf"]>;
}

/** Adds the definitions to a guard of Usages; without one, Usages protect nothing. */
export function createDeletionGuard(usages: UsageGuard | undefined): DeletionGuard {
  return {
    resources: usages?.resources ?? [],
    written: (key, usage) => usages?.written(key, usage),
    onRelease: (listener) => usages?.onRelease(listener),
    refusalOf: (deletion) => usages?.refusalOf(deletion) ?? definitionRefusal(deletion),
  };
}

function definitionRefusal(deletion: EmbeddedDeletion): ReturnType<UsageGuard["refusalOf"]> {
  const { group, kind, object, stored } = deletion;
  if (kind !== managedDefinitionType.kind || group !== managedDefinitionResource.group) return undefined;
  if (!deletesItsKind(deletion, stored.get(crdResource, stringAt(object, ["metadata", "name"])))) return undefined;
  const resource = {
    group: stringAt(object, ["spec", "group"]),
    resource: stringAt(object, ["spec", "names", "plural"]),
  };
  const text = dataLossText(object, stored.count(resource));
  if (text === undefined) return undefined;
  const status: Status = deniedStatus(dataLossWebhookName, text);
  return { status, annotations: {}, because: [] };
}
