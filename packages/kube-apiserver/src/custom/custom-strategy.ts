// SPDX-License-Identifier: Apache-2.0

import { finish, type Work } from "@purlin/base";
import { createFieldManager, customResourceType, type FieldManager, fieldSetOfPaths } from "@purlin/kube-objects/apply";
import { fieldErrorText, requestEntityTooLarge } from "@purlin/kube-objects/errors";
import { compareUtf8, isJsonObject, type JsonObject, type JsonValue, ownValue } from "@purlin/kube-objects/json";
import { jsonPath } from "@purlin/kube-objects/json-path";
import {
  applyDefaults,
  coercingEmbedded,
  dropForbiddenNulls,
  mostDefaultValues,
  prune,
} from "@purlin/kube-objects/structural";
import { toTypedMetadata } from "@purlin/kube-objects/typed";
import type {
  DecodedObject,
  Endpoint,
  ObjectChange,
  ObjectDecoder,
  ObjectStorage,
  ObjectStrategy,
  ObjectValidator,
} from "../strategy/object-strategy.ts";
import { customPrinter } from "../table/table.ts";
import type { ObjectConverter } from "./conversion-webhook.ts";
import { convertedStorage } from "./converted-storage.ts";
import { type CustomFindings, type CustomRules, errorsOf, validateCustom } from "./custom-validation.ts";

/** One version of a custom kind, as its strategy needs it. */
export interface CustomVersion extends CustomRules {
  readonly name: string;
  readonly hasStatus: boolean;
  readonly columns: readonly JsonObject[];
  readonly selectableFields: readonly string[];
  /** The warning for clients that still use this version. */
  readonly deprecationWarning: string | undefined;
}

/** A custom kind with all its versions. */
export interface CustomKind {
  readonly group: string;
  readonly kind: string;
  readonly storageVersion: string;
  readonly versions: ReadonlyMap<string, CustomVersion>;
  /** Converts objects between versions; undefined when they differ only in their apiVersion. */
  readonly converter?: ObjectConverter | undefined;
}

/** The strategy of a custom kind in one version. */
export function customStrategy(kind: CustomKind, versionName: string, now: () => Date): ObjectStrategy {
  const version = kind.versions.get(versionName);
  if (version === undefined) throw new Error(`${kind.kind} has no version ${versionName}`);
  return {
    decoder: customDecoder(version),
    validator: customValidator(version),
    storage: customStorage(kind, version, now),
    view: {
      printer: customPrinter(version.columns),
      fieldValue: (object, field) => selectableValue(object, field, version.selectableFields),
      hasOwnFields: true,
    },
  };
}

function customDecoder({ schema }: CustomVersion): ObjectDecoder {
  return {
    decode: (value) => finish(decodeCustom(value, schema)),
    decoding: (value) => decodeCustom(value, schema),
    // The merge has checked its fields; null members stay, as in the reference.
    decodeApplied: (object) => filled(withTypedMetadata(object), schema),
  };
}

function customValidator(version: CustomVersion): ObjectValidator {
  // Warnings and errors of one object are read one after the other, and validation is expensive.
  const validated = new WeakMap<JsonObject, CustomFindings>();
  const validating = function* (change: ObjectChange): Work<CustomFindings> {
    const known = validated.get(change.object);
    if (known !== undefined) return known;
    requireFewDefaults(change, version.schema);
    yield;
    const findings = yield* validateCustom(change, version);
    validated.set(change.object, findings);
    return findings;
  };
  return {
    validating,
    validate: (change, known) => errorsOf(finish(validating(change)), known),
    warnings: (change) => (change.old === undefined ? [] : ruleWarnings(finish(validating(change)))),
    requestWarnings: () => (version.deprecationWarning === undefined ? [] : [version.deprecationWarning]),
  };
}

function customStorage(kind: CustomKind, version: CustomVersion, now: () => Date): ObjectStorage {
  const { hasStatus } = version;
  const served = new WeakMap<JsonObject, JsonObject>();
  const managers = new Map<Endpoint, FieldManager>();
  const types = new Types(kind);
  const serving = function* (stored: JsonObject): Work<JsonObject> {
    const shown = served.get(stored) ?? (yield* shownAs(stored, kind, version));
    served.set(stored, shown);
    return shown;
  };
  const storage: ObjectStorage = {
    prepareCreate: (object) => (hasStatus ? without(object, "status") : object),
    prepareUpdate: (object, old, endpoint) => prepareUpdate(object, old, { endpoint, hasStatus }),
    toServed: (stored) => served.get(stored) ?? finish(serving(stored)),
    serving,
    toStored: (object) => withApiVersion(object, `${kind.group}/${kind.storageVersion}`),
    // Defaults and versions may have changed since an object was stored.
    servesStoredBytes: false,
    applyType: () => types.byVersion.get(`${kind.group}/${version.name}`) ?? customResourceType(version.schema),
    fieldManager(endpoint) {
      const known = managers.get(endpoint) ?? createManager(kind, version, { endpoint, now, types });
      managers.set(endpoint, known);
      return known;
    },
  };
  const { converter } = kind;
  if (converter === undefined) return storage;
  const { group } = kind;
  const schemaOf = (object: JsonObject): JsonObject =>
    (kind.versions.get(String(ownValue(object, "apiVersion")).slice(group.length + 1)) ?? version).schema;
  return convertedStorage(storage, {
    converter,
    apiVersion: `${group}/${version.name}`,
    storedApiVersion: `${group}/${kind.storageVersion}`,
    apiVersions: new Set([...kind.versions.keys()].map((name) => `${group}/${name}`)),
    read: (stored) => readStored(stored, schemaOf(stored)),
    clean: (object) => cleaned(object, schemaOf(object)),
    fieldManager: (endpoint, convert) => createManager(kind, version, { endpoint, now, types, convert }),
  });
}

/** Reads a body: unknown fields out, forbidden nulls out, all metadata in its form, defaults in. */
function* decodeCustom(value: JsonObject, schema: JsonObject): Work<DecodedObject> {
  const { metadata, unknown: unknownMetadata } = toTypedMetadata(ownValue(value, "metadata") ?? {});
  yield;
  const { object, unknown } = prune(value, schema);
  yield;
  const dropped = dropForbiddenNulls({ ...object, metadata }, schema);
  yield;
  const coerced = yield* coercingEmbedded(dropped, schema);
  yield;
  return {
    object: filled(coerced.object, schema),
    unknownFields: [...[...unknownMetadata].sort(compareUtf8), ...unknown, ...coerced.unknown],
  };
}

/** The object with defaults; without any when there are too many, which is valid only for one that was stored so: see below. */
function filled(object: JsonObject, schema: JsonObject): JsonObject {
  return applyDefaults(object, schema) ?? object;
}

/** An object that was stored before its schema had too many defaults stays readable and writable: its finalizers must be removable. */
function requireFewDefaults({ object, old }: ObjectChange, schema: JsonObject): void {
  if (applyDefaults(object, schema) !== undefined) return;
  if (old !== undefined && applyDefaults(old, schema) === undefined) return;
  throw requestEntityTooLarge(
    `the defaults of its schema add more than ${mostDefaultValues} values: split the object into several smaller ones`,
  );
}

function withTypedMetadata(object: JsonObject): JsonObject {
  return { ...object, metadata: toTypedMetadata(ownValue(object, "metadata") ?? {}).metadata };
}

/** What an update left as wrong as it was. */
function ruleWarnings({ rules }: CustomFindings): string[] {
  return rules === undefined || rules === "not run" ? [] : rules.unchanged.map(fieldErrorText);
}

function without(object: JsonObject, name: string): JsonObject {
  if (ownValue(object, name) === undefined) return object;
  const { [name]: _, ...rest } = object;
  return rest;
}

/** With a status of its own, each endpoint changes only its part of the object. */
function prepareUpdate(
  object: JsonObject,
  old: JsonObject,
  { endpoint, hasStatus }: { readonly endpoint: Endpoint; readonly hasStatus: boolean },
): JsonObject {
  if (!hasStatus) return object;
  const status = ownValue(endpoint === "status" ? object : old, "status");
  const base = endpoint === "status" ? { ...old, metadata: statusMetadata(object, old) } : object;
  return status === undefined ? without(base, "status") : { ...base, status };
}

/** A write of the status keeps the metadata, apart from managedFields. */
function statusMetadata(object: JsonObject, old: JsonObject): JsonValue {
  const [next, before] = [ownValue(object, "metadata"), ownValue(old, "metadata")];
  if (!isJsonObject(next) || !isJsonObject(before)) return before ?? {};
  const managedFields = ownValue(next, "managedFields");
  const resourceVersion = ownValue(next, "resourceVersion");
  return {
    ...without(before, "managedFields"),
    ...(managedFields !== undefined && { managedFields }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
}

function selectableValue(object: JsonObject, field: string, selectable: readonly string[]): string | undefined {
  if (!selectable.includes(`.${field}`)) return undefined;
  const find = jsonPath(`.${field}`);
  // The field is one of the schema, so the path has only names.
  const [value] = find === undefined ? [] : finish(find(object, 1));
  return value === undefined || value === null ? "" : String(value);
}

/**
 * A stored object as a version shows it; itself when nothing differs. It gets the defaults that have come since to the version it
 * was stored in, and none of another one: those are for what is sent in that version.
 */
function* shownAs(stored: JsonObject, { group, versions }: CustomKind, shown: CustomVersion): Work<JsonObject> {
  const name = String(ownValue(stored, "apiVersion")).slice(group.length + 1);
  // What was stored in a version that is gone reads as if it had been stored in this one.
  const { schema } = versions.get(name) ?? shown;
  const read = yield* readStored(stored, schema);
  if (schema === shown.schema) return withApiVersion(read, `${group}/${shown.name}`);
  return yield* cleaned(withApiVersion(read, `${group}/${shown.name}`), shown.schema);
}

function* readStored(stored: JsonObject, schema: JsonObject): Work<JsonObject> {
  const read = yield* cleaned(stored, schema);
  // It was stored before the schema had these defaults, and must stay readable.
  return applyDefaults(read, schema) ?? read;
}

function* cleaned(object: JsonObject, schema: JsonObject): Work<JsonObject> {
  const { object: pruned } = prune(object, schema);
  yield;
  const dropped = dropForbiddenNulls(pruned, schema);
  yield;
  const { object: coerced } = yield* coercingEmbedded(dropped, schema, { dropsInvalid: true });
  yield;
  return coerced;
}

function withApiVersion(object: JsonObject, apiVersion: string): JsonObject {
  return ownValue(object, "apiVersion") === apiVersion ? object : { ...object, apiVersion };
}

/** The types of the versions of a kind for field managers, made when the first field manager is. */
class Types {
  readonly #kind: CustomKind;
  #known: ReadonlyMap<string, ReturnType<typeof customResourceType>> | undefined;

  constructor(kind: CustomKind) {
    this.#kind = kind;
  }

  get byVersion(): ReadonlyMap<string, ReturnType<typeof customResourceType>> {
    const { group, versions } = this.#kind;
    this.#known ??= new Map(
      [...versions].map(([name, { schema }]) => [`${group}/${name}`, customResourceType(schema)]),
    );
    return this.#known;
  }
}

interface ManagerOptions {
  readonly endpoint: Endpoint;
  readonly now: () => Date;
  readonly types: Types;
  /** Default: another apiVersion on the same object. */
  readonly convert?: (object: JsonObject, apiVersion: string) => JsonObject;
}

function createManager(
  kind: CustomKind,
  version: CustomVersion,
  { endpoint, now, types: { byVersion: types }, convert = withApiVersion }: ManagerOptions,
): FieldManager {
  const apiVersionOf = (name: string): string => `${kind.group}/${name}`;
  const reset = endpoint === "status" ? [["metadata"], ["spec"]] : version.hasStatus ? [["status"]] : [];
  const names = endpoint === "status" ? resetOnStatus(version.schema) : reset;
  const set = fieldSetOfPaths(names);
  return createFieldManager({
    apiVersion: apiVersionOf(version.name),
    kind: kind.kind,
    versions: {
      typeAt: (apiVersion) => types.get(apiVersion),
      convert: (object, apiVersion) => {
        // As in the reference, where a manager that applied through a removed version keeps others from applying, until an update
        // forgets all owners: what works here has to work there.
        if (!types.has(apiVersion)) throw new Error(`request to convert CR to an invalid group/version: ${apiVersion}`);
        return convert(object, apiVersion);
      },
    },
    ...(endpoint !== "" && { subresource: endpoint }),
    ...(names.length > 0 && {
      resetFields: new Map([...kind.versions.keys()].map((name) => [apiVersionOf(name), set])),
    }),
    now,
  });
}

/** A write to the status cannot own anything else. */
function resetOnStatus(schema: JsonObject): string[][] {
  const properties = ownValue(schema, "properties");
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  return ["metadata", ...names.filter((name) => !["status", "apiVersion", "kind", "metadata"].includes(name))].map(
    (name) => [name],
  );
}
