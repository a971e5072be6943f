// SPDX-License-Identifier: Apache-2.0
// How ownership of fields moves when an object changes from one state to another.

import type { Work } from "@purlin/base";
import { type ApplyVersions, atVersion, type TypedObject } from "./apply-versions.ts";
import { ApplyConflicts, type ManagerConflict } from "./conflict.ts";
import { type FieldSet, isEmptySet } from "./field-set.ts";
import { difference, intersection, recursiveDifference, union } from "./field-set-algebra.ts";
import type { ManagerIdentity, OwnedFields } from "./managers.ts";
import { type Comparison, compareTyped, excludeFields } from "./typed-compare.ts";
import { reconcileWithType } from "./typed-set.ts";
import { wrapErrors } from "./wrap-errors.ts";

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
  /** The key of who changes it. */
  readonly actor: string;
  readonly force: boolean;
  /** Who the managers are, to name them in conflicts. */
  readonly identities: ReadonlyMap<string, ManagerIdentity>;
}

/** The managers by key. */
export type Owners = ReadonlyMap<string, OwnedFields>;

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
  const compare = comparisons(rules, change);
  const comparison = compare(change.apiVersion);
  yield;
  if (!comparison) throw new Error(`there is no version ${change.apiVersion}`);
  const conflicts: ManagerConflict[] = [];
  const moved = new Map<string, OwnedFields>();
  for (const [key, owned] of owners) {
    const seen = key === change.actor ? undefined : compare(owned.apiVersion);
    // A version that is gone takes its managers with it.
    if (key !== change.actor && !seen) continue;
    const gained = seen && union(seen.modified, seen.added);
    yield;
    const lost = gained && intersection(owned.set, gained);
    yield;
    const manager = change.identities.get(key);
    if (lost && !isEmptySet(lost) && manager) conflicts.push({ key, manager, set: lost });
    const set = seen && lost ? difference(difference(owned.set, lost), seen.removed) : owned.set;
    if (!isEmptySet(set)) moved.set(key, set === owned.set ? owned : { ...owned, set });
    yield;
  }
  if (!change.force && conflicts.length > 0) throw new ApplyConflicts(conflicts);
  return { owners: moved, comparison };
}

// One comparison for each version at which fields are recorded.
function comparisons(rules: OwnershipRules, change: Change): (apiVersion: string) => Comparison | undefined {
  const known = new Map<string, Comparison | undefined>();
  const compute = (apiVersion: string): Comparison | undefined => {
    const own = apiVersion === change.apiVersion;
    const before = own ? change.before : convert(rules, change.before, { version: apiVersion, which: "old" });
    const after = before && (own ? change.after : convert(rules, change.after, { version: apiVersion, which: "new" }));
    if (!before || !after) return undefined;
    return excludeFields(compareTyped(before.type, before.value, after.value), rules.ignored?.get(apiVersion));
  };
  return (apiVersion) => {
    if (!known.has(apiVersion)) known.set(apiVersion, compute(apiVersion));
    return known.get(apiVersion);
  };
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
