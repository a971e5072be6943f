// SPDX-License-Identifier: Apache-2.0
// What is wrong with a value that does not have the shape its type requires. Apply rejects it, because an undeclared field
// could not be owned. Nearly all values are valid, so `isOfType` answers first, at little cost.
// The reference reports a value of the wrong type by printing its own box around it. Same text here.
import { finish, isPartDone, type Work } from "@purlin/base";
import { goPlain, goSyntax, goTypeName } from "../json/go-text.ts";
import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
  sortedKeys,
} from "../json/json-value.ts";
import {
  type ApplyType,
  deduced,
  formOf,
  type ListType,
  type MapType,
  type ScalarKind,
  typeOfKey,
  untypedAtomic,
} from "./apply-type.ts";
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
  if (yield* isOfType(type, value, options.allowDuplicates)) return undefined;
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
      if (seen.has(name) && !this.#allowsDuplicates) this.#report(path, `duplicate entries for key ${printItem(name)}`);
      seen.add(name);
      // The name is read and printed for wrong items only: that costs more than to check an item.
      const isFine = yield* isOfType(list.item, item, this.#allowsDuplicates);
      if (!isFine) yield* this.validate(list.item, item, path + printItem(name));
      if (this.errors.length >= mostErrors) return;
    }
  }
}

/** Whether a value has the shape its type asks for. Says nothing about what is wrong, and costs little. */
function isOfType(type: ApplyType, value: JsonValue, allowDuplicates: boolean): Work<boolean> {
  return new ShapeCheck(allowDuplicates).run(type, value);
}

/** A map or a list whose members are checked, some at once. */
interface Container {
  readonly type: ApplyType;
  readonly value: JsonObject | JsonArray;
  /** The keys of a map. */
  readonly keys: readonly string[] | undefined;
  /** The names of the items of a list so far, where none may come twice. */
  readonly names: Set<string> | undefined;
}

/** How many members are checked at once. */
const membersAtOnce = 256;

// Maps and lists inside others wait in a list of their own, as the order does not matter: one generator does the whole value.
class ShapeCheck {
  readonly #waiting: Container[] = [];
  readonly #allowsDuplicates: boolean;

  constructor(allowsDuplicates: boolean) {
    this.#allowsDuplicates = allowsDuplicates;
  }

  *run(type: ApplyType, value: JsonValue): Work<boolean> {
    if (!this.#fits(type, value)) return false;
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      const size = next.keys === undefined ? (next.value as JsonArray).length : next.keys.length;
      for (let from = 0; from < size; from += membersAtOnce) {
        if (from > 0 || isPartDone()) yield;
        const end = Math.min(size, from + membersAtOnce);
        const isFine = next.keys === undefined ? this.#items(next, from, end) : this.#entries(next, from, end);
        if (!isFine) return false;
      }
    }
    return true;
  }

  /** Whether a value has the form that its type asks for. Its members are looked at later. */
  #fits(type: ApplyType, value: JsonValue): boolean {
    const form = formOf(type, value);
    if (form === "scalar") return isScalar(type.scalar, value);
    if (form === undefined || value === null) return form !== undefined;
    if (form === "map" ? !isJsonObject(value) : !Array.isArray(value)) return false;
    // Anything goes inside these.
    if (type !== deduced && type !== untypedAtomic) this.#await(type, value as JsonObject | JsonArray);
    return true;
  }

  #await(type: ApplyType, value: JsonObject | JsonArray): void {
    const keys = Array.isArray(value) ? undefined : Object.keys(value);
    const isSet = keys === undefined && !type.list?.atomic && !this.#allowsDuplicates;
    this.#waiting.push({ type, value, keys, names: isSet ? new Set() : undefined });
  }

  #entries({ type: { map }, value, keys = [] }: Container, from: number, end: number): boolean {
    for (let i = from; i < end; i++) {
      const key = keys[i] as string;
      const type = map && typeOfKey(map, key);
      if (!type || !this.#fits(type, (value as JsonObject)[key] ?? null)) return false;
    }
    return true;
  }

  #items({ type: { list }, value, names }: Container, from: number, end: number): boolean {
    if (!list) return false;
    for (let i = from; i < end; i++) {
      const item = (value as JsonArray)[i] ?? null;
      const name = list.atomic ? "" : itemName(list, item);
      if (name === undefined || names?.has(name)) return false;
      names?.add(name);
      if (!this.#fits(list.item, item)) return false;
    }
    return true;
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

/** A boxed value as `%v` prints it. */
function boxedText(value: JsonValue): string {
  return `&{${goPlain(value)}}`;
}

/** A boxed value as `%#v` prints it. */
function boxedSyntax(value: JsonValue): string {
  return `&value.valueUnstructured{Value:${goSyntax(value)}}`;
}
