// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { compareUtf8, isJsonObject, type JsonObject, ownValue } from "../json/json-value.ts";
import { wrapErrors, wrapWork } from "./apply-errors.ts";
import { objectText, typingObject } from "./apply-versions.ts";
import type { FieldManagerContext } from "./field-manager.ts";
import { difference, type FieldSet, fieldSetOfPaths, isEmptySet, union } from "./field-set.ts";
import {
  type ManagerIdentity,
  type Managers,
  managerKey,
  type OwnedFields,
  timestamp,
  unixSeconds,
} from "./managers.ts";
import { moveOwnership, type OwnershipRules, reconcileOwners } from "./ownership.ts";

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
  const after = yield* typingObject(context, next, {
    ...allow,
    what: "failed to convert new object",
    note: " to smd typed",
  });
  yield;
  const before = yield* typingObject(context, live, {
    ...allow,
    what: "failed to convert live object",
    note: " to smd typed",
  });
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

// Updaters could pile up without end, one entry for each tool that ever touched an object. Beyond ten, the oldest are
// counted together.

const maxUpdaters = 10;
const bucketName = "ancient-changes";

/** The managers with at most ten updaters: the oldest merged, per version, into `ancient-changes`. */
export function capUpdaters(managers: Managers): Managers {
  const updaters = [...managers.owned].filter(([, { applied }]) => !applied).map(([key]) => key);
  if (updaters.length <= maxUpdaters) return managers;
  const owned = new Map(managers.owned);
  const identities = new Map(managers.identities);
  const times = new Map(managers.times);
  const oldest = updaters.sort((a, b) => age(managers, a) - age(managers, b) || compareUtf8(a, b));
  const firstAt = new Map<string, string>();
  let count = updaters.length;
  for (const key of oldest) {
    if (count <= maxUpdaters) break;
    const fields = managers.owned.get(key);
    if (!fields) continue;
    const first = firstAt.get(fields.apiVersion);
    if (first === undefined) {
      firstAt.set(fields.apiVersion, key);
      continue;
    }
    const bucket = openBucket({ owned, identities }, fields.apiVersion, first);
    const merged = union(fields.set, owned.get(bucket)?.set ?? fields.set);
    owned.set(bucket, { ...fields, set: merged });
    owned.delete(key);
    // The merged update is the more recent one.
    setTime(times, bucket, managers.times.get(key));
    count--;
  }
  return { ...managers, owned, identities, times };
}

const age = (managers: Managers, key: string): number => unixSeconds(managers.times.get(key));

interface Growing {
  readonly owned: Map<string, OwnedFields>;
  readonly identities: Map<string, ManagerIdentity>;
}

function openBucket({ owned, identities }: Growing, apiVersion: string, first: string): string {
  const identity: ManagerIdentity = { manager: bucketName, operation: "Update", apiVersion, subresource: "" };
  const key = managerKey(identity);
  const seed = owned.get(first);
  if (!owned.has(key) && seed) {
    owned.delete(first);
    owned.set(key, seed);
    identities.set(key, identity);
  }
  return key;
}

function setTime(times: Map<string, string>, key: string, time: string | undefined): void {
  if (time === undefined) times.delete(key);
  else times.set(key, time);
}

/** Fields without an owner: the type of the object, and the metadata that the server sets or that identifies the object. */
export const neverOwned: FieldSet = fieldSetOfPaths([
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ["metadata", "name"],
  ["metadata", "namespace"],
  ["metadata", "creationTimestamp"],
  ["metadata", "selfLink"],
  ["metadata", "uid"],
  ["metadata", "clusterName"],
  ["metadata", "generation"],
  ["metadata", "managedFields"],
  ["metadata", "resourceVersion"],
]);
