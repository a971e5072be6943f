// SPDX-License-Identifier: Apache-2.0
// The scale subresource shows one field of its parent, the number of replicas, under another path and another version.
// Ownership of that field is translated both ways.
import type { ManagedFieldsEntry } from "../object/kube-object.ts";
import { difference, type FieldSet, fieldSetOfPaths, hasFieldPath, isEmptySet } from "./field-set.ts";
import { decodeManagers, encodeManagers, type Managers, type OwnedFields } from "./managers.ts";

const scaleApiVersion = "autoscaling/v1";
const scalePath: readonly string[] = ["spec", "replicas"];
const scaleSet: FieldSet = fieldSetOfPaths([scalePath]);

/** Where a parent keeps its replicas, by apiVersion; null for a version without a scale subresource. */
export type ReplicasPaths = ReadonlyMap<string, readonly string[] | null>;

/** The managedFields of the Scale object of a parent: who owns the parent's replicas. */
export function managersOfScale(parent: readonly ManagedFieldsEntry[], paths: ReplicasPaths): ManagedFieldsEntry[] {
  const managers = decodeManagers(parent, "client");
  const owned = new Map<string, OwnedFields>();
  for (const [key, { set, apiVersion, applied }] of managers.owned) {
    const path = paths.get(apiVersion);
    if (path && hasFieldPath(set, path)) owned.set(key, { set: scaleSet, apiVersion: scaleApiVersion, applied });
  }
  return encodeManagers({ ...managers, owned });
}

/** A change of a Scale object to carry over to its parent. */
interface ScaleChange {
  readonly parent: readonly ManagedFieldsEntry[];
  readonly scale: readonly ManagedFieldsEntry[];
  /** The version of the parent the scale was changed through. */
  readonly apiVersion: string;
  readonly paths: ReplicasPaths;
}

/** The managedFields of the parent after its Scale was changed. */
export function managersOfParent({ parent, scale, apiVersion, paths }: ScaleChange): ManagedFieldsEntry[] {
  const before = decodeManagers(parent, "client");
  const scaled = decodeManagers(scale, "client");
  const added = new Map(scaled.owned);
  const owned = new Map<string, OwnedFields>();
  for (const [key, fields] of before.owned) {
    const path = paths.get(fields.apiVersion);
    // An unknown version is dropped with its managers.
    if (path === undefined) continue;
    const kept = path === null || !hasFieldPath(fields.set, path) ? fields : keptFields(fields, path, added.has(key));
    if (kept) owned.set(key, kept);
    if (path !== null && hasFieldPath(fields.set, path)) added.delete(key);
  }
  const path = paths.get(apiVersion) ?? [];
  for (const [key, { set, applied }] of added) {
    if (hasFieldPath(set, scalePath)) owned.set(key, { set: fieldSetOfPaths([path]), apiVersion, applied });
  }
  return encodeManagers(combine(before, scaled, owned));
}

// A manager that no longer owns the Scale's replicas has lost the parent's.
function keptFields(fields: OwnedFields, path: readonly string[], stillOwned: boolean): OwnedFields | undefined {
  if (stillOwned) return fields;
  const set = difference(fields.set, fieldSetOfPaths([path]));
  return isEmptySet(set) ? undefined : { ...fields, set };
}

// Times come from the parent alone, as in the reference.
function combine(before: Managers, scaled: Managers, owned: ReadonlyMap<string, OwnedFields>): Managers {
  return { ...before, owned, identities: new Map([...scaled.identities, ...before.identities]) };
}
