// SPDX-License-Identifier: Apache-2.0
import { jsonEqual } from "../json/json-equal.ts";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import type { TypedObject } from "./apply-versions.ts";
import { conflictingFields, isApplyConflicts, withoutConflictsOn } from "./conflict.ts";
import type { FieldManagerContext } from "./field-manager.ts";
import { type FieldSet, isEmptySet } from "./field-set.ts";
import { difference, equalSets } from "./field-set-algebra.ts";
import { fieldsLastApplied, kubectlManager } from "./last-applied.ts";
import { type ManagerIdentity, type Managers, managerKey, type OwnedFields } from "./managers.ts";
import { neverOwned } from "./never-owned.ts";
import { moveOwnership, type OwnershipRules, reconcileOwners, withoutIgnored } from "./ownership.ts";
import { prune } from "./prune.ts";
import { recordUpdate } from "./record-update.ts";
import { timestamp } from "./timestamp.ts";
import { type FieldSetNotes, fieldSetOf } from "./typed-field-set.ts";
import { mergeValues } from "./typed-merge.ts";
import { typedObject } from "./typed-object.ts";
import { wrapErrors } from "./wrap-errors.ts";

/** One apply, with the managers the live object has. */
export interface ApplyInput {
  readonly live: JsonObject;
  readonly config: JsonObject;
  readonly managers: Managers;
  readonly manager: string;
  readonly force: boolean;
}

/** The object after an apply (its managedFields still the old ones) and its managers. */
export interface Applied {
  readonly object: JsonObject;
  readonly managers: Managers;
}

const beforeFirstApply = "before-first-apply";

/** Merges a configuration into the live object. Throws ApplyConflicts when fields of others are in the way. */
export function applyConfiguration(context: FieldManagerContext, input: ApplyInput): Applied {
  // What exists without any manager belongs to somebody: otherwise an applier could never give a field up.
  const managers = input.managers.owned.size > 0 ? input.managers : ownExisting(context, input);
  const attempt = prepare(context, { ...input, managers });
  try {
    return attempt(input.force);
  } catch (error) {
    if (input.manager !== kubectlManager || !isApplyConflicts(error)) throw error;
    const allowed = fieldsLastApplied(typedLive(context, input.live), context.apiVersion);
    if (!allowed) throw error;
    if (isEmptySet(difference(conflictingFields(error), allowed))) return attempt(true);
    throw withoutConflictsOn(error, allowed);
  }
}

function ownExisting(context: FieldManagerContext, { live, managers }: ApplyInput): Managers {
  const update = { live: context.emptyObject, next: live, managers, manager: beforeFirstApply, always: true };
  return wrapErrors("failed to create manager for existing fields", () => recordUpdate(context, update));
}

const typedLive = (context: FieldManagerContext, live: JsonObject): TypedObject =>
  typedObject(context, live, { allowDuplicates: true, what: "failed to create typed live object" });

function prepare(context: FieldManagerContext, input: ApplyInput): (force: boolean) => Applied {
  const config = typedObject(context, input.config, {
    allowDuplicates: false,
    what: "failed to create typed patch object",
  });
  const live = typedLive(context, input.live);
  const identity: ManagerIdentity = {
    manager: input.manager === "" ? "unknown" : input.manager,
    operation: "Apply",
    apiVersion: "",
    subresource: context.subresource,
  };
  return (force) => run(context, { live, config, identity, force, managers: input.managers });
}

interface Run {
  readonly live: TypedObject;
  readonly config: TypedObject;
  readonly identity: ManagerIdentity;
  readonly force: boolean;
  readonly managers: Managers;
}

function rulesOf({ versions, resetFields }: FieldManagerContext): OwnershipRules {
  return resetFields ? { versions, ignored: resetFields } : { versions };
}

function run(context: FieldManagerContext, { live, config, identity, force, managers }: Run): Applied {
  const rules = rulesOf(context);
  const { apiVersion } = context;
  const actor = managerKey(identity);
  const identities = new Map(managers.identities).set(actor, identity);
  const before = reconcileOwners(rules, managers.owned, live);
  const merged: TypedObject = { type: live.type, value: mergeValues(live.type, live.value, config.value) };
  const last = before.get(actor);
  const notes: FieldSetNotes = { ownsEmptyContainer: false };
  const mentioned = withoutIgnored(rules, apiVersion, fieldSetOf(config.type, config.value, notes));
  const recorded = difference(mentioned, neverOwned);
  const repeated = last?.applied && last.apiVersion === apiVersion && equalSets(last.set, recorded);
  // Pruning has to see all that is mentioned: what is never recorded keeps the metadata it stands in alive.
  const applied: OwnedFields = { set: mentioned, apiVersion, applied: true };
  const owners = new Map(before).set(actor, applied);
  const pruned = wrapErrors("failed to prune fields", () =>
    prune({ versions: context.versions, merged, owners, applied, last, ...notes }),
  );
  const { owners: moved } = moveOwnership(rules, owners, {
    before: live,
    after: pruned,
    apiVersion,
    actor,
    force,
    identities,
  });
  const unchanged = jsonEqual(live.value, pruned.value);
  const times = unchanged ? managers.times : new Map(managers.times).set(actor, timestamp(context.now()));
  const object = unchanged ? live.value : pruned.value;
  if (!isJsonObject(object)) throw new Error("the applied configuration leaves no object");
  const owned = withRecorded(moved, actor, repeated ? last.set : recorded);
  return { object, managers: { ...managers, owned, identities, times } };
}

// An applier that mentions nothing that is recorded is no manager.
function withRecorded(
  owners: ReadonlyMap<string, OwnedFields>,
  actor: string,
  set: FieldSet,
): ReadonlyMap<string, OwnedFields> {
  const own = owners.get(actor);
  if (!own || own.set === set) return owners;
  const out = new Map(owners);
  if (isEmptySet(set)) out.delete(actor);
  else out.set(actor, { ...own, set });
  return out;
}
