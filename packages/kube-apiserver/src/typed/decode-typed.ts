// SPDX-License-Identifier: Apache-2.0
import {
  type ProtobufFieldType as FieldType,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ProtobufField,
  setOwnValue,
} from "@purlin/kube-objects";
import { SPECIAL_VALUES } from "./special-values.ts";
import { goTypeText, mismatch, type TypedPlace, TypeMismatch } from "./type-mismatch.ts";
import { type TypedStruct, typedStruct } from "./typed-struct.ts";

/** An object as its Go type holds it. */
export interface TypedObject {
  readonly object: JsonObject;
  /** Paths of fields the type does not have, in the order they were met. They are not in the object. */
  readonly unknownFields: readonly string[];
}

/**
 * Reads an object into the Go type of its kind and writes it out again: fields in order, unknown ones left out, empty ones as the type
 * says, times in UTC. Throws a TypeMismatch, in Go's words, for a value that does not fit. apiVersion and kind are kept.
 */
export function decodeTyped(value: JsonValue, message: string): TypedObject {
  const struct = typedStruct(message);
  if (struct === undefined) {
    throw new Error(`no fields are known for ${message}`);
  }
  const reader = new TypedReader();
  const { apiVersion, kind, ...fields } = isJsonObject(value) ? value : {};
  if (!isJsonObject(value)) {
    throw mismatch(value, goTypeText({ kind: "message", name: message }), { struct: "", path: "" });
  }
  const object = reader.struct(struct, fields, "", "");
  const type = { ...(apiVersion === undefined ? {} : { apiVersion }), ...(kind === undefined ? {} : { kind }) };
  return { object: { ...type, ...object } as JsonObject, unknownFields: reader.unknownFields };
}

class TypedReader {
  readonly unknownFields: string[] = [];

  /** `path` tells fields apart for people, with indexes; `goPath` as Go does, without. */
  struct(struct: TypedStruct, value: JsonObject, path: string, goPath: string): JsonObject {
    this.#noteUnknown(struct, value, path);
    const result: Record<string, JsonValue> = {};
    for (const field of struct.fields) {
      const given = Object.hasOwn(value, field.name) ? (value[field.name] ?? null) : null;
      const inner = { path: join(path, field.name), goPath: join(goPath, field.name), struct: struct.name };
      const written = given === null ? this.#absent(field) : this.#present(field, given, inner);
      if (written !== undefined) {
        result[field.name] = written;
      }
    }
    return result;
  }

  #noteUnknown(struct: TypedStruct, value: JsonObject, path: string): void {
    for (const key of Object.keys(value)) {
      if (!struct.byName.has(key)) {
        this.unknownFields.push(join(path, key));
      }
    }
  }

  /** What Go writes for a field it did not get. */
  #absent(field: ProtobufField): JsonValue | undefined {
    const { type } = field;
    if (field.pointer || type.kind === "list" || type.kind === "map") {
      return field.omitEmpty ? undefined : null;
    }
    if (type.kind === "scalar") {
      return field.omitEmpty ? undefined : zeroOf(type.scalar);
    }
    const struct = typedStruct(type.name);
    if (Object.hasOwn(SPECIAL_VALUES, type.name) || struct === undefined) {
      return zeroSpecial(field, type.name);
    }
    const empty = this.struct(struct, {}, "", "");
    return field.omitZero && Object.keys(empty).length === 0 ? undefined : empty;
  }

  #present(field: ProtobufField, value: JsonValue, inner: Inner): JsonValue | undefined {
    const written = this.#value(field.type, value, inner);
    return !field.pointer && isLeftOut(field, written) ? undefined : written;
  }

  #value(type: FieldType, value: JsonValue, inner: Inner): JsonValue {
    switch (type.kind) {
      case "scalar":
        return scalar(type, value, placeOf(inner));
      case "list":
        return this.#list(type, value, inner);
      case "map":
        return this.#map(type, value, inner);
      case "message":
        return this.#message(type.name, value, inner);
    }
  }

  #message(name: string, value: JsonValue, inner: Inner): JsonValue {
    const special = Object.hasOwn(SPECIAL_VALUES, name) ? SPECIAL_VALUES[name] : undefined;
    if (special !== undefined) {
      return value === null
        ? null
        : special(value, placeOf(inner), (message, nested) => this.#message(message, nested, inner));
    }
    const struct = typedStruct(name);
    if (!isJsonObject(value) || struct === undefined) {
      if (value === null && struct !== undefined) {
        return this.struct(struct, {}, inner.path, inner.goPath);
      }
      throw mismatch(value, goTypeText({ kind: "message", name }), placeOf(inner));
    }
    return this.struct(struct, value, inner.path, inner.goPath);
  }

  #list(type: FieldType & { readonly kind: "list" }, value: JsonValue, inner: Inner): JsonValue {
    if (!Array.isArray(value)) {
      throw mismatch(value, goTypeText(type), placeOf(inner));
    }
    return value.map((item: JsonValue, index) => {
      const place = { ...inner, path: `${inner.path}[${index}]` };
      return item === null && type.of.kind === "scalar" ? zeroOf(type.of.scalar) : this.#value(type.of, item, place);
    });
  }

  #map(type: FieldType & { readonly kind: "map" }, value: JsonValue, inner: Inner): JsonValue {
    if (!isJsonObject(value)) {
      throw mismatch(value, goTypeText(type), placeOf(inner));
    }
    const result: Record<string, JsonValue> = {};
    for (const key of Object.keys(value)) {
      const item = value[key] ?? null;
      const place = { ...inner, path: `${inner.path}.${key}` };
      const read =
        item === null && type.of.kind === "scalar" ? zeroOf(type.of.scalar) : this.#value(type.of, item, place);
      setOwnValue(result, key, read);
    }
    return result;
  }
}

interface Inner {
  readonly path: string;
  readonly goPath: string;
  readonly struct: string;
}

type Scalar = FieldType & { readonly kind: "scalar" };

function scalar(type: Scalar, value: JsonValue, place: TypedPlace): JsonValue {
  switch (type.scalar) {
    case "string":
      return typeof value === "string" ? value : fail(type, value, place);
    case "bool":
      return typeof value === "boolean" ? value : fail(type, value, place);
    case "bytes":
      return typeof value === "string" ? base64(value) : fail(type, value, place);
    case "int32":
      return isInteger(value) && Math.abs(Number(value)) <= 2_147_483_648 ? value : fail(type, value, place);
    case "int64":
      return isInteger(value) ? value : fail(type, value, place);
    case "float64":
      return typeof value === "number" || typeof value === "bigint" ? value : fail(type, value, place);
  }
}

function fail(type: Scalar, value: JsonValue, place: TypedPlace): never {
  throw mismatch(value, goTypeText(type), place);
}

function isInteger(value: JsonValue): value is number | bigint {
  return typeof value === "bigint" || Number.isInteger(value);
}

function base64(text: string): string {
  const bytes = Buffer.from(text, "base64");
  const canonical = bytes.toString("base64");
  if (canonical !== text.replace(/[\r\n]/g, "")) {
    const at = [...canonical].findIndex((char, index) => char !== text[index]);
    throw mismatchBase64(at === -1 ? canonical.length : at);
  }
  return canonical;
}

const mismatchBase64 = (at: number): Error => new TypeMismatch(`illegal base64 data at input byte ${at}`);

function zeroOf(kind: Scalar["scalar"]): JsonValue {
  if (kind === "string" || kind === "bytes") {
    return "";
  }
  return kind === "bool" ? false : 0;
}

function zeroSpecial(field: ProtobufField, name: string): JsonValue | undefined {
  // They are structs to Go: omitempty does not leave them out.
  if (field.omitZero) {
    return undefined;
  }
  if (name === "resource.Quantity") {
    return "0";
  }
  return name === "intstr.IntOrString" ? 0 : null;
}

/** Go leaves out empty scalars, lists and maps that say omitempty, and structs only when they say omitzero. */
function isLeftOut({ type, omitEmpty, omitZero }: ProtobufField, value: JsonValue): boolean {
  if (type.kind === "message") {
    return omitZero && isEmptyObject(value);
  }
  return omitEmpty && (value === "" || value === 0 || value === false || isEmptyObject(value) || isEmptyArray(value));
}

const isEmptyArray = (value: JsonValue): boolean => Array.isArray(value) && value.length === 0;
const isEmptyObject = (value: JsonValue): boolean => isJsonObject(value) && Object.keys(value).length === 0;
const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
const placeOf = ({ struct, goPath }: Inner): TypedPlace => ({ struct, path: goPath });
