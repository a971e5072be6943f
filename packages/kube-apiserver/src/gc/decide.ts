// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import type { OwnerReference } from "@purlin/kube-objects/object";

/** What garbage collection needs to know of an object. */
export interface OwnedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly isDeleting: boolean;
}

/** The finalizers by which the server itself holds an object that is being deleted. */
const foregroundFinalizer = "foregroundDeletion";
const orphanFinalizer = "orphan";

/** Reads an object; undefined for what has no identity. */
export function ownedObject(object: JsonObject): OwnedObject | undefined {
  const metadata = ownValue(object, "metadata");
  if (!isJsonObject(metadata)) return undefined;
  const text = (name: string): string => {
    const value = ownValue(metadata, name);
    return typeof value === "string" ? value : "";
  };
  const list = <T>(name: string): readonly T[] => {
    const value = ownValue(metadata, name);
    return Array.isArray(value) ? (value as T[]) : [];
  };
  if (text("uid") === "") return undefined;
  return {
    apiVersion: String(object["apiVersion"] ?? ""),
    kind: String(object["kind"] ?? ""),
    namespace: text("namespace"),
    name: text("name"),
    uid: text("uid"),
    resourceVersion: text("resourceVersion"),
    owners: list<OwnerReference>("ownerReferences"),
    finalizers: list<string>("finalizers"),
    isDeleting: text("deletionTimestamp") !== "",
  };
}

/** Whether an object is being deleted and waits until its dependents are gone. */
function waitsForDependents(object: OwnedObject): boolean {
  return object.isDeleting && object.finalizers.includes(foregroundFinalizer);
}

/** Whether an object is being deleted and its dependents are to stay. */
function orphansDependents(object: OwnedObject): boolean {
  return object.isDeleting && object.finalizers.includes(orphanFinalizer);
}

/** How an object is deleted. */
type PropagationPolicy = "Background" | "Foreground" | "Orphan";

/** What to do about one object. */
export type Action =
  | { readonly action: "delete"; readonly object: OwnedObject; readonly policy: PropagationPolicy }
  | { readonly action: "dropOwners"; readonly object: OwnedObject; readonly uids: readonly string[] }
  | { readonly action: "dropFinalizer"; readonly object: OwnedObject; readonly finalizer: string }
  /** Look at another object, because of what this one is. */
  | { readonly action: "visit"; readonly uid: string };

/** The objects around the one that is decided on. */
export interface World {
  /**
   * The owner a reference means: absent when there is no such object or it has another uid, unknown when it cannot be looked up
   * because its kind is not served.
   */
  ownerOf(reference: OwnerReference, dependent: OwnedObject): OwnedObject | "absent" | "unknown";
  /** The objects that name this one as an owner. */
  dependentsOf(uid: string): readonly OwnedObject[];
}

/** What garbage collection wants to happen now because of one object, as owner and as dependent. */
export function decide(object: OwnedObject, world: World): Action[] {
  return [...asOwner(object, world), ...asDependent(object, world)];
}

function asOwner(object: OwnedObject, world: World): Action[] {
  if (orphansDependents(object)) {
    const dependents = world.dependentsOf(object.uid);
    const drops = dependents.map((one): Action => ({ action: "dropOwners", object: one, uids: [object.uid] }));
    // The finalizer goes last: while it is there, the work can be taken up again after a crash.
    return drops.length > 0 ? drops : [{ action: "dropFinalizer", object, finalizer: orphanFinalizer }];
  }
  if (!waitsForDependents(object)) return [];
  const dependents = world.dependentsOf(object.uid);
  const blocking = dependents.filter((one) => blocks(one, object.uid));
  if (blocking.length === 0) return [{ action: "dropFinalizer", object, finalizer: foregroundFinalizer }];
  return dependents.map(({ uid }): Action => ({ action: "visit", uid }));
}

function blocks(dependent: OwnedObject, ownerUid: string): boolean {
  return dependent.owners.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true);
}

function asDependent(object: OwnedObject, world: World): Action[] {
  if (object.owners.length === 0) return [];
  // One that is already being deleted is left alone, unless it waits itself and is to be hurried on.
  if (object.isDeleting && !waitsForDependents(object)) return [];
  const owners = object.owners.map((reference) => ({ reference, owner: world.ownerOf(reference, object) }));
  if (owners.some(({ owner }) => owner === "unknown")) return [];
  const gone = owners.filter(({ owner }) => owner === "absent");
  const waiting = owners.filter(({ owner }) => typeof owner === "object" && waitsForDependents(owner));
  if (gone.length + waiting.length < owners.length) {
    const uids = [...gone, ...waiting].map(({ reference }) => reference.uid);
    return uids.length === 0 ? [] : [{ action: "dropOwners", object, uids }];
  }
  if (object.isDeleting) return [];
  if (waiting.length > 0 && world.dependentsOf(object.uid).length > 0) {
    return [{ action: "delete", object, policy: "Foreground" }];
  }
  return [{ action: "delete", object, policy: ownPolicy(object) }];
}

/** An object may say itself, by its finalizers, how it is to be deleted. */
function ownPolicy({ finalizers }: OwnedObject): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}
