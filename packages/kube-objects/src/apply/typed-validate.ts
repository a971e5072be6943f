// SPDX-License-Identifier: Apache-2.0
// What is wrong with a value that does not have the shape its type requires. Apply rejects it, because an undeclared field
// could not be owned. Nearly all values are valid, so `isOfType` answers first, at little cost.
// The reference reports a value of the wrong type by printing its own box around it. Same text here.
import { finish, ifSmall, isPartDone, step, type Work } from "@purlin/base";
import { goPlain, goSyntax, goTypeName } from "../json/go-text.ts";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import { sortedKeys } from "../json/utf8.ts";
import { type ApplyType, formOf, isScalarOf, type ListType, type MapType, type ScalarKind } from "./apply-type.ts";
import { itemName, itemProblem, printItem } from "./item-key.ts";

/** Options of {@link typeProblem}. */
interface TypeProblemOptions {
  /** Stored objects may hold duplicates from before a list became a map; applied ones may not. */
  readonly allowDuplicates: boolean;
}

/** What keeps a value from being of a type, in the reference's words; undefined when nothing does. */
export function typeProblem(type: ApplyType, value: JsonValue, options: TypeProblemOptions): string | undefined {
  return finish(findingTypeProblem(type, value, options));
}

/** {@link typeProblem} in parts. */
export function* findingTypeProblem(
  type: ApplyType,
  value: JsonValue,
  options: TypeProblemOptions,
): Work<string | undefined> {
  const { allowDuplicates } = options;
  const isFine = ifSmall(() => fits(type, value, allowDuplicates)) ?? (yield* isOfType(type, value, allowDuplicates));
  if (isFine) return undefined;
  const validation = new TypeValidation(options.allowDuplicates);
  yield* validation.validate(type, value, "");
  const { errors } = validation;
  return errors.length === 1 ? errors[0] : ["errors:", ...errors.map((error) => `  ${error}`)].join("\n");
}

/** Most errors that are reported; nothing is looked at after that. */
const mostErrors = 100;

/** Collects what is wrong with a value. */
class TypeValidation {
  readonly errors: string[] = [];
  readonly #allowsDuplicates: boolean;

  constructor(allowsDuplicates: boolean) {
    this.#allowsDuplicates = allowsDuplicates;
  }

  #report(path: string, message: string): void {
    this.errors.push(path === "" ? message : `${path}: ${message}`);
  }

  *validate(type: ApplyType, value: JsonValue, path: string): Work<void> {
    if (this.errors.length >= mostErrors) return;
    switch (formOf(type, value)) {
      case "map":
        if (type.map) yield* this.#map(type.map, value, path);
        return;
      case "list":
        if (type.list) yield* this.#list(type.list, value, path);
        return;
      case "scalar":
        this.#scalar(type.scalar ?? "untyped", value, path);
        return;
      default:
        this.#report(path, "schema error: invalid atom: inlined");
    }
  }

  #scalar(kind: ScalarKind, value: JsonValue, path: string): void {
    if (value === null) return;
    const form = typeof value;
    const isNumber = form === "number" || form === "bigint";
    switch (kind) {
      case "numeric":
        if (!isNumber) this.#report(path, `expected numeric (int or float), got ${goTypeName(value)}`);
        return;
      case "string":
        if (form !== "string") this.#report(path, `expected string, got ${boxedSyntax(value)}`);
        return;
      case "boolean":
        if (form !== "boolean") this.#report(path, `expected boolean, got ${boxedText(value)}`);
        return;
      case "untyped":
        if (form === "object") this.#report(path, `expected any scalar, got ${boxedText(value)}`);
    }
  }

  *#map(map: MapType, value: JsonValue, path: string): Work<void> {
    if (value === null) return;
    if (!isJsonObject(value)) {
      this.#report(path, `expected map, got ${boxedText(value)}`);
      return;
    }
    // The reference visits keys in random order; ours is by name, so that a message does not change between two tries.
    for (const key of sortedKeys(value)) {
      if (isPartDone()) yield;
      if (!(yield* this.#key(map, value, { key, path }))) return;
    }
  }

  *#key(map: MapType, value: JsonObject, at: { key: string; path: string }): Work<boolean> {
    const type = map.field(at.key)?.type ?? map.element;
    const path = `${at.path}.${at.key}`;
    if (!type) {
      // The rest of this map goes unchecked, as in the reference.
      this.#report(path, "field not declared in schema");
      return false;
    }
    yield* this.validate(type, ownValue(value, at.key) ?? null, path);
    return true;
  }

  *#list(list: ListType, value: JsonValue, path: string): Work<void> {
    if (value === null) return;
    if (!Array.isArray(value)) this.#report(path, `expected list, got ${boxedText(value)}`);
    else if (list.atomic) yield* this.#atomicItems(list, value, path);
    else yield* this.#namedItems(list, value, path);
  }

  *#atomicItems(list: ListType, items: JsonArray, path: string): Work<void> {
    for (const [index, item] of items.entries()) {
      if (isPartDone()) yield;
      yield* this.validate(list.item, item, `${path}[${index}]`);
    }
  }

  *#namedItems(list: ListType, items: JsonArray, path: string): Work<void> {
    const seen = new Set<string>();
    for (const [index, item] of items.entries()) {
      if (isPartDone()) yield;
      const name = itemName(list, item);
      if (name === undefined) {
        this.#report(path, `element ${index}: ${itemProblem(list, item)}`);
        return;
      }
      if (seen.has(name) && !this.#allowsDuplicates) {
        this.#report(path, `duplicate entries for key ${printItem(name)}`);
      }
      seen.add(name);
      // The name is read and printed for wrong items only: that costs more than to check an item.
      const isFine = yield* isOfType(list.item, item, this.#allowsDuplicates);
      if (!isFine) yield* this.validate(list.item, item, path + printItem(name));
      if (this.errors.length >= mostErrors) return;
    }
  }
}

/** Whether a small value has the shape its type asks for, found at once: nearly all values are small, and parts have a price. */
function fits(type: ApplyType, value: JsonValue, allowDuplicates: boolean): boolean {
  step();
  const form = formOf(type, value);
  if (form === "scalar") return isScalar(type.scalar, value);
  const { map, list } = type;
  if (form === "map" && map) {
    if (value === null) return true;
    if (!isJsonObject(value)) return false;
    for (const key of Object.keys(value)) {
      const child = map.field(key)?.type ?? map.element;
      if (!child || !fits(child, value[key] ?? null, allowDuplicates)) return false;
    }
    return true;
  }
  if (form !== "list" || !list) return false;
  if (value === null) return true;
  if (!Array.isArray(value)) return false;
  if (!value.every((item) => fits(list.item, item, allowDuplicates))) return false;
  return list.atomic || finish(areNamed(list, value, allowDuplicates));
}

/** Whether a value has the shape its type asks for. Says nothing about what is wrong, and costs little. */
function* isOfType(type: ApplyType, value: JsonValue, allowDuplicates: boolean): Work<boolean> {
  switch (formOf(type, value)) {
    case "map":
      return type.map !== undefined && (yield* isMap(type.map, value, allowDuplicates));
    case "list":
      return type.list !== undefined && (yield* isList(type.list, value, allowDuplicates));
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

function* isMap(map: MapType, value: JsonValue, allowDuplicates: boolean): Work<boolean> {
  if (value === null) return true;
  if (typeof value !== "object" || Array.isArray(value)) return false;
  const object = value as JsonObject;
  for (const key of Object.keys(object)) {
    if (isPartDone()) yield;
    const type = map.field(key)?.type ?? map.element;
    if (!type) return false;
    const child = object[key] ?? null;
    const isFine = isScalarOf(type, child)
      ? isScalar(type.scalar, child)
      : yield* isOfType(type, child, allowDuplicates);
    if (!isFine) return false;
  }
  return true;
}

function* isList(list: ListType, value: JsonValue, allowDuplicates: boolean): Work<boolean> {
  if (value === null) return true;
  if (!Array.isArray(value)) return false;
  if (!list.atomic && !(yield* areNamed(list, value, allowDuplicates))) return false;
  for (const item of value) {
    if (isPartDone()) yield;
    const isFine = isScalarOf(list.item, item)
      ? isScalar(list.item.scalar, item)
      : yield* isOfType(list.item, item, allowDuplicates);
    if (!isFine) return false;
  }
  return true;
}

function* areNamed(list: ListType, items: JsonArray, allowDuplicates: boolean): Work<boolean> {
  const names = allowDuplicates || items.length < 2 ? undefined : new Set<string>();
  for (const item of items) {
    if (isPartDone()) yield;
    const name = itemName(list, item);
    if (name === undefined || names?.has(name)) return false;
    names?.add(name);
  }
  return true;
}

/** A boxed value as `%v` prints it. */
function boxedText(value: JsonValue): string {
  return `&{${goPlain(value)}}`;
}

/** A boxed value as `%#v` prints it. */
function boxedSyntax(value: JsonValue): string {
  return `&value.valueUnstructured{Value:${goSyntax(value)}}`;
}
