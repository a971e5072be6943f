// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { isJsonArray, isJsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";
import { copying } from "../json/map-members.ts";

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
