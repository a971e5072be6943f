// SPDX-License-Identifier: Apache-2.0

import type { AwaitingWork, Work } from "@purlin/base";
import type { ApplyType, FieldManager } from "@purlin/kube-objects/apply";
import type { FieldError } from "@purlin/kube-objects/errors";
import type { Fractions, JsonObject } from "@purlin/kube-objects/json";
import type { StrategicMergeSchema } from "@purlin/kube-objects/patch";
import type { User } from "../auth/user.ts";
import type { TablePrinter } from "../table/table.ts";

/** The path of a request to an object: the object itself, or one of its subresources. */
export type Endpoint = "" | "status" | "finalize" | "scale" | "approval" | "ephemeralcontainers" | "resize";

/**
 * How the objects of one type in one version differ from others; reading and writing are otherwise the same for all types. All functions
 * are pure; objects passed to them may be frozen.
 */
export interface ObjectStrategy {
  readonly decoder: ObjectDecoder;
  readonly validator: ObjectValidator;
  readonly storage: ObjectStorage;
  readonly view: ObjectView;
}

/** A body decoded as an object of a type. */
export interface DecodedObject {
  readonly object: JsonObject;
  /** Paths of fields that the type does not have. The object does not contain them. */
  readonly unknownFields: readonly string[];
}

/** Decodes request bodies. */
export interface ObjectDecoder {
  /** Throws 400 when the kind and apiVersion of a body, if set, are not those of the type. */
  requireKind?(body: TypedBody): void;
  /** Why an object of a kind cannot be one of the type; undefined when it can. */
  kindProblem?(body: TypedBody): string | undefined;
  /**
   * Decodes a body as an object of the type, with defaults. Throws 400 for an invalid body. `fractions` are its numbers that are not
   * written as integers.
   */
  decode(value: JsonObject, fractions?: Fractions): DecodedObject;
  /** {@link ObjectDecoder.decode} in parts. */
  decoding?(value: JsonObject, fractions?: Fractions): Work<DecodedObject>;
  /** Decodes an applied configuration, with defaults. Default: {@link ObjectDecoder.decode}. */
  decodeApplied?(object: JsonObject): JsonObject;
  /** An object without values, as the type writes it. */
  emptyObject?(): JsonObject;
  /** How lists of the type merge in a strategic merge patch; undefined when the type does not support it. */
  strategicMerge?(): StrategicMergeSchema;
}

/** A body with the kind and apiVersion that it states. */
export interface TypedBody {
  readonly kind: string;
  readonly apiVersion: string;
  readonly value: JsonObject;
}

/** Which checks of metadata the rules of a kind repeat: those of a change, and those of the whole metadata. */
export interface MetaChecks {
  readonly ofChange: boolean;
  readonly ofWhole: boolean;
}

/** A write to validate: an object, and the object that it replaces. */
export interface ObjectChange {
  readonly object: JsonObject;
  readonly old: JsonObject | undefined;
  readonly endpoint: Endpoint;
}

/** Validates writes. */
export interface ObjectValidator {
  /** Validates a change in parts and caches the findings for the calls below. */
  validating?(change: ObjectChange): Work<unknown>;
  /** Validates all but the metadata. `known` are the errors of the metadata. */
  validate(change: ObjectChange, known: readonly FieldError[]): readonly FieldError[];
  /** Which checks of metadata the kind repeats for a change, after those of every kind. Default: those of the change. */
  metaChecks?(endpoint: Endpoint): MetaChecks;
  /** Warnings for the client that makes the change. */
  warnings(change: ObjectChange): readonly string[];
  /** Warnings for every request for the type. */
  requestWarnings?(): readonly string[];
  /** Throws when the object must not be deleted. */
  requireDeletable?(object: JsonObject): void;
}

/** Prepares objects for the store, and shows stored objects. */
export interface ObjectStorage {
  /** Sets the members of a new object that the server decides. */
  prepareCreate(object: JsonObject, user?: User): JsonObject;
  /** Sets the members of a changed object that the server decides. */
  prepareUpdate(object: JsonObject, old: JsonObject, endpoint: Endpoint): JsonObject;
  /** Sets members that show that the object is being deleted, beyond the metadata. */
  markDeleted?(object: JsonObject): JsonObject;
  /** Whether something other than finalizers keeps an object that is being deleted. */
  blocksDeletion?(object: JsonObject): boolean;
  /** A stored object in this version; the same object when it is stored in this form. */
  toServed(stored: JsonObject): JsonObject;
  /** {@link ObjectStorage.toServed} in parts; caches the result. Waits only with a {@link ObjectStorage.conversion}. */
  serving?(stored: JsonObject): AwaitingWork<unknown>;
  /** An object of this version in its stored form. */
  toStored(served: JsonObject): JsonObject;
  /** Whether every object is served as it is stored, so that its bytes can be sent. */
  readonly servesStoredBytes: boolean;
  fieldManager(endpoint: Endpoint): FieldManager;
  /** How objects of this version are merged. */
  applyType(): ApplyType;
  /** Set when a webhook converts objects between versions: `toServed` and `toStored` then return what was converted before. */
  readonly conversion?: VersionConversion;
}

/** Conversion of the objects of a kind by a webhook. Every method throws 500 with the text of the reference when the webhook fails. */
export interface VersionConversion {
  /** Converts stored objects to this version, together, for `toServed`. Objects that were converted before are skipped. */
  servingAll(stored: readonly JsonObject[]): Promise<void>;
  /** Converts an object of this version to the stored version, for `toStored`. */
  storing(served: JsonObject): Promise<void>;
  /** An object of this version as it is served after it was stored. */
  stored(object: JsonObject): Promise<JsonObject>;
  /** An object of this version in another version. */
  convert(object: JsonObject, apiVersion: string): Promise<JsonObject>;
  /** Runs a field manager, which may need objects in the versions of other managers. `run` is repeated with the same input. */
  tracking<T>(endpoint: Endpoint, run: (manager: FieldManager) => Work<T>): AwaitingWork<T>;
}

/** Runs the field manager of an endpoint. */
export function tracking<T>(
  storage: ObjectStorage,
  endpoint: Endpoint,
  run: (manager: FieldManager) => Work<T>,
): AwaitingWork<T> {
  return storage.conversion?.tracking(endpoint, run) ?? run(storage.fieldManager(endpoint));
}

/** Prints objects in tables and selects them by fields. */
export interface ObjectView {
  readonly printer: TablePrinter;
  /** The value of a selectable field; undefined when the field is not selectable. */
  fieldValue(object: JsonObject, field: string): string | undefined;
  /** Whether the error about a field that is not selectable is that of types with selectable fields of their own. */
  readonly hasOwnFields: boolean;
  /** Why a field is not selectable, where the type has its own text for it. */
  fieldProblem?(field: string): string | undefined;
}
