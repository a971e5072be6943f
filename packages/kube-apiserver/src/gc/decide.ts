// SPDX-License-Identifier: Apache-2.0

import { isPartDone } from "@purlin/base";
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

/** An object that names an owner. It is read when it is needed: what names thousands of owners is large. */
export interface Dependent {
  readonly uid: string;
  /** Undefined when it is no longer an object. */
  read(): OwnedObject | undefined;
}

/** The objects around the one that is decided on. */
export interface World {
  /**
   * The owner a reference means: absent when there is no such object or it has another uid, unknown when it cannot be looked up
   * because its kind is not served.
   */
  ownerOf(reference: OwnerReference, dependent: OwnedObject): OwnedObject | "absent" | "unknown";
  /** The objects that name this one as an owner. */
  dependentsOf(uid: string): readonly Dependent[];
}

/** Actions one after the other, each decided when it is asked for. Undefined ends a part without one: other work may run there. */
type Decisions = Generator<Action | undefined, void, void>;

/** What garbage collection wants to happen now because of one object, as owner and as dependent. */
export function* decide(object: OwnedObject, world: World): Decisions {
  yield* asOwner(object, world);
  yield* asDependent(object, world);
}

function* asOwner(object: OwnedObject, world: World): Decisions {
  if (orphansDependents(object)) {
    const dependents = world.dependentsOf(object.uid);
    for (const dependent of dependents) {
      const owned = dependent.read();
      yield owned && { action: "dropOwners", object: owned, uids: [object.uid] };
    }
    // The finalizer goes last: while it is there, the work can be taken up again after a crash.
    if (dependents.length === 0) yield { action: "dropFinalizer", object, finalizer: orphanFinalizer };
    return;
  }
  if (!waitsForDependents(object)) return;
  const dependents = world.dependentsOf(object.uid);
  if (!(yield* isBlocked(object.uid, dependents))) {
    yield { action: "dropFinalizer", object, finalizer: foregroundFinalizer };
    return;
  }
  for (const { uid } of dependents) yield { action: "visit", uid };
}

/** Whether the deletion of an owner has to wait for one of its dependents. */
function* isBlocked(owner: string, dependents: readonly Dependent[]): Generator<undefined, boolean, void> {
  for (const dependent of dependents) {
    const references = dependent.read()?.owners ?? [];
    if (references.some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true)) return true;
    yield;
  }
  return false;
}

function* asDependent(object: OwnedObject, world: World): Decisions {
  if (object.owners.length === 0) return;
  // One that is already being deleted is left alone, unless it waits itself and is to be hurried on.
  if (object.isDeleting && !waitsForDependents(object)) return;
  const owners = yield* ownersOf(object, world);
  if (owners === undefined) return;
  const { gone, waiting } = owners;
  if (gone.length + waiting.length < object.owners.length) {
    if (gone.length + waiting.length > 0) yield { action: "dropOwners", object, uids: [...gone, ...waiting] };
    return;
  }
  if (object.isDeleting) return;
  const isForeground = waiting.length > 0 && world.dependentsOf(object.uid).length > 0;
  yield { action: "delete", object, policy: isForeground ? "Foreground" : ownPolicy(object) };
}

/** The uids of owners that do not keep an object. */
interface LostOwners {
  readonly gone: readonly string[];
  /** They are being deleted and wait for their dependents. */
  readonly waiting: readonly string[];
}

/** Undefined when there is an owner that cannot be looked up. */
function* ownersOf(object: OwnedObject, world: World): Generator<undefined, LostOwners | undefined, void> {
  const [gone, waiting]: [string[], string[]] = [[], []];
  for (const reference of object.owners) {
    const owner = world.ownerOf(reference, object);
    if (owner === "unknown") return undefined;
    if (owner === "absent") gone.push(reference.uid);
    else if (waitsForDependents(owner)) waiting.push(reference.uid);
    if (isPartDone()) yield;
  }
  return { gone, waiting };
}

/** An object may say itself, by its finalizers, how it is to be deleted. */
function ownPolicy({ finalizers }: OwnedObject): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}
