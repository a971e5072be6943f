// SPDX-License-Identifier: Apache-2.0
// How ownership of fields moves when an object changes from one state to another.
// An applier that no longer mentions a field gives it up, and a field without an owner is removed.
import type { Work } from "@purlin/base";
import { ApplyConflictsError, type ManagerConflict, wrapErrors, wrapWork } from "./apply-errors.ts";
import { type ApplyVersions, atVersion, type TypedObject } from "./apply-versions.ts";
import {
  difference,
  emptySet,
  type FieldSet,
  intersection,
  isEmptySet,
  isSubset,
  recursiveDifference,
  union,
} from "./field-set.ts";
import type { ManagerIdentity, OwnedFields } from "./managers.ts";
import { type Comparison, comparingTyped, excludeFields } from "./typed-compare.ts";
import { findingFields, reconcileWithType, withNamedFields } from "./typed-field-set.ts";
import { removingFields } from "./typed-remove.ts";

/** What stays the same for all operations on one endpoint. */
export interface OwnershipRules {
  readonly versions: ApplyVersions;
  /** Fields that an endpoint ignores, by version: their ownership does not change there. */
  readonly ignored?: ReadonlyMap<string, FieldSet>;
}

/** One change of an object, by one manager. */
interface Change {
  readonly before: TypedObject;
  readonly after: TypedObject;
  readonly apiVersion: string;
  /** The key of the manager that changes it. */
  readonly actor: string;
  readonly force: boolean;
  /** The managers, to name them in conflicts. */
  readonly identities: ReadonlyMap<string, ManagerIdentity>;
}

/** The managers by key. */
type Owners = ReadonlyMap<string, OwnedFields>;

/** The set without the fields the endpoint ignores. */
export function withoutIgnored(rules: OwnershipRules, apiVersion: string, set: FieldSet): FieldSet {
  const ignored = rules.ignored?.get(apiVersion);
  return ignored ? recursiveDifference(set, ignored) : set;
}

/** The result of {@link moveOwnership}. */
interface Moved {
  readonly owners: Owners;
  readonly comparison: Comparison;
}

/**
 * Takes the changed fields from all managers but the actor. Without `force`, a field that changed and belongs to another
 * manager is a conflict, and nothing moves.
 */
export function* moveOwnership(rules: OwnershipRules, owners: Owners, change: Change): Work<Moved> {
  const comparison = yield* comparingAt(rules, change, change.apiVersion);
  yield;
  if (!comparison) throw new Error(`there is no version ${change.apiVersion}`);
  // One comparison for each version at which fields are recorded.
  const known = new Map<string, Comparison | undefined>([[change.apiVersion, comparison]]);
  const conflicts: ManagerConflict[] = [];
  const moved = new Map<string, OwnedFields>();
  for (const [key, owned] of owners) {
    const at = owned.apiVersion;
    if (key !== change.actor && !known.has(at)) known.set(at, yield* comparingAt(rules, change, at));
    const seen = key === change.actor ? undefined : known.get(at);
    // A version that is gone takes its managers with it.
    if (key !== change.actor && !seen) continue;
    const gained = seen && union(seen.modified, seen.added);
    yield;
    const lost = gained && intersection(owned.set, gained);
    yield;
    const manager = change.identities.get(key);
    if (lost && !isEmptySet(lost) && manager) conflicts.push({ key, manager, set: lost });
    const left = lost ? difference(owned.set, lost) : owned.set;
    yield;
    const set = seen ? difference(left, seen.removed) : left;
    if (!isEmptySet(set)) moved.set(key, set === owned.set ? owned : { ...owned, set });
    yield;
  }
  if (!change.force && conflicts.length > 0) throw new ApplyConflictsError(conflicts);
  return { owners: moved, comparison };
}

/** What the change is at a version; undefined when there is no such version. */
function* comparingAt(rules: OwnershipRules, change: Change, apiVersion: string): Work<Comparison | undefined> {
  const own = apiVersion === change.apiVersion;
  const before = own ? change.before : convert(rules, change.before, { version: apiVersion, which: "old" });
  const after = before && (own ? change.after : convert(rules, change.after, { version: apiVersion, which: "new" }));
  if (!before || !after) return undefined;
  return excludeFields(yield* comparingTyped(before.type, before.value, after.value), rules.ignored?.get(apiVersion));
}

function convert(
  rules: OwnershipRules,
  object: TypedObject,
  at: { version: string; which: string },
): TypedObject | undefined {
  return wrapErrors(`failed to convert ${at.which} object`, () => atVersion(rules.versions, object, at.version));
}

/** The owners after the kind's schema may have changed: granular fields that became atomic are owned as a whole. */
export function reconcileOwners(rules: OwnershipRules, owners: Owners, live: TypedObject): Owners {
  const types = new Map<string, TypedObject | undefined>();
  const out = new Map<string, OwnedFields>();
  let changed = false;
  for (const [key, owned] of owners) {
    const { apiVersion } = owned;
    if (!types.has(apiVersion)) types.set(apiVersion, atVersion(rules.versions, live, apiVersion));
    const there = types.get(apiVersion);
    const set = there && reconcileWithType(there.type, owned.set);
    if (set !== owned.set) changed = true;
    if (set) out.set(key, set === owned.set ? owned : { ...owned, set });
  }
  return changed ? out : owners;
}

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
  const converted = convertFor(versions, merged, {
    to: last.apiVersion,
    what: "merged object to last applied version",
  });
  if (!converted) return merged;
  yield;
  const without = yield* removing(converted, withNamedFields(converted.type, last.set));
  yield;
  const addingBack = addBackOwned(versions, { merged: converted, pruned: without }, { owners, first: last.apiVersion });
  const owned = yield* wrapWork("failed add back owned items", addingBack);
  yield;
  const dangling = addBackDangling(versions, { merged: converted, pruned: owned }, last);
  const pruned = yield* wrapWork("failed add back dangling items", dangling);
  return atVersion(versions, pruned, applied.apiVersion) ?? pruned;
}

function convertFor(
  versions: ApplyVersions,
  object: TypedObject,
  { to, what }: { readonly to: string; readonly what: string },
): TypedObject | undefined {
  return wrapErrors(`failed to convert ${what}`, () => atVersion(versions, object, to));
}

function* removing(object: TypedObject, set: FieldSet): Work<TypedObject> {
  return { type: object.type, value: yield* removingFields(object.type, object.value, set) };
}

// The merged object is asked for its fields more than once in a prune.
const known = new WeakMap<TypedObject, FieldSet>();

function* fieldsOf(object: TypedObject): Work<FieldSet> {
  const before = known.get(object);
  if (before !== undefined) return before;
  const fields = withNamedFields(object.type, yield* findingFields(object.type, object.value));
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
  const merged = convertFor(versions, pair.merged, { to: apiVersion, what: `merged object at version ${apiVersion}` });
  if (!merged) return pair;
  const pruned = convertFor(versions, pair.pruned, { to: apiVersion, what: `pruned object at version ${apiVersion}` });
  if (!pruned) return { merged, pruned: pair.pruned };
  const kept = yield* fieldsOf(pruned);
  yield;
  const keep = union(kept, withNamedFields(merged.type, managed));
  yield;
  const all = yield* fieldsOf(merged);
  yield;
  const gone = difference(all, keep);
  yield;
  return { merged, pruned: yield* removing(merged, gone) };
}

// Only fields that the applier owned before may be removed: fields that never had an owner, and those of updaters, stay.
function* addBackDangling(versions: ApplyVersions, { merged, pruned }: Pair, last: OwnedFields): Work<TypedObject> {
  const converted = convertFor(versions, pruned, {
    to: last.apiVersion,
    what: "pruned object to last applied version",
  });
  if (!converted) return merged;
  const before = yield* fieldsOf(merged);
  yield;
  const after = yield* fieldsOf(converted);
  yield;
  const lost = difference(before, after);
  yield;
  const gone = intersection(lost, withNamedFields(merged.type, last.set));
  yield;
  return yield* removing(merged, gone);
}
