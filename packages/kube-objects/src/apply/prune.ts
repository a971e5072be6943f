// SPDX-License-Identifier: Apache-2.0
// An applier that no longer mentions a field gives it up, and a field without an owner is removed.
import type { Work } from "@purlin/base";
import { type ApplyVersions, atVersion, type TypedObject } from "./apply-versions.ts";
import { emptySet, type FieldSet, isEmptySet } from "./field-set.ts";
import { difference, intersection, isSubset, union } from "./field-set-algebra.ts";
import type { OwnedFields } from "./managers.ts";
import type { Owners } from "./ownership.ts";
import { fieldSetOf } from "./typed-field-set.ts";
import { removeFields } from "./typed-remove.ts";
import { withNamedFields } from "./typed-set.ts";
import { wrapErrors, wrapWork } from "./wrap-errors.ts";

/** What {@link prune} works on. */
interface PruneInput {
  readonly versions: ApplyVersions;
  readonly merged: TypedObject;
  /** All owners, the applier among them with its new fields. */
  readonly owners: Owners;
  /** The applier's new fields, and the version it applied at. */
  readonly applied: OwnedFields;
  /** Whether the applier owns a declared container that it mentions as null or empty. */
  readonly ownsEmptyContainer: boolean;
  /** What the applier owned before. */
  readonly last: OwnedFields | undefined;
}

/** The merged object without the fields that the applier owned before, does not mention now, and no other manager owns. */
export function* prune(input: PruneInput): Work<TypedObject> {
  const { versions, merged, owners, applied, ownsEmptyContainer, last } = input;
  if (!last || isEmptySet(last.set)) return merged;
  // Giving up nothing is the common case: everything applied again keeps itself, and what holds it, alive. Only a
  // container owned as empty can lose what others put into it without owning it.
  const givesUpNothing = last.apiVersion === applied.apiVersion && isSubset(last.set, applied.set);
  if (givesUpNothing && !ownsEmptyContainer) return merged;
  const converted = convert(versions, merged, { to: last.apiVersion, what: "merged object to last applied version" });
  if (!converted) return merged;
  yield;
  const without = remove(converted, withNamedFields(converted.type, last.set));
  yield;
  const addingBack = addBackOwned(versions, { merged: converted, pruned: without }, { owners, first: last.apiVersion });
  const owned = yield* wrapWork("failed add back owned items", addingBack);
  yield;
  const dangling = addBackDangling(versions, { merged: converted, pruned: owned }, last);
  const pruned = yield* wrapWork("failed add back dangling items", dangling);
  return atVersion(versions, pruned, applied.apiVersion) ?? pruned;
}

function convert(
  versions: ApplyVersions,
  object: TypedObject,
  { to, what }: { readonly to: string; readonly what: string },
): TypedObject | undefined {
  return wrapErrors(`failed to convert ${what}`, () => atVersion(versions, object, to));
}

const remove = (object: TypedObject, set: FieldSet): TypedObject => ({
  type: object.type,
  value: removeFields(object.type, object.value, set),
});

// The merged object is asked for its fields more than once in a prune.
const known = new WeakMap<TypedObject, FieldSet>();

function fieldsOf(object: TypedObject): FieldSet {
  const fields = known.get(object) ?? withNamedFields(object.type, fieldSetOf(object.type, object.value));
  known.set(object, fields);
  return fields;
}

interface Pair {
  readonly merged: TypedObject;
  readonly pruned: TypedObject;
}

// The version of the removed fields goes first, so that no conversion misses a field that is required for it.
function* addBackOwned(
  versions: ApplyVersions,
  start: Pair,
  { owners, first }: { readonly owners: Owners; readonly first: string },
): Work<TypedObject> {
  const managed = new Map<string, FieldSet>();
  for (const { apiVersion, set } of owners.values()) {
    managed.set(apiVersion, union(managed.get(apiVersion) ?? emptySet, set));
    yield;
  }
  const order = [...managed.keys()].sort((a, b) => Number(b === first) - Number(a === first));
  let pair = start;
  for (const at of order)
    pair = yield* addBackAt(versions, pair, { apiVersion: at, managed: managed.get(at) ?? emptySet });
  return pair.pruned;
}

function* addBackAt(
  versions: ApplyVersions,
  pair: Pair,
  { apiVersion, managed }: { readonly apiVersion: string; readonly managed: FieldSet },
): Work<Pair> {
  const merged = convert(versions, pair.merged, { to: apiVersion, what: `merged object at version ${apiVersion}` });
  if (!merged) return pair;
  const pruned = convert(versions, pair.pruned, { to: apiVersion, what: `pruned object at version ${apiVersion}` });
  if (!pruned) return { merged, pruned: pair.pruned };
  const keep = union(fieldsOf(pruned), withNamedFields(merged.type, managed));
  yield;
  const all = fieldsOf(merged);
  yield;
  const gone = difference(all, keep);
  yield;
  return { merged, pruned: remove(merged, gone) };
}

// Only fields that the applier owned before may be removed: fields that never had an owner, and those of updaters, stay.
function* addBackDangling(versions: ApplyVersions, { merged, pruned }: Pair, last: OwnedFields): Work<TypedObject> {
  const converted = convert(versions, pruned, { to: last.apiVersion, what: "pruned object to last applied version" });
  if (!converted) return merged;
  const [before, after] = [fieldsOf(merged), fieldsOf(converted)];
  yield;
  const gone = intersection(difference(before, after), withNamedFields(merged.type, last.set));
  yield;
  return remove(merged, gone);
}
