// SPDX-License-Identifier: Apache-2.0
// What Go's JSON decoder says about a value that does not fit its type: the first one in the order of the document. Types that decode
// themselves, such as times and quantities, end the decoding, so that their errors come before those of other values.

import type { Fractions } from "../json/json-reader.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonKind, ownValue } from "../json/json-value.ts";
import { type FieldType, messageFields } from "../protobuf/protobuf-fields.ts";
import { canonicalBase64, isByte, specialForms, TypedFormError } from "./special-forms.ts";

/**
 * Throws a TypedFormError for the first value in a message that does not fit; returns when all do. No integer is written as one of the
 * `fractions`, whatever its value.
 */
export function refuseMisfits(message: string, value: JsonValue, fractions?: Fractions): void {
  const misfits: Misfits = { first: undefined };
  checkMessage(message, value, { struct: "", fields: [], written: fractions, misfits });
  if (misfits.first !== undefined) throw misfits.first;
}

/** The first value that does not fit, of those that do not end the decoding. */
interface Misfits {
  first: TypedFormError | undefined;
}

/** Where the decoder is: the struct it fills, and the fields that led there. */
interface Place {
  readonly struct: string;
  readonly fields: readonly string[];
  /** How the value there was written, when it is a number that is not written as an integer; those below it, when it has members. */
  readonly written: Fractions | string | undefined;
  readonly misfits: Misfits;
}

const below = ({ written }: Place, step: string | number): Place["written"] =>
  written instanceof Map ? written.get(step) : undefined;

const schemaMessage = "apiextensions.v1.JSONSchemaProps";

function checkMessage(name: string, value: JsonValue, place: Place): void {
  if (value === null) return;
  if (specialForms[name] !== undefined) {
    checkSpecial(name, value, place);
    return;
  }
  if (name.startsWith(`${schemaMessage}Or`)) {
    checkSchemaUnion(name, value, place);
    return;
  }
  if (isJsonObject(value)) checkFields(name, value, place);
  else save(place, () => misfit(value, goName(name), place));
}

function checkFields(name: string, object: JsonObject, place: Place): void {
  const { fields, misfits } = place;
  const struct = name.split(".").at(-1) ?? "";
  const known = knownFields(name);
  const isNested = fields.length > 0 && nestedObjects.has(name);
  for (const key of Object.keys(object)) {
    const field = known.get(key) ?? (isNested && isTypeMember(key) ? typeMember : undefined);
    const value = ownValue(object, key) ?? null;
    if (field === undefined || value === null) continue;
    checkValue(field.type, value, {
      struct,
      fields: [...fields, ...field.through, key],
      written: below(place, key),
      misfits,
    });
  }
}

/** Whole objects inside others: they may say what they are, in fields that no table has. */
export const nestedObjects: ReadonlySet<string> = new Set(["core.v1.PersistentVolumeClaim", "meta.v1.DeleteOptions"]);
const isTypeMember = (key: string): boolean => key === "apiVersion" || key === "kind";
const typeMember: NamedField = { type: { kind: "scalar", scalar: "string" }, through: ["TypeMeta"] };

interface NamedField {
  readonly type: FieldType;
  /** The structs it is inlined through. */
  readonly through: readonly string[];
}

const fieldsOfMessages = new Map<string, ReadonlyMap<string, NamedField>>();

/** The fields of a message by name. They are collected once: a list may have any number of the same message. */
function knownFields(name: string): ReadonlyMap<string, NamedField> {
  const fields = fieldsOfMessages.get(name) ?? fieldsByName(name);
  fieldsOfMessages.set(name, fields);
  return fields;
}

/** The fields of a message by name, with those of the messages inlined in it. */
function fieldsByName(name: string, through: readonly string[] = []): Map<string, NamedField> {
  const found = new Map<string, NamedField>();
  for (const { name: field, type, inlined } of messageFields(name) ?? []) {
    if (!inlined || type.kind !== "message") {
      found.set(field, { type, through });
      continue;
    }
    const inner = fieldsByName(type.name, [...through, type.name.split(".").at(-1) ?? ""]);
    for (const [key, one] of inner) found.set(key, one);
  }
  return found;
}

function checkValue(type: FieldType, value: JsonValue, place: Place): void {
  switch (type.kind) {
    case "message":
      checkMessage(type.name, value, place);
      return;
    case "list":
      if (isJsonArray(value)) checkItems(type.of, value, place);
      else save(place, () => misfit(value, typeText(type), place));
      return;
    case "map":
      if (isJsonObject(value)) checkEntries(type.of, value, place);
      else save(place, () => misfit(value, typeText(type), place));
      return;
    case "scalar":
      checkScalar(type, value, place);
  }
}

function checkItems(type: FieldType, items: readonly JsonValue[], place: Place): void {
  for (const [index, value] of items.entries()) {
    if (value !== null) checkValue(type, value, memberPlace(place, index));
  }
}

function checkEntries(type: FieldType, object: JsonObject, place: Place): void {
  for (const key of Object.keys(object)) {
    const value = ownValue(object, key) ?? null;
    if (value !== null) checkValue(type, value, memberPlace(place, key));
  }
}

const memberPlace = (place: Place, step: string | number): Place =>
  place.written === undefined ? place : { ...place, written: below(place, step) };

/** Only the first is reported: a list of wrong values costs no error for each. */
function save({ misfits }: Place, error: () => TypedFormError): void {
  misfits.first ??= error();
}

/** A value that does not fit a plain type is skipped, and reported at the end. */
function checkScalar(type: FieldType & { readonly kind: "scalar" }, value: JsonValue, place: Place): void {
  if (place.misfits.first !== undefined) return;
  try {
    requireScalar(type, value, place);
  } catch (error) {
    if (!(error instanceof TypedFormError)) throw error;
    save(place, () => error);
  }
}

function requireScalar(type: FieldType & { readonly kind: "scalar" }, value: JsonValue, place: Place): void {
  switch (type.scalar) {
    case "string":
      if (typeof value !== "string") throw misfit(value, typeText(type), place);
      return;
    case "bytes":
      if (isJsonArray(value)) requireBytes(value, place);
      else if (typeof value !== "string") throw misfit(value, typeText(type), place);
      else canonicalBase64(value);
      return;
    case "bool":
      if (typeof value !== "boolean") throw misfit(value, typeText(type), place);
      return;
    case "float64":
      if (typeof value !== "number" && typeof value !== "bigint") throw misfit(value, typeText(type), place);
      return;
    default:
      checkInteger(type.scalar, value, place);
  }
}

/** Go reads a list of numbers as bytes, too. */
function requireBytes(numbers: readonly JsonValue[], place: Place): void {
  for (const [index, value] of numbers.entries()) {
    const written = below(place, index);
    if (value === null || (isByte(value) && typeof written !== "string")) continue;
    const isNumber = typeof value === "number" || typeof value === "bigint";
    const what = isNumber ? `number ${typeof written === "string" ? written : value}` : jsonKind(value);
    throw cannotUnmarshal(what, "uint8", place);
  }
}

function checkInteger(type: "int32" | "int64", value: JsonValue, place: Place): void {
  if (typeof value !== "number" && typeof value !== "bigint") throw misfit(value, type, place);
  const { written } = place;
  const whole = typeof value === "bigint" || (Number.isInteger(value) && typeof written !== "string");
  const limit = type === "int32" ? 2 ** 31 : 2 ** 63;
  if (whole && value >= -limit && value < limit) return;
  throw cannotUnmarshal(`number ${typeof written === "string" ? written : value}`, type, place);
}

const listOfTexts: FieldType = { kind: "list", of: { kind: "scalar", scalar: "string" }, goName: "v1.ExtraValue" };

function checkSpecial(name: string, value: JsonValue, place: Place): void {
  const isTime = name === "meta.v1.Time" || name === "meta.v1.MicroTime";
  if (isTime && typeof value !== "string") throw misfit(value, "string", place);
  if (name === "=list") {
    checkValue(listOfTexts, value, place);
    return;
  }
  if (name === "intstr.IntOrString" && typeof value !== "string") checkInteger("int32", value, place);
  specialForms[name]?.(value);
}

/** Schemas may be booleans, lists of schemas or lists of names in a few places. */
function checkSchemaUnion(name: string, value: JsonValue, place: Place): void {
  if (isJsonObject(value)) checkMessage(schemaMessage, value, place);
  if (name.endsWith("OrArray") && isJsonArray(value)) {
    for (const [index, item] of value.entries()) {
      checkMessage(schemaMessage, item, { ...place, written: below(place, index) });
    }
  }
  if (name.endsWith("OrBool") && !isJsonObject(value) && typeof value !== "boolean") {
    throw new TypedFormError("boolean or JSON schema expected");
  }
}

function misfit(value: JsonValue, type: string, place: Place): TypedFormError {
  return cannotUnmarshal(jsonKind(value), type, place);
}

function cannotUnmarshal(what: string, type: string, { struct, fields }: Place): TypedFormError {
  const into = fields.length === 0 ? "Go value" : `Go struct field ${struct}.${fields.join(".")}`;
  return new TypedFormError(`json: cannot unmarshal ${what} into ${into} of type ${type}`);
}

function goName(message: string): string {
  return message.split(".").slice(-2).join(".");
}

function typeText(type: FieldType): string {
  switch (type.kind) {
    case "message":
      return goName(type.name);
    case "scalar":
      return type.goName ?? (type.scalar === "bytes" ? "[]uint8" : type.scalar);
    case "list":
      return type.goName ?? `[]${typeText(type.of)}`;
    case "map":
      return type.goName ?? `map[string]${typeText(type.of)}`;
  }
}
