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
export const foregroundFinalizer = "foregroundDeletion";
export const orphanFinalizer = "orphan";

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
export function waitsForDependents(object: OwnedObject): boolean {
  return object.isDeleting && object.finalizers.includes(foregroundFinalizer);
}

/** Whether an object is being deleted and its dependents are to stay. */
export function orphansDependents(object: OwnedObject): boolean {
  return object.isDeleting && object.finalizers.includes(orphanFinalizer);
}
