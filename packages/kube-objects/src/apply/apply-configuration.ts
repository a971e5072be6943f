// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { goJson } from "../json/go-text.ts";
import { parseJson } from "../json/json-text.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  withOwnValue,
  withoutOwnValue,
} from "../json/json-value.ts";
import { annotationsBytes, maxAnnotationsBytes } from "../metadata/validate-metadata.ts";
import { lastAppliedAnnotation } from "../object/metadata.ts";
import { conflictingFields, isApplyConflicts, withoutConflictsOn, wrapErrors, wrapWork } from "./apply-errors.ts";
import { type TypedObject, typingObject } from "./apply-versions.ts";
import type { FieldManagerContext } from "./field-manager.ts";
import { difference, equalSets, type FieldSet, isEmptySet } from "./field-set.ts";
import { type ManagerIdentity, type Managers, managerKey, type OwnedFields, timestamp } from "./managers.ts";
import { moveOwnership, type OwnershipRules, prune, reconcileOwners, withoutIgnored } from "./ownership.ts";
import { neverOwned, recordUpdate } from "./record-update.ts";
import { compareTyped } from "./typed-compare.ts";
import { type FieldSetNotes, fieldSetOf, findingFields } from "./typed-field-set.ts";
import { mergingValues } from "./typed-merge.ts";
import { typeProblem } from "./typed-validate.ts";

/** One apply, with the managers the live object has. */
interface ApplyInput {
  readonly live: JsonObject;
  readonly config: JsonObject;
  readonly managers: Managers;
  readonly manager: string;
  readonly force: boolean;
}

/** The object after an apply (its managedFields still the old ones) and its managers. */
interface Applied {
  readonly object: JsonObject;
  readonly managers: Managers;
}

const beforeFirstApply = "before-first-apply";

/** Merges a configuration into the live object. Throws ApplyConflictsError when fields of others are in the way. */
export function* applyConfiguration(context: FieldManagerContext, input: ApplyInput): Work<Applied> {
  // Existing fields without a manager get one: otherwise an applier could never remove a field.
  const managers = input.managers.owned.size > 0 ? input.managers : yield* ownExisting(context, input);
  yield;
  const attempt = yield* prepare(context, { ...input, managers });
  try {
    return yield* attempt(input.force);
  } catch (error) {
    if (input.manager !== kubectlManager || !isApplyConflicts(error)) throw error;
    const allowed = fieldsLastApplied(yield* typingLive(context, input.live), context.apiVersion);
    if (!allowed) throw error;
    if (isEmptySet(difference(conflictingFields(error), allowed))) return yield* attempt(true);
    throw withoutConflictsOn(error, allowed);
  }
}

function* ownExisting(context: FieldManagerContext, { live, managers }: ApplyInput): Work<Managers> {
  const update = { live: context.emptyObject, next: live, managers, manager: beforeFirstApply, always: true };
  try {
    return yield* recordUpdate(context, update);
  } catch (error) {
    return wrapErrors("failed to create manager for existing fields", () => {
      throw error;
    });
  }
}

const typingLive = (context: FieldManagerContext, live: JsonObject): Work<TypedObject> =>
  typingObject(context, live, { allowDuplicates: true, what: "failed to create typed live object" });

function* prepare(context: FieldManagerContext, input: ApplyInput): Work<(force: boolean) => Work<Applied>> {
  const config = yield* typingObject(context, input.config, {
    allowDuplicates: false,
    what: "failed to create typed patch object",
  });
  yield;
  const live = yield* typingLive(context, input.live);
  yield;
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

function* run(context: FieldManagerContext, { live, config, identity, force, managers }: Run): Work<Applied> {
  const rules = rulesOf(context);
  const { apiVersion, versions } = context;
  const actor = managerKey(identity);
  const identities = new Map(managers.identities).set(actor, identity);
  const before = reconcileOwners(rules, managers.owned, live);
  const last = before.get(actor);
  yield;
  const claim = yield* claimFields(context, config, last);
  yield;
  const owners = new Map(before).set(actor, claim.applied);
  const merged: TypedObject = { type: live.type, value: yield* mergingValues(live.type, live.value, config.value) };
  yield;
  const after = yield* wrapWork("failed to prune fields", prune({ versions, merged, owners, last, ...claim }));
  yield;
  const moved = yield* moveOwnership(rules, owners, { before: live, after, apiVersion, actor, force, identities });
  yield;
  const owned = withRecorded(moved.owners, actor, claim.recorded);
  return settle(context, { live, after, actor, managers: { ...managers, owned, identities } });
}

interface Claim extends FieldSetNotes {
  /** Everything the configuration mentions: what is never recorded keeps the metadata it stands in from being pruned. */
  readonly applied: OwnedFields;
  /** What the manager owns from now on; the very set it had when it claims the same again. */
  readonly recorded: FieldSet;
}

function* claimFields(context: FieldManagerContext, config: TypedObject, last: OwnedFields | undefined): Work<Claim> {
  const { apiVersion } = context;
  const notes: FieldSetNotes = { ownsEmptyContainer: false };
  const mentioned = yield* findingFields(config.type, config.value, notes);
  yield;
  const set = withoutIgnored(rulesOf(context), apiVersion, mentioned);
  yield;
  const recorded = difference(set, neverOwned);
  yield;
  const repeated = last?.applied && last.apiVersion === apiVersion && equalSets(last.set, recorded);
  return { applied: { set, apiVersion, applied: true }, recorded: repeated ? last.set : recorded, ...notes };
}

interface Settlement {
  readonly live: TypedObject;
  readonly after: TypedObject;
  readonly actor: string;
  readonly managers: Managers;
}

// Time passes for the applier only when the object changed; ownership alone does not count.
function settle(context: FieldManagerContext, { live, after, actor, managers }: Settlement): Applied {
  const unchanged = jsonEqual(live.value, after.value);
  const object = unchanged ? live.value : after.value;
  if (!isJsonObject(object)) throw new Error("the applied configuration leaves no object");
  if (unchanged) return { object, managers };
  return { object, managers: { ...managers, times: new Map(managers.times).set(actor, timestamp(context.now())) } };
}

// An applier whose configuration has no recorded field is not a manager.
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

// Moving from `kubectl apply` to `kubectl apply --server-side` without conflicts: the annotation in which kubectl keeps
// its last configuration says which fields were its own all along.

/** The annotation in which kubectl keeps the configuration it applied last. */

/** The manager under which kubectl applies, and the only one whose annotation counts. */
const kubectlManager = "kubectl";

function annotationsOf(object: JsonValue): JsonObject | undefined {
  const metadata = isJsonObject(object) ? ownValue(object, "metadata") : undefined;
  const annotations = isJsonObject(metadata) ? ownValue(metadata, "annotations") : undefined;
  return isJsonObject(annotations) ? annotations : undefined;
}

function lastApplied(object: JsonValue): string {
  const annotations = annotationsOf(object);
  const text = annotations && ownValue(annotations, lastAppliedAnnotation);
  return typeof text === "string" ? text : "";
}

/**
 * The fields of the last applied configuration that the live object still has with the same value; undefined when the
 * annotation is missing or malformed, so that nothing is allowed.
 */
export function fieldsLastApplied(live: TypedObject, apiVersion: string): FieldSet | undefined {
  const text = lastApplied(live.value);
  const config = text === "" ? undefined : parseConfig(text);
  if (!config || ownValue(config, "apiVersion") !== apiVersion) return undefined;
  const strict = { allowDuplicates: false };
  if (typeProblem(live.type, live.value, strict) !== undefined) return undefined;
  if (typeProblem(live.type, config, strict) !== undefined) return undefined;
  const { modified, added, removed } = compareTyped(live.type, config, live.value);
  return difference(difference(difference(fieldSetOf(live.type, config), modified), added), removed);
}

// Clients write the annotation; a value that does not parse is ignored.
function parseConfig(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) && typeof ownValue(value, "kind") === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The object with its annotation rewritten from the applied configuration, if it has one. */
export function syncLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  if (lastApplied(object) === "") return object;
  const text = `${goJson(withoutLastApplied(config))}\n`;
  const metadata = ownValue(object, "metadata");
  const annotations = annotationsOf(object);
  if (!isJsonObject(metadata) || !annotations) return object;
  const changed = withOwnValue(annotations, lastAppliedAnnotation, text);
  const fits = annotationsBytes(changed as Readonly<Record<string, string>>) <= maxAnnotationsBytes;
  const kept = fits ? changed : withoutOwnValue(annotations, lastAppliedAnnotation);
  return { ...object, metadata: { ...metadata, annotations: kept } };
}

function withoutLastApplied(config: JsonObject): JsonObject {
  const metadata = ownValue(config, "metadata");
  const annotations = annotationsOf(config);
  if (!isJsonObject(metadata) || !annotations) return config;
  const rest = withoutOwnValue(annotations, lastAppliedAnnotation);
  return { ...config, metadata: { ...metadata, annotations: rest } };
}
