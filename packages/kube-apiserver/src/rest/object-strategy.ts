// SPDX-License-Identifier: Apache-2.0

import type { FieldManager } from "@purlin/kube-objects/apply";
import type { FieldError } from "@purlin/kube-objects/errors";
import type { Fractions, JsonObject } from "@purlin/kube-objects/json";
import type { StrategicMergeSchema } from "@purlin/kube-objects/patch";
import type { Work } from "@purlin/kube-objects/turns";
import type { TablePrinter } from "../table/table.ts";

/** A body read as an object of a type. */
export interface DecodedObject {
  readonly object: JsonObject;
  /** Paths of fields the type does not have. They are not in the object. */
  readonly unknownFields: readonly string[];
}

/** What a kind's own rules look at again: whether the metadata may change so, and whether it is valid by itself. */
export interface MetaChecks {
  readonly ofChange: boolean;
  readonly ofWhole: boolean;
}

/** An object that is to be validated, and the one it is to replace. */
interface Validation {
  readonly object: JsonObject;
  readonly old: JsonObject | undefined;
  readonly endpoint: Endpoint;
}

/** The way to an object: its own, or that of one of its parts. */
export type Endpoint = "" | "status" | "finalize" | "scale";

/**
 * What is particular about the objects of one type in one version. Everything else about reading and writing is the same for all types.
 * All functions are pure; objects they are given may be frozen.
 */
export interface ObjectStrategy {
  /** Refuses a body whose kind and apiVersion, as far as it gives them, are those of no object of the type. */
  requireKind?(kind: string, apiVersion: string, value: JsonObject): void;
  /** Why an object that says to be of a kind cannot be one of the type; undefined: it can. */
  kindProblem?(kind: string, apiVersion: string, value: JsonObject): string | undefined;
  /**
   * Reads a body as an object of the type, with defaults. Throws 400 for a body that cannot be one. `fractions` are the numbers in it
   * that are not written as integers.
   */
  decode(value: JsonObject, fractions?: Fractions): DecodedObject;
  /** {@link ObjectStrategy.decode} in parts. */
  decoding?(value: JsonObject, fractions?: Fractions): Work<DecodedObject>;
  /** Validates a change in parts and remembers what it found, so that asking for errors and warnings afterwards costs nothing. */
  validating?(change: Validation): Work<unknown>;
  /** {@link ObjectStrategy.toServed} in parts; remembers the result. */
  serving?(stored: JsonObject): Work<unknown>;
  /** What was applied, as an object of the type with defaults; read like any other when there is no such way. */
  decodeApplied?(object: JsonObject): JsonObject;
  /** Sets what the server decides about a new object. */
  prepareCreate(object: JsonObject): JsonObject;
  /** Sets what the server decides about a changed object, which is to replace `old`. */
  prepareUpdate(object: JsonObject, old: JsonObject, endpoint: Endpoint): JsonObject;
  /** What is wrong with a new object, metadata aside: what is wrong with that is `known`. */
  validateCreate(object: JsonObject, known: readonly FieldError[]): readonly FieldError[];
  /** What is wrong with replacing `old` by the object, metadata aside: what is wrong with that is `known`. */
  validateUpdate(
    object: JsonObject,
    old: JsonObject,
    endpoint: Endpoint,
    known: readonly FieldError[],
  ): readonly FieldError[];
  /** Which checks of metadata the kind repeats for a change, after those of every kind. Default: those of the change. */
  metaChecks?(endpoint: Endpoint): MetaChecks;
  /** Warnings for whoever writes such an object in this way. */
  warnings(object: JsonObject, old: JsonObject | undefined, endpoint: Endpoint): readonly string[];
  /** Refuses to delete what must not be deleted. */
  requireDeletable?(object: JsonObject): void;
  /** Sets what else shows that an object is being deleted. */
  markDeleted?(object: JsonObject): JsonObject;
  /** Warnings for whoever asks for such objects in any way. */
  requestWarnings?(): readonly string[];
  /** An object of the type that says nothing, as the type writes it. */
  emptyObject?(): JsonObject;
  /** Whether something other than finalizers keeps an object that is being deleted. */
  blocksDeletion?(object: JsonObject): boolean;
  /** The value of a field that can be selected by; undefined: it cannot. */
  fieldValue(object: JsonObject, field: string): string | undefined;
  /** Whether fields that cannot be selected by are refused in the words for types with fields of their own. */
  readonly hasOwnFields: boolean;
  /** Why a field cannot be selected by, where the type has its own words for it; undefined: it has none. */
  fieldProblem?(field: string): string | undefined;
  /** A stored object as this version shows it; the same object when that is how it is stored. */
  toServed(stored: JsonObject): JsonObject;
  /** An object of this version as it is stored. */
  toStored(served: JsonObject): JsonObject;
  /** Whether every stored object is shown as it is stored, so that its bytes can be sent. */
  readonly servesStoredBytes: boolean;
  readonly printer: TablePrinter;
  fieldManager(endpoint: Endpoint): FieldManager;
  /** How lists of the type merge in a strategic merge patch; undefined: it takes none. */
  strategicMerge?(): StrategicMergeSchema;
}
