// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { capUpdaters } from "./ancient-changes.ts";
import type { FieldManagerContext } from "./field-manager.ts";
import { isEmptySet } from "./field-set.ts";
import { difference, union } from "./field-set-algebra.ts";
import { type ManagerIdentity, type Managers, managerKey } from "./managers.ts";
import { neverOwned } from "./never-owned.ts";
import { moveOwnership, type OwnershipRules, reconcileOwners } from "./ownership.ts";
import { timestamp } from "./timestamp.ts";
import { objectText, typedObject } from "./typed-object.ts";
import { wrapErrors, wrapWork } from "./wrap-errors.ts";

/** A change by create, update or patch. */
interface UpdateInput {
  readonly live: JsonObject;
  /** The new object, without managedFields. */
  readonly next: JsonObject;
  readonly managers: Managers;
  readonly manager: string;
  /** Whether to record it also for an existing object without managers. */
  readonly always?: boolean;
}

/** The managers after the update. Throws when one of the objects is not of its type. */
export function* recordUpdate(context: FieldManagerContext, input: UpdateInput): Work<Managers> {
  const { live, next, managers, manager } = input;
  // Objects from before ownership was tracked, or reset since, stay untracked until the first apply.
  if (input.always !== true && managers.owned.size === 0 && hasUid(live)) return managers;
  const identity: ManagerIdentity = {
    manager: manager === "" ? "unknown" : manager,
    operation: "Update",
    apiVersion: context.apiVersion,
    subresource: context.subresource,
  };
  return capUpdaters(yield* moveTo(context, { live, next, managers }, identity));
}

function hasUid(object: JsonObject): boolean {
  const metadata = ownValue(object, "metadata");
  const uid = isJsonObject(metadata) ? ownValue(metadata, "uid") : undefined;
  return typeof uid === "string" && uid !== "";
}

// The update uses a manager name of its own: fields that it changes are removed from the entries of all managers, the updating one
// included. Then its two entries are merged. The comparison shows whether anything changed, and so whether the time is updated.
const currentOperation = "current-operation";

interface Step {
  readonly live: JsonObject;
  readonly next: JsonObject;
  readonly managers: Managers;
}

function* moveTo(
  context: FieldManagerContext,
  { live, next, managers }: Step,
  identity: ManagerIdentity,
): Work<Managers> {
  const { apiVersion, versions, resetFields } = context;
  const rules: OwnershipRules = resetFields ? { versions, ignored: resetFields } : { versions };
  const allow = { allowDuplicates: true };
  const after = typedObject(context, next, { ...allow, what: "failed to convert new object", note: " to smd typed" });
  yield;
  const before = typedObject(context, live, { ...allow, what: "failed to convert live object", note: " to smd typed" });
  yield;
  const change = { before, after, apiVersion, actor: currentOperation, force: true, identities: managers.identities };
  const what = `failed to update ManagedFields (${objectText(next)})`;
  const owners = wrapErrors(what, () => reconcileOwners(rules, managers.owned, before));
  yield;
  const { owners: moved, comparison } = yield* wrapWork(what, moveOwnership(rules, owners, change));
  yield;
  const gained = difference(union(comparison.modified, comparison.added), neverOwned);
  if (isEmptySet(gained)) return { ...managers, owned: moved };
  yield;
  const key = managerKey(identity);
  const set = union(gained, moved.get(key)?.set ?? gained);
  return {
    ...managers,
    owned: new Map(moved).set(key, { set, apiVersion, applied: false }),
    identities: new Map(managers.identities).set(key, identity),
    times: new Map(managers.times).set(key, timestamp(context.now())),
  };
}
