// SPDX-License-Identifier: Apache-2.0
import { childPath, type FieldPath, indexPath } from "../field-path.ts";
import { parseApiVersion } from "../gvk.ts";
import type { Fractions } from "../json/json-reader.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue, setOwnValue } from "../json/own-value.ts";
import { sortedKeys } from "../json/utf8.ts";
import { type FieldType, messageFields, type ProtobufField } from "../protobuf/field-table.ts";
import { refuseMisfits } from "./decoding-problem.ts";
import { canonicalBase64 } from "./go-base64.ts";
import { specialForms } from "./special-forms.ts";
import { TypedFormError } from "./typed-error.ts";

/** An object of a built-in kind the way the reference server stores it, and the fields it did not know. */
export interface TypedForm {
  readonly object: JsonObject;
  /** Paths of fields the type does not have, in the order in which they came. */
  readonly unknown: readonly FieldPath[];
}

/** Whether the fields of a built-in kind are known. */
export function hasTypedForm(apiVersion: string, kind: string): boolean {
  return messageFields(typeName(apiVersion, kind)) !== undefined;
}

/**
 * Writes an object of a built-in kind as Go would after reading it: unknown fields gone, empty optional fields gone,
 * fields that are always written there, quantities and times in one form. Throws a TypedFormError, in the words of Go's
 * decoder, where a value does not fit its type, or is an integer written as one of the `fractions`.
 */
export function toTypedForm(object: JsonObject, fractions?: Fractions): TypedForm {
  const { apiVersion, kind, ...fields } = object as { readonly apiVersion: string; readonly kind: string } & JsonObject;
  if (fractions !== undefined) refuseMisfits(typeName(apiVersion, kind), fields, fractions);
  const { written, unknown } = write(typeName(apiVersion, kind), fields, "");
  return { object: { apiVersion, kind, ...written }, unknown };
}

function write(
  name: string,
  value: JsonValue,
  path: FieldPath,
): { readonly written: JsonObject; readonly unknown: readonly FieldPath[] } {
  const unknown: FieldPath[] = [];
  try {
    const written = new TypedWriter(unknown).message(name, value, path) as JsonObject;
    return { written, unknown: unknown.length < 2 ? unknown : [...inOrderOf(value, path, new Set(unknown))] };
  } catch (error) {
    // Found in the order of the type; Go reads in the order of the document.
    if (error instanceof TypedFormError) refuseMisfits(name, value);
    throw error;
  }
}

/** Fields in the order of the document: they are found in the order of the type. */
function* inOrderOf(value: JsonValue, path: FieldPath, wanted: ReadonlySet<FieldPath>): Generator<FieldPath> {
  if (isJsonArray(value)) {
    for (const [index, item] of value.entries()) yield* inOrderOf(item, indexPath(path, index), wanted);
    return;
  }
  for (const [key, member] of isJsonObject(value) ? Object.entries(value) : []) {
    const at = childPath(path, key);
    if (wanted.has(at)) yield at;
    else yield* inOrderOf(member, at, wanted);
  }
}

/**
 * The metadata of any object in typed form, and the fields it should not have. Throws a TypedFormError where a value does
 * not fit its type.
 */
export function toTypedMetadata(metadata: JsonValue): {
  readonly metadata: JsonObject;
  readonly unknown: readonly FieldPath[];
} {
  const { written, unknown } = write("meta.v1.ObjectMeta", metadata, "metadata");
  return { metadata: written, unknown };
}

/** The message of a kind, as the table of fields names it. */
export function typeName(apiVersion: string, kind: string): string {
  if (kind === "DeleteOptions") return "meta.v1.DeleteOptions";
  const { group, version } = parseApiVersion(apiVersion);
  return `${group === "" ? "core" : group.split(".", 1)[0]}.${version}.${kind}`;
}

/** Whole objects inside others: they may say what they are. */
const nestedObjects: ReadonlySet<string> = new Set(["core.v1.PersistentVolumeClaim"]);

class TypedWriter {
  readonly #unknown: FieldPath[];

  constructor(unknown: FieldPath[]) {
    this.#unknown = unknown;
  }

  message(name: string, value: JsonValue, path: FieldPath): JsonValue {
    const special = specialForms[name];
    if (special !== undefined) return special(value);
    const shaped = this.#schemaUnion(name, value, path);
    if (shaped !== undefined) return shaped;
    const given = value === null ? {} : value;
    if (!isJsonObject(given)) throw misfit();
    const written: Record<string, JsonValue> = {};
    const known = new Set(nestedObjects.has(name) && path !== "" ? this.#typeMeta(given, written) : []);
    for (const key of this.#fields(name, given, { path, written })) known.add(key);
    for (const key of Object.keys(given)) if (!known.has(key)) this.#unknown.push(childPath(path, key));
    return written;
  }

  #typeMeta(given: JsonObject, written: Record<string, JsonValue>): string[] {
    for (const name of ["apiVersion", "kind"]) {
      const value = ownValue(given, name);
      if (typeof value === "string" && value !== "") written[name] = value;
    }
    return ["apiVersion", "kind"];
  }

  /**
   * Schemas may be booleans, lists of schemas or lists of names in a few places. The reference reads these with a decoder that does not
   * mind fields it does not know, so CRDs that have some there are taken even by whoever is strict.
   */
  #schemaUnion(name: string, value: JsonValue, path: FieldPath): JsonValue | undefined {
    if (!name.startsWith("apiextensions.v1.JSONSchemaPropsOr")) return undefined;
    const isList = isJsonArray(value) && !name.endsWith("OrBool");
    if (typeof value === "boolean" || value === null) return value;
    const schema = "apiextensions.v1.JSONSchemaProps";
    const lenient = new TypedWriter([]);
    if (isJsonObject(value)) return lenient.message(schema, value, path);
    if (name.endsWith("OrBool")) throw misfit();
    if (!isList) return null;
    return value.map((item, index) => {
      if (isJsonObject(item)) return lenient.message(schema, item, indexPath(path, index));
      if (name.endsWith("OrArray") && item !== null) throw misfit();
      return item;
    });
  }

  /** Writes the fields of a message and of those inlined in it; gives the names it knows. */
  #fields(
    name: string,
    given: JsonObject,
    { path, written }: { readonly path: FieldPath; readonly written: Record<string, JsonValue> },
  ): Set<string> {
    const known = new Set<string>();
    for (const field of messageFields(name) ?? []) {
      if (field.inlined && field.type.kind === "message") {
        for (const key of this.#fields(field.type.name, given, { path, written })) known.add(key);
        continue;
      }
      known.add(field.name);
      const value = this.#field(field, ownValue(given, field.name) ?? undefined, childPath(path, field.name));
      if (value !== undefined) written[field.name] = value;
    }
    return known;
  }

  /** The value of a field as Go writes it, or undefined where Go leaves it out. */
  #field(field: ProtobufField, value: JsonValue | undefined, path: FieldPath): JsonValue | undefined {
    const { type } = field;
    if (value === undefined) return this.#absent(field, path);
    const written = this.#value(type, value, path);
    if (field.pointer) return written;
    if (type.kind === "message") return field.omitZero && isEmpty(written) ? undefined : written;
    if (!isEmpty(written)) return written;
    if (field.omitEmpty) return undefined;
    // The reference stores protobuf, which cannot tell an empty list or map from none.
    return type.kind === "scalar" ? written : null;
  }

  #absent({ type, pointer, omitEmpty, omitZero }: ProtobufField, path: FieldPath): JsonValue | undefined {
    if (type.kind === "message" && !pointer) return omitZero ? undefined : this.message(type.name, null, path);
    if (omitEmpty) return undefined;
    return pointer || type.kind === "list" || type.kind === "map" ? null : zeroOf(type);
  }

  #value(type: FieldType, value: JsonValue, path: FieldPath): JsonValue {
    switch (type.kind) {
      case "message":
        return this.message(type.name, value, path);
      case "list":
        if (!isJsonArray(value)) throw misfit();
        return value.map((item, index) => this.#item(type.of, item, indexPath(path, index)));
      case "map":
        return this.#map(type.of, value, path);
      case "scalar":
        return scalar(type.scalar, value);
    }
  }

  #item(type: FieldType, item: JsonValue, path: FieldPath): JsonValue {
    return item === null && type.kind === "scalar" ? zeroOf(type) : this.#value(type, item, path);
  }

  #map(of: FieldType, value: JsonValue, path: FieldPath): JsonValue {
    if (!isJsonObject(value)) throw misfit();
    const written: Record<string, JsonValue> = {};
    // Go writes maps in the order of their keys.
    for (const key of sortedKeys(value)) {
      setOwnValue(written, key, this.#item(of, ownValue(value, key) ?? null, childPath(path, key)));
    }
    return written;
  }
}

function scalar(name: string, value: JsonValue): JsonValue {
  switch (name) {
    case "string":
      if (typeof value !== "string") throw misfit();
      return value;
    case "bytes":
      if (typeof value !== "string") throw misfit();
      return canonicalBase64(value);
    case "bool":
      if (typeof value !== "boolean") throw misfit();
      return value;
    case "float64":
      if (typeof value !== "number" && typeof value !== "bigint") throw misfit();
      return value;
    default:
      return integer(value, name === "int32" ? 2 ** 31 : 2 ** 63);
  }
}

function integer(value: JsonValue, limit: number): JsonValue {
  if (typeof value !== "number" && typeof value !== "bigint") throw misfit();
  const whole = typeof value === "bigint" || Number.isInteger(value);
  if (!whole || value < -limit || value >= limit) throw misfit();
  return value;
}

/** What is wrong is found out by {@link refuseMisfits}. */
function misfit(): TypedFormError {
  return new TypedFormError("a value does not fit its type");
}

function zeroOf(type: FieldType): JsonValue {
  if (type.kind !== "scalar") return null;
  if (type.scalar === "string" || type.scalar === "bytes") return "";
  return type.scalar === "bool" ? false : 0;
}

function isEmpty(value: JsonValue): boolean {
  if (value === null || value === "" || value === 0 || value === false) return true;
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
