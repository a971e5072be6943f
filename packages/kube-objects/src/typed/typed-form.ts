// SPDX-License-Identifier: Apache-2.0
import { childPath, type FieldPath, indexPath } from "../field-path.ts";
import { parseApiVersion } from "../gvk.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue, setOwnValue } from "../json/own-value.ts";
import { type FieldType, messageFields, type ProtobufField } from "../protobuf/field-table.ts";
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
 * decoder, where a value does not fit its type.
 */
export function toTypedForm(object: JsonObject): TypedForm {
  const { apiVersion, kind, ...fields } = object as { readonly apiVersion: string; readonly kind: string } & JsonObject;
  const unknown: FieldPath[] = [];
  const writer = new TypedWriter(unknown);
  const written = writer.message(typeName(apiVersion, kind), fields, "");
  return { object: { apiVersion, kind, ...(written as JsonObject) }, unknown };
}

/**
 * The metadata of any object in typed form, and the fields it should not have. Throws a TypedFormError where a value does
 * not fit its type.
 */
export function toTypedMetadata(metadata: JsonValue): {
  readonly metadata: JsonObject;
  readonly unknown: readonly FieldPath[];
} {
  const unknown: FieldPath[] = [];
  const written = new TypedWriter(unknown).message("meta.v1.ObjectMeta", metadata, "metadata");
  return { metadata: written as JsonObject, unknown };
}

function typeName(apiVersion: string, kind: string): string {
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
    if (!isJsonObject(given)) throw mismatch(given, path, goName(name));
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

  /** Schemas may be booleans, lists of schemas or lists of names in a few places. */
  #schemaUnion(name: string, value: JsonValue, path: FieldPath): JsonValue | undefined {
    if (!name.startsWith("apiextensions.v1.JSONSchemaPropsOr")) return undefined;
    if (typeof value === "boolean") return value;
    const schema = "apiextensions.v1.JSONSchemaProps";
    if (!isJsonArray(value)) return this.message(schema, value, path);
    return value.map((item, index) => (isJsonObject(item) ? this.message(schema, item, indexPath(path, index)) : item));
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
        if (!isJsonArray(value)) throw mismatch(value, path, `[]${goTypeName(type.of)}`);
        return value.map((item, index) => this.#item(type.of, item, indexPath(path, index)));
      case "map":
        return this.#map(type.of, value, path);
      case "scalar":
        return scalar(type.scalar, value, path);
    }
  }

  #item(type: FieldType, item: JsonValue, path: FieldPath): JsonValue {
    return item === null && type.kind === "scalar" ? zeroOf(type) : this.#value(type, item, path);
  }

  #map(of: FieldType, value: JsonValue, path: FieldPath): JsonValue {
    if (!isJsonObject(value)) throw mismatch(value, path, `map[string]${goTypeName(of)}`);
    const written: Record<string, JsonValue> = {};
    for (const [key, member] of Object.entries(value)) setOwnValue(written, key, this.#item(of, member, path));
    return written;
  }
}

function scalar(name: string, value: JsonValue, path: FieldPath): JsonValue {
  switch (name) {
    case "string":
    case "bytes":
      if (typeof value !== "string") throw mismatch(value, path, name === "bytes" ? "[]uint8" : "string");
      return value;
    case "bool":
      if (typeof value !== "boolean") throw mismatch(value, path, "bool");
      return value;
    case "float64":
      if (typeof value !== "number" && typeof value !== "bigint") throw mismatch(value, path, "float64");
      return value;
    default:
      return integer(value, path, name as "int32" | "int64");
  }
}

function integer(value: JsonValue, path: FieldPath, type: "int32" | "int64"): JsonValue {
  if (typeof value !== "number" && typeof value !== "bigint") throw mismatch(value, path, type);
  const whole = typeof value === "bigint" || Number.isInteger(value);
  const limit = type === "int32" ? 2 ** 31 : 2 ** 63;
  if (!whole || value < -limit || value >= limit) {
    throw new TypedFormError(
      `json: cannot unmarshal number ${value} into Go struct field ${structField(path)} of type ${type}`,
    );
  }
  return value;
}

function mismatch(value: JsonValue, path: FieldPath, type: string): TypedFormError {
  return new TypedFormError(
    `json: cannot unmarshal ${jsonKind(value)} into Go struct field ${structField(path)} of type ${type}`,
  );
}

function jsonKind(value: JsonValue): string {
  if (isJsonArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** Go names the struct too; without its name the path alone still says where. */
function structField(path: FieldPath): string {
  return path.replaceAll(/\[\d+\]/g, "");
}

function goName(message: string): string {
  return message.split(".").slice(-2).join(".");
}

function goTypeName(type: FieldType): string {
  if (type.kind === "message") return goName(type.name);
  if (type.kind === "scalar") return type.scalar === "bytes" ? "[]uint8" : type.scalar;
  return type.kind;
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
