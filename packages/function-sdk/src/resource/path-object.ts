// SPDX-License-Identifier: Apache-2.0

import { isStruct, type JsonObject, type JsonValue, Struct } from "@purlin/function-protocol";
import { isFunctionError } from "../errors/function-error.ts";
import * as typed from "../field-path/path-value.ts";
import { deletePath, expandPath, findPath, readPath, writePath } from "../field-path/path-value.ts";

const brand = Symbol.for("purlin.dev/path-object");

/**
 * What `.object` of a wrapper around a message hands out: `shared` the frozen JSON of the message, `private` a copy that
 * may be edited.
 */
type ObjectAccess = "shared" | "private";

/**
 * A JSON object whose fields are reached by path. It wraps a plain object without copying it, or a Struct without
 * decoding it until it is read. Its setters never change a Struct or anything frozen: they copy what lies on the
 * path, so an edited observed object leaves the request as it came.
 */
export class PathObject {
  readonly #struct: Struct | undefined;
  readonly #access: ObjectAccess;
  #object: JsonObject | undefined;

  constructor(source: object | Struct = {}, access: ObjectAccess = "shared") {
    this.#access = access;
    if (isStruct(source)) this.#struct = source;
    // Any object may be wrapped; whether JSON can hold it is found out when it is encoded.
    else this.#object = source as JsonObject;
  }

  /** The object. Frozen when it was observed or required; a private copy when it is desired. */
  get object(): JsonObject {
    if (this.#object !== undefined) return this.#object;
    if (this.#access === "shared") return this.#readable();
    this.#object = this.#struct?.toMutable() ?? {};
    return this.#object;
  }

  /** A copy of the object that may be edited at will. */
  toMutable(): JsonObject {
    return this.toStruct().toMutable();
  }

  /** The object as a Struct: the received one if it was not edited. */
  toStruct(): Struct {
    return this.#object === undefined ? (this.#struct ?? Struct.from({})) : Struct.from(this.#object);
  }

  toJSON(): JsonObject {
    return this.#readable();
  }

  /** True when there is something at the path, be it null. */
  has(path: string): boolean {
    return findLeniently(this.#readable(), path) !== undefined;
  }

  /**
   * The value at a field path. All getters by path throw a FieldPathError: NOT_FOUND when there is nothing, unless a
   * fallback is given (undefined is one), WRONG_TYPE when there is something else.
   */
  getValue(path: string): JsonValue;
  getValue<F>(path: string, fallback: F): JsonValue | F;
  getValue<F>(path: string, ...fallback: [F?]): JsonValue | F {
    return this.#read(path, (value) => value, fallback);
  }

  /** The value at a path turned into a type of your own. */
  getValueInto<T>(path: string, decode: (value: JsonValue) => T): T {
    return decode(this.getValue(path));
  }

  getString(path: string): string;
  getString<F>(path: string, fallback: F): string | F;
  getString<F>(path: string, ...fallback: [F?]): string | F {
    return this.#read(path, typed.asString, fallback);
  }

  getStringArray(path: string): string[];
  getStringArray<F>(path: string, fallback: F): string[] | F;
  getStringArray<F>(path: string, ...fallback: [F?]): string[] | F {
    return this.#read(path, typed.asStringArray, fallback);
  }

  getStringObject(path: string): Record<string, string>;
  getStringObject<F>(path: string, fallback: F): Record<string, string> | F;
  getStringObject<F>(path: string, ...fallback: [F?]): Record<string, string> | F {
    return this.#read(path, typed.asStringObject, fallback);
  }

  getObject(path: string): JsonObject;
  getObject<F>(path: string, fallback: F): JsonObject | F;
  getObject<F>(path: string, ...fallback: [F?]): JsonObject | F {
    return this.#read(path, typed.asObject, fallback);
  }

  getArray(path: string): JsonValue[];
  getArray<F>(path: string, fallback: F): JsonValue[] | F;
  getArray<F>(path: string, ...fallback: [F?]): JsonValue[] | F {
    return this.#read(path, typed.asArray, fallback);
  }

  getBoolean(path: string): boolean;
  getBoolean<F>(path: string, fallback: F): boolean | F;
  getBoolean<F>(path: string, ...fallback: [F?]): boolean | F {
    return this.#read(path, typed.asBoolean, fallback);
  }

  getNumber(path: string): number;
  getNumber<F>(path: string, fallback: F): number | F;
  getNumber<F>(path: string, ...fallback: [F?]): number | F {
    return this.#read(path, typed.asNumber, fallback);
  }

  /** A whole number; 2.5 is WRONG_TYPE. */
  getInteger(path: string): number;
  getInteger<F>(path: string, fallback: F): number | F;
  getInteger<F>(path: string, ...fallback: [F?]): number | F {
    return this.#read(path, typed.asInteger, fallback);
  }

  /** A number cut to a whole one, as the Go SDK reads integers: 2.9 is 2, -2.9 is -2. */
  getIntegerTruncated(path: string): number;
  getIntegerTruncated<F>(path: string, fallback: F): number | F;
  getIntegerTruncated<F>(path: string, ...fallback: [F?]): number | F {
    return this.#read(path, typed.asTruncatedInteger, fallback);
  }

  /** Sets the value at a path, making what is missing on the way. Throws when something on the way is of another kind. */
  setValue(path: string, value: JsonValue | object): void {
    this.#object = writePath(this.#editable(), path, value as JsonValue);
  }

  /** Removes what is at a path; nothing there is no error. */
  deleteValue(path: string): void {
    if (this.has(path)) this.#object = deletePath(this.#editable(), path);
  }

  /** The paths a path with wildcards stands for: `spec.containers[*].image` is one for each container. */
  expand(path: string): string[] {
    return expandPath(this.#readable(), path);
  }

  #readable(): JsonObject {
    return this.#object ?? this.#struct?.value ?? {};
  }

  /** Edits of a private object go into the copy it hands out; edits of a shared one copy along the path. */
  #editable(): JsonObject {
    return this.#access === "private" ? this.object : this.#readable();
  }

  #read<T, F>(path: string, convert: typed.Reader<T>, fallback: readonly [F?]): T | F {
    if (fallback.length === 0) return convert(readPath(this.#readable(), path), path);
    const value = findPath(this.#readable(), path);
    return value === undefined ? (fallback[0] as F) : convert(value, path);
  }
}

/** As findPath, but what is of another kind on the way counts as nothing. */
export function findLeniently(root: JsonObject, path: string): JsonValue | undefined {
  try {
    return findPath(root, path);
  } catch (error) {
    if (isFunctionError(error, "NOT_OBJECT") || isFunctionError(error, "NOT_ARRAY")) return undefined;
    throw error;
  }
}

Object.defineProperty(PathObject.prototype, brand, { value: true });
// Prints as the object it holds in logs and failed assertions.
Object.defineProperty(PathObject.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: PathObject): JsonObject {
    return this.toJSON();
  },
});

/** Whether a value is a wrapper and not a plain object, also when two copies of this package are loaded. */
export function isPathObject(value: unknown): value is PathObject {
  return typeof value === "object" && value !== null && brand in value;
}
