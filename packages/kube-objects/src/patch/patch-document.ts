// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { goJson } from "../json/go-text.ts";
import type { Fractions } from "../json/json-reader.ts";
import { copying, isJsonArray, isJsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";

type Container = Record<string, JsonValue> | JsonValue[];

/** A place in a document: a key in an object, or a position in a list. */
export interface Place {
  readonly container: Container;
  readonly key: string;
}

// Moving list items costs time for each item behind; a patch of many inserts into a huge list is refused in the end.
const maxItemMoves = 50_000_000;

/**
 * A document that operations change one after the other. The value it starts with stays as it is: each container is
 * copied when something in it first changes, and once only, so that many operations on one object cost little each.
 */
export class PatchDocument {
  #root: JsonValue;
  readonly #own = new Set<object>();
  #itemMoves = 0;

  constructor(root: JsonValue) {
    this.#root = root;
  }

  /** The document as it is now. */
  get value(): JsonValue {
    return this.#root;
  }

  /** Whether an operation went into an object or list of the document. */
  isOpened(container: object): boolean {
    return this.#own.has(container);
  }

  /** Makes the document another value. */
  reset(value: JsonValue): void {
    this.#root = value;
  }

  /**
   * The place a JSON pointer names; undefined when something on the way is missing or is neither object nor list. What
   * stands before the first slash is ignored, as in the reference.
   */
  *find(pointer: string): Work<Place | undefined> {
    const parts = pointer.split("/").slice(1).map(decodePart);
    const key = parts.pop();
    if (key === undefined) return undefined;
    let container = yield* this.#writable(this.#root, (copy) => {
      this.#root = copy;
    });
    for (const part of parts) {
      if (!container) return undefined;
      const parent: Container = container;
      const child = readChild(parent, part);
      if (child === undefined) return undefined;
      container = yield* this.#writable(child, (copy) => {
        writeChild(parent, part, copy);
      });
    }
    return container && { container, key };
  }

  // The container itself when it is ours already, else a copy put in its place.
  *#writable(value: JsonValue, put: (copy: Container) => void): Work<Container | undefined> {
    if (!isJsonObject(value) && !isJsonArray(value)) return undefined;
    if (this.#own.has(value)) return value as Container;
    const copy: Container = isJsonArray(value) ? [...value] : yield* copying(value);
    this.#own.add(copy);
    put(copy);
    return copy;
  }

  /** The value at a place; undefined for a key that is not there. Throws for a position that is not there. */
  get({ container, key }: Place): JsonValue | undefined {
    if (!Array.isArray(container)) return Object.hasOwn(container, key) ? container[key] : undefined;
    return container[existingIndex(container, key)];
  }

  /** Sets the value at a place; a position has to exist. */
  set({ container, key }: Place, value: JsonValue): void {
    if (Array.isArray(container)) container[existingIndex(container, key)] = value;
    else setOwnValue(container, key, value);
  }

  /** Adds a value at a place: list items behind it move up, and `-` is the place behind the last. */
  add({ container, key }: Place, value: JsonValue): void {
    if (!Array.isArray(container)) {
      setOwnValue(container, key, value);
      return;
    }
    const index = key === "-" ? container.length : checkedIndex(key, container.length + 1);
    this.#countMoves(container.length - index);
    container.splice(index, 0, value);
  }

  /** Removes the value at a place, which has to be there. */
  remove({ container, key }: Place): void {
    if (!Array.isArray(container)) {
      if (!Object.hasOwn(container, key)) throw new Error(`unable to remove nonexistent key ${JSON.stringify(key)}`);
      delete container[key];
      return;
    }
    const index = existingIndex(container, key);
    this.#countMoves(container.length - index);
    container.splice(index, 1);
  }

  #countMoves(count: number): void {
    this.#itemMoves += count;
    if (this.#itemMoves > maxItemMoves)
      throw new Error("the operations move too many list items: send a smaller patch");
  }
}

const decodePart = (part: string): string => part.replace(/~[01]/g, (code) => (code === "~1" ? "/" : "~"));

const existingIndex = (list: readonly JsonValue[], key: string): number => checkedIndex(key, list.length);

// A negative position counts from the end.
function checkedIndex(key: string, length: number): number {
  if (!/^[+-]?\d{1,10}$/.test(key)) throw new Error(`${JSON.stringify(key)} is not a position in a list`);
  const index = Number(key);
  if (index >= length || index < -length) throw new Error(`position ${index} is not in the list`);
  return index < 0 ? index + length : index;
}

function readChild(container: Container, key: string): JsonValue | undefined {
  if (!Array.isArray(container)) return Object.hasOwn(container, key) ? container[key] : undefined;
  const index = /^[+-]?\d{1,10}$/.test(key) ? Number(key) : Number.NaN;
  return container[index < 0 ? index + container.length : index];
}

function writeChild(container: Container, key: string, value: Container): void {
  if (!Array.isArray(container)) setOwnValue(container, key, value);
  else container[checkedIndex(key, container.length)] = value;
}

// The reference's patch library never reads a number: it moves its text about, and compares it as a text. So 1.0 is not 1 to it, and
// what is 1.0 in a patch is 1.0 in the result. Here a number that is written otherwise than the server writes it goes through the
// operations of a patch as a text that no JSON can hold, and is a number again in the end.

/** Half of a character: reading JSON gives none. */
const mark = "\ud800";

/** A value with the numbers of `fractions` in it marked, unless they are written as the server would write them. */
export function markNumbers(value: JsonValue, fractions: Fractions | string | undefined): JsonValue {
  if (fractions === undefined) return value;
  if (typeof fractions === "string") {
    const isNumber = typeof value === "number" && goJson(value) !== fractions;
    return isNumber ? `${mark}${fractions}` : value;
  }
  if (isJsonArray(value)) return value.map((item, index) => markNumbers(item, fractions.get(index)));
  if (!isJsonObject(value)) return value;
  const out: Record<string, JsonValue> = { ...value };
  for (const [key, below] of fractions) {
    if (typeof key === "string" && Object.hasOwn(value, key))
      setOwnValue(out, key, markNumbers(value[key] ?? null, below));
  }
  return out;
}

/** How a marked number was written; undefined for anything else. */
export function writtenNumber(value: JsonValue): string | undefined {
  return typeof value === "string" && value.startsWith(mark) ? value.slice(mark.length) : undefined;
}

/** A value whose marked numbers are numbers again, and where they are. */
export interface WrittenValue {
  readonly value: JsonValue;
  readonly fractions?: Fractions | undefined;
}

/** Makes numbers of marked ones, in parts. What has none in it stays the same object. */
export function* unmarkingNumbers(value: JsonValue): Work<WrittenValue> {
  const { value: plain, fractions } = yield* unmark(value);
  return { value: plain, ...(fractions instanceof Map && { fractions }) };
}

interface Unmarked {
  readonly value: JsonValue;
  readonly fractions: Fractions | string | undefined;
}

function* unmark(value: JsonValue): Work<Unmarked> {
  const written = writtenNumber(value);
  if (written !== undefined) return { value: Number(written), fractions: written };
  if (!isJsonObject(value) && !isJsonArray(value)) return { value, fractions: undefined };
  return isJsonArray(value) ? yield* unmarkList(value) : yield* unmarkObject(value);
}

/** Whether a value can have marked numbers in it. */
const mayBeMarked = (value: JsonValue): boolean =>
  typeof value === "string" ? value.startsWith(mark) : typeof value === "object" && value !== null;

function* unmarkList(list: readonly JsonValue[]): Work<Unmarked> {
  const fractions = new Map<string | number, Fractions | string>();
  let out: JsonValue[] | undefined;
  for (const [index, item] of list.entries()) {
    if (isPartDone()) yield;
    if (!mayBeMarked(item)) continue;
    const { value, fractions: below } = yield* unmark(item);
    if (below === undefined) continue;
    fractions.set(index, below);
    out ??= [...list];
    out[index] = value;
  }
  return out === undefined ? { value: list, fractions: undefined } : { value: out, fractions };
}

function* unmarkObject(object: Readonly<Record<string, JsonValue>>): Work<Unmarked> {
  const fractions = new Map<string | number, Fractions | string>();
  let out: Record<string, JsonValue> | undefined;
  for (const key of Object.keys(object)) {
    if (isPartDone()) yield;
    const member = object[key] ?? null;
    if (!mayBeMarked(member)) continue;
    const { value, fractions: below } = yield* unmark(member);
    if (below === undefined) continue;
    fractions.set(key, below);
    out ??= yield* copying(object);
    setOwnValue(out, key, value);
  }
  return out === undefined ? { value: object, fractions: undefined } : { value: out, fractions };
}
