// SPDX-License-Identifier: Apache-2.0
// What is wrong with a value that has not the shape its type asks for. Apply refuses it: an undeclared field could not be
// owned. Values are fine nearly always, so the question alone is asked first, in typed-check.ts.
import { goTypeName } from "../json/go-value.ts";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { sortedKeys } from "../json/utf8.ts";
import { type ApplyType, formOf, type ListType, type MapType, type ScalarKind } from "./apply-type.ts";
import { boxedSyntax, boxedText } from "./go-value-text.ts";
import { printItem } from "./item-key.ts";
import { itemName, itemProblem } from "./list-item.ts";

/** Options of {@link typeProblem}. */
interface TypeProblemOptions {
  /** Stored objects may hold duplicates from before a list became a map; applied ones may not. */
  readonly allowDuplicates: boolean;
}

/** What keeps a value from being of a type, in the reference's words; undefined when nothing does. */
export function typeProblem(type: ApplyType, value: JsonValue, options: TypeProblemOptions): string | undefined {
  if (isOfType(type, value, options.allowDuplicates)) return undefined;
  const walk: Walk = { ...options, errors: [] };
  validate(walk, type, value, "");
  const { errors } = walk;
  return errors.length === 1 ? errors[0] : ["errors:", ...errors.map((error) => `  ${error}`)].join("\n");
}

interface Walk extends TypeProblemOptions {
  readonly errors: string[];
}

function report(walk: Walk, path: string, message: string): void {
  walk.errors.push(path === "" ? message : `${path}: ${message}`);
}

/** Most errors that are reported; nothing is looked at after that. */
const mostErrors = 100;

function validate(walk: Walk, type: ApplyType, value: JsonValue, path: string): void {
  if (walk.errors.length >= mostErrors) return;
  switch (formOf(type, value)) {
    case "map":
      if (type.map) validateMap(walk, type.map, value, path);
      return;
    case "list":
      if (type.list) validateList(walk, type.list, value, path);
      return;
    case "scalar":
      validateScalar(walk, type.scalar ?? "untyped", value, path);
      return;
    default:
      report(walk, path, "schema error: invalid atom: inlined");
  }
}

function validateScalar(walk: Walk, kind: ScalarKind, value: JsonValue, path: string): void {
  if (value === null) return;
  const form = typeof value;
  const isNumber = form === "number" || form === "bigint";
  switch (kind) {
    case "numeric":
      if (!isNumber) report(walk, path, `expected numeric (int or float), got ${goTypeName(value)}`);
      return;
    case "string":
      if (form !== "string") report(walk, path, `expected string, got ${boxedSyntax(value)}`);
      return;
    case "boolean":
      if (form !== "boolean") report(walk, path, `expected boolean, got ${boxedText(value)}`);
      return;
    case "untyped":
      if (form === "object") report(walk, path, `expected any scalar, got ${boxedText(value)}`);
  }
}

function validateMap(walk: Walk, map: MapType, value: JsonValue, path: string): void {
  if (value === null) return;
  if (!isJsonObject(value)) {
    report(walk, path, `expected map, got ${boxedText(value)}`);
    return;
  }
  // The reference visits keys in random order; ours is by name, so that a message does not change between two tries.
  for (const key of sortedKeys(value)) if (!validateKey(walk, map, value, { key, path })) return;
}

function validateKey(walk: Walk, map: MapType, value: JsonObject, at: { key: string; path: string }): boolean {
  const type = map.field(at.key)?.type ?? map.element;
  const path = `${at.path}.${at.key}`;
  if (!type) {
    // The rest of this map goes unchecked, as in the reference.
    report(walk, path, "field not declared in schema");
    return false;
  }
  validate(walk, type, ownValue(value, at.key) ?? null, path);
  return true;
}

function validateList(walk: Walk, list: ListType, value: JsonValue, path: string): void {
  if (value === null) return;
  if (!Array.isArray(value)) report(walk, path, `expected list, got ${boxedText(value)}`);
  else if (list.atomic) validateAtomicItems(walk, list, value, path);
  else validateNamedItems(walk, list, value, path);
}

function validateAtomicItems(walk: Walk, list: ListType, items: JsonArray, path: string): void {
  for (const [index, item] of items.entries()) validate(walk, list.item, item, `${path}[${index}]`);
}

function validateNamedItems(walk: Walk, list: ListType, items: JsonArray, path: string): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const name = itemName(list, item);
    if (name === undefined) {
      report(walk, path, `element ${index}: ${itemProblem(list, item)}`);
      return;
    }
    if (seen.has(name) && !walk.allowDuplicates) {
      report(walk, path, `duplicate entries for key ${printItem(name)}`);
    }
    seen.add(name);
    validate(walk, list.item, item, path + printItem(name));
  }
}

/** Whether a value has the shape its type asks for. Says nothing about what is wrong, and costs little. */
function isOfType(type: ApplyType, value: JsonValue, allowDuplicates: boolean): boolean {
  switch (formOf(type, value)) {
    case "map":
      return type.map !== undefined && isMap(type.map, value, allowDuplicates);
    case "list":
      return type.list !== undefined && isList(type.list, value, allowDuplicates);
    case "scalar":
      return isScalar(type.scalar, value);
    default:
      return false;
  }
}

function isScalar(kind: ScalarKind | undefined, value: JsonValue): boolean {
  if (value === null) return true;
  switch (kind) {
    case "numeric":
      return typeof value === "number" || typeof value === "bigint";
    case "string":
    case "boolean":
      return typeof value === kind;
    default:
      return typeof value !== "object";
  }
}

function isMap(map: MapType, value: JsonValue, allowDuplicates: boolean): boolean {
  if (value === null) return true;
  if (typeof value !== "object" || Array.isArray(value)) return false;
  const object = value as JsonObject;
  for (const key of Object.keys(object)) {
    const type = map.field(key)?.type ?? map.element;
    if (!type || !isOfType(type, object[key] ?? null, allowDuplicates)) return false;
  }
  return true;
}

function isList(list: ListType, value: JsonValue, allowDuplicates: boolean): boolean {
  if (value === null) return true;
  if (!Array.isArray(value)) return false;
  if (!list.atomic && !areNamed(list, value, allowDuplicates)) return false;
  for (const item of value) if (!isOfType(list.item, item, allowDuplicates)) return false;
  return true;
}

function areNamed(list: ListType, items: JsonArray, allowDuplicates: boolean): boolean {
  if (allowDuplicates || items.length < 2) return items.every((item) => itemName(list, item) !== undefined);
  const names = new Set<string>();
  for (const item of items) {
    const name = itemName(list, item);
    if (name === undefined || names.has(name)) return false;
    names.add(name);
  }
  return true;
}
