// SPDX-License-Identifier: Apache-2.0

import { finish, isPartDone, sorting, type Work } from "@purlin/base";
import { childPath, type FieldPath, indexPath } from "../errors/field-error.ts";
import type { Fractions } from "../json/json-reader.ts";
import {
  compareUtf8,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setOwnValue,
} from "../json/json-value.ts";
import { parseApiVersion } from "../object/kube-object.ts";
import { type FieldType, messageFields, type ProtobufField, standingFields } from "../protobuf/protobuf-fields.ts";
import { nestedObjects, refuseMisfits } from "./decoding-problem.ts";
import { roundedToMilli } from "./quantity.ts";
import { canonicalBase64, isByte, specialForms, TypedFormError } from "./special-forms.ts";

/** An object of a built-in kind the way the reference server stores it, and the fields it did not know. */
interface TypedForm {
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
  return finish(typing(object, fractions));
}

/** {@link toTypedForm} in parts. */
export function* typing(object: JsonObject, fractions?: Fractions): Work<TypedForm> {
  const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string } & JsonObject;
  const name = typeName(apiVersion, kind);
  if (fractions !== undefined) refuseMisfits(name, object, fractions);
  yield;
  const { written, unknown } = yield* writing(name, object, "");
  return { object: { apiVersion, kind, ...written }, unknown };
}

interface Written {
  readonly written: JsonObject;
  readonly unknown: readonly FieldPath[];
}

function* writing(name: string, value: JsonValue, path: FieldPath): Work<Written> {
  const unknown: FieldPath[] = [];
  try {
    const written = (yield* new TypedWriter(unknown).root(name, value, path)) as JsonObject;
    yield;
    return { written, unknown: unknown.length < 2 ? unknown : yield* firstInOrder(value, path, unknown) };
  } catch (error) {
    // Found in the order of the type; Go reads in the order of the document.
    if (error instanceof TypedFormError) refuseMisfits(name, value);
    throw error;
  }
}

/** Fields are found in the order of the type. This many are put in the order of the document: no response names more. */
const mostInOrder = 100;

function* firstInOrder(value: JsonValue, path: FieldPath, unknown: readonly FieldPath[]): Work<readonly FieldPath[]> {
  const wanted = new Set(unknown);
  const first = new Set<FieldPath>();
  yield* findInOrder(value, path, { wanted, found: first, most: Math.min(mostInOrder, wanted.size) });
  return [...first, ...unknown.filter((field) => !first.has(field))];
}

interface Search {
  readonly wanted: ReadonlySet<FieldPath>;
  readonly found: Set<FieldPath>;
  readonly most: number;
}

function* findInOrder(value: JsonValue, path: FieldPath, search: Search): Work<void> {
  if (isJsonArray(value)) {
    for (const [index, item] of value.entries()) {
      if (search.found.size === search.most) return;
      if (isPartDone()) yield;
      if (typeof item === "object") yield* findInOrder(item, indexPath(path, index), search);
    }
    return;
  }
  if (!isJsonObject(value)) return;
  for (const key of Object.keys(value)) {
    if (search.found.size === search.most) return;
    if (isPartDone()) yield;
    const at = childPath(path, key);
    const member = value[key];
    if (search.wanted.has(at)) search.found.add(at);
    else if (typeof member === "object") yield* findInOrder(member, at, search);
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
  const { written, unknown } = finish(writing("meta.v1.ObjectMeta", metadata, "metadata"));
  return { metadata: written, unknown };
}

/** The message of a kind, as the table of fields names it. */
export function typeName(apiVersion: string, kind: string): string {
  if (kind === "DeleteOptions") return "meta.v1.DeleteOptions";
  const { group, version } = parseApiVersion(apiVersion);
  return `${group === "" ? "core" : group.split(".", 1)[0]}.${version}.${kind}`;
}

const schemaPrefix = "apiextensions.v1.JSONSchemaProps";
const unionPrefix = `${schemaPrefix}Or`;

const inParts = new Map<string, boolean>();

/** Whether a message is written in parts: it is a plain one or a schema, and has lists or maps, or messages that have. */
function isInParts(name: string): boolean {
  if (name.startsWith(schemaPrefix)) return true;
  const known = inParts.get(name);
  if (known !== undefined) return known;
  // A message that holds itself is not in parts for that alone.
  inParts.set(name, false);
  const isPlain = specialForms[name] === undefined;
  const found = isPlain && standingFields(name).inOrder.some(({ type }) => mayBeLarge(type));
  inParts.set(name, found);
  return found;
}

function mayBeLarge(type: FieldType): boolean {
  return type.kind === "message" ? isInParts(type.name) : type.kind !== "scalar";
}

/** Most schemas are leaves: they are written faster at once. */
function isLeaf(schema: JsonValue): boolean {
  if (!isJsonObject(schema)) return true;
  for (const key in schema) if (typeof schema[key] === "object") return false;
  return true;
}

/** What every object says it is. */
const typeFields: readonly string[] = ["apiVersion", "kind"];

/** The names that an object may have. */
interface KnownFields {
  readonly names: ReadonlySet<string>;
  /** Whether it may say what it is. */
  readonly hasType: boolean;
}

/** Whether Go does not write a field that is absent. */
function isLeftOut({ type, pointer, omitEmpty, omitZero }: ProtobufField): boolean {
  return type.kind === "message" && !pointer ? omitZero : omitEmpty;
}

class TypedWriter {
  readonly #unknown: FieldPath[];

  constructor(unknown: FieldPath[]) {
    this.#unknown = unknown;
  }

  /** {@link TypedWriter.message} in parts: its lists and maps, and those of its members, may be large. */
  *root(name: string, value: JsonValue, path: FieldPath): Work<JsonValue> {
    if (specialForms[name] !== undefined) return this.message(name, value, path);
    if (name.startsWith(unionPrefix)) return yield* this.#schemaUnion(name, value, path);
    const given = value === null ? {} : value;
    if (!isJsonObject(given)) throw misfit();
    const written: Record<string, JsonValue> = {};
    const isNested = nestedObjects.has(name) && path !== "";
    if (isNested) this.#typeMeta(given, written);
    const { inOrder, names } = standingFields(name);
    for (const field of inOrder) {
      const value = ownValue(given, field.name) ?? undefined;
      if (value === undefined && isLeftOut(field)) continue;
      const at = childPath(path, field.name);
      const large = value === undefined ? undefined : this.#largeValue(field.type, value, at);
      const member = large === undefined ? this.#field(field, value, at) : settled(field, yield* large);
      if (member !== undefined) written[field.name] = member;
      if (isPartDone()) yield;
    }
    this.#noteUnknown(given, { names, hasType: isNested || path === "" }, path);
    return written;
  }

  /** A value that may be large, written in parts; undefined for others. */
  #largeValue(type: FieldType, value: JsonValue, path: FieldPath): Work<JsonValue> | undefined {
    if (type.kind === "map") return this.#mapping(type.of, value, path);
    if (type.kind === "list") return this.#listing(type.of, value, path);
    if (type.kind !== "message" || !isInParts(type.name)) return undefined;
    return type.name === schemaPrefix && isLeaf(value) ? undefined : this.root(type.name, value, path);
  }

  message(name: string, value: JsonValue, path: FieldPath): JsonValue {
    const special = specialForms[name];
    if (special !== undefined) return special(value);
    if (name.startsWith(unionPrefix)) return finish(this.#schemaUnion(name, value, path));
    const given = value === null ? {} : value;
    if (!isJsonObject(given)) throw misfit();
    const written: Record<string, JsonValue> = {};
    const hasType = nestedObjects.has(name) && path !== "";
    if (hasType) this.#typeMeta(given, written);
    const { inOrder, names } = standingFields(name);
    for (const field of inOrder) {
      const member = ownValue(given, field.name) ?? undefined;
      // Most fields of most types are absent: their paths are not made.
      if (member === undefined && isLeftOut(field)) continue;
      const form = this.#field(field, member, childPath(path, field.name));
      if (form !== undefined) written[field.name] = form;
    }
    this.#noteUnknown(given, { names, hasType }, path);
    return written;
  }

  #noteUnknown(given: JsonObject, known: KnownFields, path: FieldPath): void {
    for (const key of Object.keys(given)) {
      const isKnown = known.names.has(key) || (known.hasType && typeFields.includes(key));
      if (!isKnown) this.#unknown.push(childPath(path, key));
    }
  }

  #typeMeta(given: JsonObject, written: Record<string, JsonValue>): void {
    for (const name of typeFields) {
      const value = ownValue(given, name) ?? "";
      if (typeof value !== "string") throw misfit();
      if (value !== "") written[name] = value;
    }
  }

  /**
   * Schemas may be booleans, lists of schemas or lists of names in a few places. The reference reads these with a decoder that does not
   * check unknown fields there, so CRDs that have some are accepted even with strict validation.
   */
  *#schemaUnion(name: string, value: JsonValue, path: FieldPath): Work<JsonValue> {
    if (typeof value === "boolean" || value === null) return value;
    const lenient = new TypedWriter([]);
    if (isJsonObject(value)) return yield* lenient.root(schemaPrefix, value, path);
    if (name.endsWith("OrBool")) throw misfit();
    if (!isJsonArray(value)) return null;
    const written: JsonValue[] = [];
    for (const [index, item] of value.entries()) {
      const isSchema = isJsonObject(item);
      if (!isSchema && name.endsWith("OrArray") && item !== null) throw misfit();
      written.push(isSchema ? yield* lenient.root(schemaPrefix, item, indexPath(path, index)) : item);
      if (isPartDone()) yield;
    }
    return written;
  }

  /** The value of a field as Go writes it, or undefined where Go leaves it out. */
  #field(field: ProtobufField, value: JsonValue | undefined, path: FieldPath): JsonValue | undefined {
    return value === undefined ? this.#absent(field, path) : settled(field, this.#value(field.type, value, path));
  }

  #absent(field: ProtobufField, path: FieldPath): JsonValue | undefined {
    if (isLeftOut(field)) return undefined;
    const { type, pointer } = field;
    if (type.kind === "message" && !pointer) return this.message(type.name, null, path);
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
        return finish(this.#mapping(type.of, value, path));
      case "scalar":
        return scalar(type.scalar, value);
    }
  }

  #item(type: FieldType, item: JsonValue, path: FieldPath): JsonValue {
    return item === null && type.kind === "scalar" ? zeroOf(type) : this.#value(type, item, path);
  }

  *#listing(of: FieldType, value: JsonValue, path: FieldPath): Work<JsonValue> {
    if (!isJsonArray(value)) throw misfit();
    const written: JsonValue[] = [];
    for (const [index, item] of value.entries()) {
      const at = indexPath(path, index);
      const large = item === null ? undefined : this.#largeValue(of, item, at);
      written.push(large === undefined ? this.#item(of, item, at) : yield* large);
      if (isPartDone()) yield;
    }
    return written;
  }

  *#mapping(of: FieldType, value: JsonValue, path: FieldPath): Work<JsonValue> {
    if (!isJsonObject(value)) throw misfit();
    // Go writes maps in the order of their keys.
    const keys = yield* sorting(Object.keys(value), compareUtf8);
    if (keys.length === 0) return noMembers;
    const written: Record<string, JsonValue> = {};
    const isAmounts = of.kind === "message" && of.name === "resource.Quantity" && !exactAmounts.test(path);
    for (const key of keys) {
      const [given, at] = [value[key] ?? null, childPath(path, key)];
      const large = given === null ? undefined : this.#largeValue(of, given, at);
      const item = large === undefined ? this.#item(of, given, at) : yield* large;
      setOwnValue(written, key, isAmounts ? roundedToMilli(String(item)) : item);
      if (isPartDone()) yield;
    }
    return written;
  }
}

/** Amounts of resources that are not rounded: the overhead of RuntimeClasses, and what claims ask of devices. */
const exactAmounts = /^(overhead\.podFixed|spec(\.spec)?\.devices\b.*)$/;

/** A map without members. */
const noMembers: JsonObject = Object.freeze({});

/** A value as Go writes it in a field, or undefined where Go leaves it out. */
function settled({ type, pointer, omitEmpty, omitZero }: ProtobufField, written: JsonValue): JsonValue | undefined {
  if (pointer) return written;
  if (type.kind === "message") return omitZero && isEmpty(written) ? undefined : written;
  // To look whether an object with very many members has one takes long.
  if (type.kind === "map" ? written !== noMembers : !isEmpty(written)) return written;
  if (omitEmpty) return undefined;
  // The reference stores protobuf, which does not distinguish an empty list or map from a missing one.
  return type.kind === "scalar" ? written : null;
}

function scalar(name: string, value: JsonValue): JsonValue {
  switch (name) {
    case "string":
      if (typeof value !== "string") throw misfit();
      return value;
    case "bytes":
      if (isJsonArray(value)) return base64OfNumbers(value);
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

/** Go reads a list of numbers as bytes, too. */
function base64OfNumbers(numbers: readonly JsonValue[]): string {
  const bytes = numbers.map((one) => one ?? 0);
  if (!bytes.every(isByte)) throw misfit();
  return Buffer.from(bytes).toString("base64");
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
