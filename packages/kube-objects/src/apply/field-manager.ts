// SPDX-License-Identifier: Apache-2.0
// Server-side apply and field ownership for one kind at one version, on its main endpoint or a subresource. All functions
// are pure: objects go in, new objects come out, nothing is changed in place.
// A write that changes nothing must not even change a time: controllers apply again on every reconcile, and a new time
// would be a new resourceVersion, an event, and another reconcile.
import { finish, type Work } from "@purlin/base";
import { findStatusError } from "../errors/status-error.ts";
import { badRequest, unclassifiedError } from "../errors/status-error-constructors.ts";
import { isJsonObject, type JsonObject, jsonEqual, ownValue, withoutOwnValue } from "../json/json-value.ts";
import type { ManagedFieldsEntry } from "../object/kube-object.ts";
import { applyConfiguration, syncLastApplied } from "./apply-configuration.ts";
import { conflictStatus, isApplyConflicts, wrapWork } from "./apply-errors.ts";
import { type ApplyVersions, typeText } from "./apply-versions.ts";
import type { FieldSet } from "./field-set.ts";
import {
  decodingManagers,
  encodingManagers,
  isManagedFieldsReset,
  type Managers,
  managedFieldsOf,
  noManagers,
} from "./managers.ts";
import { recordUpdate } from "./record-update.ts";

/** What a {@link FieldManager} has to know. */
interface FieldManagerOptions {
  readonly apiVersion: string;
  readonly kind: string;
  readonly versions: ApplyVersions;
  /** The subresource this endpoint serves; the main endpoint has none. */
  readonly subresource?: string;
  /** Fields this endpoint resets, by apiVersion: `status` on the main endpoint, `metadata` and `spec` on `/status`. */
  readonly resetFields?: ReadonlyMap<string, FieldSet>;
  /** An object of the kind that has only what an empty one has; apiVersion and kind alone by default. */
  readonly emptyObject?: JsonObject;
  /** The current time. */
  readonly now: () => Date;
}

/** An apply request. */
interface ApplyRequest {
  readonly manager: string;
  readonly force: boolean;
}

/** The outcome of an update: the object with its managedFields, and why ownership could not be tracked, if so. */
interface UpdateResult {
  readonly object: JsonObject;
  /** Set when the object is not of its own type: its managedFields are gone, as in the reference. */
  readonly problem?: Error;
}

/** Tracks who owns which fields of the objects of one kind. */
export interface FieldManager {
  /**
   * Merges an applied configuration into the live object (undefined when it does not exist) and records who owns what.
   * Returns the live object itself when nothing changes at all. Throws a StatusError: Conflict when fields of others
   * would change and `force` is off, BadRequest for another type, and an unclassified one when the configuration does
   * not fit the schema. Defaults are the caller's to set afterwards.
   */
  readonly apply: (live: JsonObject | undefined, config: JsonObject, request: ApplyRequest) => JsonObject;
  /**
   * Records a create, update or patch that has already been made: `live` (undefined for a create) became `next`.
   * Never throws.
   */
  readonly update: (live: JsonObject | undefined, next: JsonObject, manager: string) => UpdateResult;
  /** The same in parts. */
  readonly updating: (live: JsonObject | undefined, next: JsonObject, manager: string) => Work<UpdateResult>;
  /** {@link FieldManager.apply} in parts. */
  readonly applying: (live: JsonObject | undefined, config: JsonObject, request: ApplyRequest) => Work<JsonObject>;
}

/** The inside of a field manager: options with everything filled in. */
export interface FieldManagerContext extends FieldManagerOptions {
  readonly subresource: string;
  readonly emptyObject: JsonObject;
}

/** Makes the field manager of one endpoint. */
export function createFieldManager(options: FieldManagerOptions): FieldManager {
  const context: FieldManagerContext = {
    ...options,
    subresource: options.subresource ?? "",
    emptyObject: options.emptyObject ?? { apiVersion: options.apiVersion, kind: options.kind },
  };
  const applying: FieldManager["applying"] = (live, config, request) =>
    apply(context, { live: live ?? context.emptyObject, config }, request);
  const updating: FieldManager["updating"] = (live, next, manager) =>
    update(context, { live: live ?? context.emptyObject, next }, manager);
  return {
    applying,
    updating,
    apply: (live, config, request) => finish(applying(live, config, request)),
    update: (live, next, manager) => finish(updating(live, next, manager)),
  };
}

function* apply(
  context: FieldManagerContext,
  { live, config }: { readonly live: JsonObject; readonly config: JsonObject },
  request: ApplyRequest,
): Work<JsonObject> {
  try {
    return yield* applyChecked(context, { live, config }, request);
  } catch (error) {
    if (isApplyConflicts(error)) {
      yield;
      throw conflictStatus(error);
    }
    if (findStatusError(error)) throw error;
    throw unclassifiedError(error instanceof Error ? error.message : String(error), error);
  }
}

function* applyChecked(
  context: FieldManagerContext,
  { live, config }: { readonly live: JsonObject; readonly config: JsonObject },
  request: ApplyRequest,
): Work<JsonObject> {
  const before = managedFieldsOf(live) ?? [];
  const managers = yield* wrapWork("failed to decode managed fields", decodingManagers(before, "live"));
  checkType(context, config);
  yield;
  const applied = yield* applyConfiguration(context, { live, config, managers, ...request });
  const object = request.manager === "kubectl" ? syncLastApplied(applied.object, config) : applied.object;
  yield;
  return yield* withManagers(object, live, applied.managers);
}

function checkType(context: FieldManagerContext, config: JsonObject): void {
  const apiVersion = ownValue(config, "apiVersion");
  const kind = ownValue(config, "kind");
  if (apiVersion !== context.apiVersion || kind !== context.kind) {
    throw badRequest(`invalid object type: ${typeText(apiVersion, kind)}`);
  }
  if (managedFieldsOf(config) !== undefined) throw badRequest("metadata.managedFields must be nil");
}

function* update(
  context: FieldManagerContext,
  { live, next }: { readonly live: JsonObject; readonly next: JsonObject },
  manager: string,
): Work<UpdateResult> {
  const bare = withManagedFields(next, undefined);
  try {
    const managers = yield* currentManagers(context, live, next);
    yield;
    const updated = yield* recordUpdate(context, { live, next: bare, managers, manager });
    yield;
    return { object: yield* withManagers(next, live, updated) };
  } catch (error) {
    return { object: bare, problem: error instanceof Error ? error : new Error(String(error)) };
  }
}

// Clients may edit managedFields with an update, except through a subresource; what they leave out or spoil stays.
function* currentManagers(context: FieldManagerContext, live: JsonObject, next: JsonObject): Work<Managers> {
  const current = managedFieldsOf(live);
  if (context.subresource !== "") return (yield* tryDecoding(current, "live")) ?? noManagers;
  const sent = managedFieldsOf(next);
  if (isManagedFieldsReset(sent)) return noManagers;
  // Sending back what was read does not count as an edit.
  const decoded = sent === current ? undefined : yield* tryDecoding(sent, "client");
  return decoded && decoded.owned.size > 0 ? decoded : ((yield* tryDecoding(current, "live")) ?? noManagers);
}

// Undecodable entries are as good as none: the reference forgets them too.
function* tryDecoding(
  entries: readonly ManagedFieldsEntry[] | undefined,
  from: "client" | "live",
): Work<Managers | undefined> {
  try {
    return entries && (yield* decodingManagers(entries, from));
  } catch {
    return undefined;
  }
}

// Keeps the live object's own list, and so the live object itself, when no entry changed.
function* withManagers(object: JsonObject, live: JsonObject, managers: Managers): Work<JsonObject> {
  const entries = yield* encodingManagers(managers);
  if (entries.length === 0) return withManagedFields(object, undefined);
  const before = managedFieldsOf(live);
  const unchanged = before?.length === entries.length && entries.every((entry, index) => entry === before[index]);
  return withManagedFields(object, unchanged ? before : entries);
}

function withManagedFields(object: JsonObject, entries: readonly ManagedFieldsEntry[] | undefined): JsonObject {
  const metadata = ownValue(object, "metadata");
  const current = isJsonObject(metadata) ? metadata : {};
  if (ownValue(current, "managedFields") === entries) return object;
  const { managedFields: _dropped, ...rest } = current;
  const value = entries === undefined ? rest : { ...rest, managedFields: entries };
  return { ...object, metadata: value } as JsonObject;
}

/**
 * The old object itself when the new one differs from it in nothing but the times of its managedFields, and the new one
 * otherwise. To be asked after all other changes to the new object are made.
 */
export function unlessOnlyTimesChanged(next: JsonObject, old: JsonObject): JsonObject {
  if (next === old) return old;
  const entries = managedFieldsOf(next) ?? [];
  const before = managedFieldsOf(old) ?? [];
  if (entries.length !== before.length || entries.length === 0) return next;
  if (entries.every((entry, index) => entry.time === before[index]?.time)) return next;
  if (!entries.every((entry, index) => sameButTime(entry, before[index]))) return next;
  return jsonEqual(withoutManagedFields(next), withoutManagedFields(old)) ? old : next;
}

function sameButTime(a: ManagedFieldsEntry, b: ManagedFieldsEntry | undefined): boolean {
  if (b === undefined) return false;
  const { time: _a, ...one } = a;
  const { time: _b, ...other } = b;
  return jsonEqual(one as JsonObject, other as JsonObject);
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = ownValue(object, "metadata");
  if (!isJsonObject(metadata)) return object;
  return { ...object, metadata: withoutOwnValue(metadata, "managedFields") };
}
