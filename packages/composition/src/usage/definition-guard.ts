// SPDX-License-Identifier: Apache-2.0
// Deleting a managed resource definition deletes its CRD, and with it every object of the kind: that is refused while there are any.

import { crdType } from "@purlin/kube-controller";
import type { ResourceName, Status } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, objectsAt, parseApiVersion, stringAt } from "@purlin/kube-objects/object";
import { managedDefinitionType } from "../managed/managed-crd.ts";
import { collectors, deniedStatus, type UsageGuard } from "./usage-guard.ts";

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

/** Who deletes a definition, and what becomes of its CRD. */
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
