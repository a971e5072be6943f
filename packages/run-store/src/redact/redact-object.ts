// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { isPartDone, type Work } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, Struct, setOwn } from "@purlin/function-protocol";
import type { SecretCollector } from "./scrubber.ts";
import type { Mark, SensitiveFields } from "./sensitive-fields.ts";

const secretMembers: ReadonlySet<string> = new Set(["data", "stringData"]);
/** A manifest of a Secret as text, in YAML or JSON. */
const secretText = /["']?kind["']?\s*:\s*["']?Secret\b/;

/** The rules for one object. */
interface ObjectRules {
  readonly scrubber: SecretCollector;
  /** Fields that a schema declares sensitive. Their values are searched for elsewhere, too. */
  readonly sensitive?: SensitiveFields | undefined;
  /** Fields that the operator named. */
  readonly named?: SensitiveFields | undefined;
  /** A composite resource may have the shape of a Secret without being one. */
  readonly isComposite?: boolean | undefined;
}

/** Larger objects are not decoded, which would hold the event loop: one that may hold a secret is omitted. */
export const maxDecodedBytes: number = 2 * 2 ** 20;

const omittedMember = "\u0000omitted";

/** Stands in the place of an object that is not kept: its size, and a mark that changes with it. */
export function omittedStruct(struct: Struct, mark: Mark): Struct {
  return Struct.from({ [omittedMember]: struct.bytes.length, mark: mark(struct.bytes) });
}

/** The size of an object that was not kept; undefined for any other object. */
export function omittedBytes(value: JsonObject): number | undefined {
  const bytes = value[omittedMember];
  return typeof bytes === "number" ? bytes : undefined;
}

/**
 * An object without secret values, in parts. Returns the object itself when it has none; most are not even decoded. Undefined when the
 * object is too large to decode.
 */
export function* redactStruct(struct: Struct, rules: ObjectRules): Work<Struct | undefined> {
  const { sensitive, named, isComposite = false } = rules;
  const bytes = Buffer.from(struct.bytes.buffer, struct.bytes.byteOffset, struct.bytes.byteLength);
  if (!mayHoldSecret(bytes.toString("latin1"), isComposite) && sensitive === undefined && named === undefined)
    return struct;
  if (bytes.length > maxDecodedBytes) return undefined;
  const value = struct.toMutable();
  yield;
  const clean = yield* redactObject(value, rules);
  if (clean === value) return struct;
  yield;
  return Struct.from(clean);
}

/** A member with the name of a Secret's data, and not the metadata that every object has. */
const dataMember = /(?<!meta)data|stringData/;

/** Whether encoded bytes may hold a secret: a Secret has data, or is part of a text. A reference to one has neither. */
function mayHoldSecret(text: string, isComposite: boolean): boolean {
  if (text.includes("last-applied")) return true;
  const namesSecret = text.includes("Secret");
  if (!namesSecret && !isComposite) return false;
  return dataMember.test(text) || (namesSecret && secretText.test(text));
}

/** As {@link redactStruct}, for a decoded object. */
function* redactObject(object: JsonObject, rules: ObjectRules): Work<JsonObject> {
  const { scrubber, sensitive, named, isComposite = false } = rules;
  let clean = (yield* redactValue(object, scrubber)) as JsonObject;
  if (isComposite && isSecretShaped(clean)) clean = yield* withoutData(clean, scrubber);
  if (sensitive !== undefined) clean = (yield* hideFields(clean, sensitive, scrubber)) as JsonObject;
  if (named !== undefined) clean = (yield* hideFields(clean, named, markOnly(scrubber))) as JsonObject;
  return clean;
}

function isSecretShaped(object: JsonObject): boolean {
  return [...secretMembers].some((member) => isJsonObject(object[member] ?? null));
}

type Marker = Pick<SecretCollector, "add">;

function markOnly(scrubber: SecretCollector): Marker {
  return { add: (value) => scrubber.mark(value) };
}

/** Secrets are found wherever they are, also inside the manifest of another object. Returns the value itself when clean. */
function* redactValue(value: JsonValue, scrubber: SecretCollector): Work<JsonValue> {
  if (typeof value !== "object" || value === null) return redactScalar(value, scrubber);
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      if (isPartDone()) yield;
      items.push(typeof item === "object" ? yield* redactValue(item, scrubber) : redactScalar(item, scrubber));
    }
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const isSecret = value["kind"] === "Secret" && value["apiVersion"] === "v1";
  return yield* redactMembers(isSecret ? yield* withoutData(value, scrubber) : value, scrubber);
}

function redactScalar(value: JsonValue, scrubber: SecretCollector): JsonValue {
  return typeof value === "string" && secretText.test(value) ? scrubber.add(Buffer.from(value)) : value;
}

function* redactMembers(object: JsonObject, scrubber: SecretCollector): Work<JsonObject> {
  const clean: JsonObject = {};
  let isChanged = false;
  for (const [key, member] of Object.entries(object)) {
    if (isPartDone()) yield;
    const value =
      typeof member === "object" ? yield* redactMember(key, member, scrubber) : redactScalar(member, scrubber);
    isChanged ||= value !== member;
    setOwn(clean, key, value);
  }
  return isChanged ? clean : object;
}

function redactMember(key: string, member: JsonValue, scrubber: SecretCollector): Work<JsonValue> {
  const isAnnotations = key === "annotations" && isJsonObject(member);
  return isAnnotations ? redactAnnotations(member, scrubber) : redactValue(member, scrubber);
}

/** kubectl and others keep a copy of the whole object, data included, in an annotation. */
function* redactAnnotations(annotations: JsonObject, scrubber: SecretCollector): Work<JsonValue> {
  const isCopy = (name: string): boolean => name.includes("last-applied");
  if (!Object.keys(annotations).some(isCopy)) return yield* redactMembers(annotations, scrubber);
  const clean: JsonObject = {};
  for (const [name, value] of Object.entries(annotations)) {
    if (isPartDone()) yield;
    const bytes = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
    setOwn(clean, name, isCopy(name) ? scrubber.mark(bytes) : yield* redactValue(value, scrubber));
  }
  return clean;
}

function* withoutData(object: JsonObject, scrubber: SecretCollector): Work<JsonObject> {
  const clean: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    if (isPartDone()) yield;
    if (!secretMembers.has(key)) setOwn(clean, key, value);
    else setOwn(clean, key, yield* hideData(value, scrubber, key === "data" ? "base64" : "utf8"));
  }
  return clean;
}

/** Data that is not an object, which no API server stores, is hidden as a whole. */
function* hideData(value: JsonValue, scrubber: SecretCollector, encoding: "base64" | "utf8"): Work<JsonValue> {
  if (Array.isArray(value)) return scrubber.add(Buffer.from(JSON.stringify(value)));
  return yield* hideAll(value, scrubber, encoding);
}

function* hideFields(value: JsonValue, fields: SensitiveFields, marker: Marker): Work<JsonValue> {
  if (fields === true) return yield* hideAll(value, marker, "utf8");
  if (Array.isArray(value)) {
    const every = fields["*"];
    if (every === undefined) return value;
    const items: JsonValue[] = [];
    for (const item of value) items.push(yield* hideFields(item, every, marker));
    return items;
  }
  if (!isJsonObject(value)) return value;
  const clean: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (isPartDone()) yield;
    const inner = Object.hasOwn(fields, key) ? fields[key] : fields["*"];
    setOwn(clean, key, inner === undefined ? member : yield* hideFields(member, inner, marker));
  }
  return clean;
}

/** Hides every scalar; keys stay. Null says that there is no value. */
function* hideAll(value: JsonValue, marker: Marker, encoding: "base64" | "utf8"): Work<JsonValue> {
  if (isPartDone()) yield;
  if (value === null) return null;
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value) items.push(yield* hideAll(item, marker, encoding));
    return items;
  }
  if (!isJsonObject(value)) return marker.add(bytesOf(String(value), encoding));
  const hidden: JsonObject = {};
  for (const [key, member] of Object.entries(value)) setOwn(hidden, key, yield* hideAll(member, marker, encoding));
  return hidden;
}

/** The value itself, so that it has one mark in `data`, in `stringData` and in connection details. */
function bytesOf(text: string, encoding: "base64" | "utf8"): Buffer {
  if (encoding === "utf8") return Buffer.from(text);
  const decoded = Buffer.from(text, "base64");
  return decoded.toString("base64").replace(/(?<!=)=+$/, "") === text.replace(/(?<!=)=+$/, "")
    ? decoded
    : Buffer.from(text);
}
