// SPDX-License-Identifier: Apache-2.0
// How long indented text would be, before any is made.
import type { Work } from "@purlin/base";
import { isContainer, isJsonArray, type JsonArray, type JsonObject, type JsonValue } from "./json-value.ts";

/** How long indented text may become, in characters. */
interface IndentedLimits {
  /** Text that is no longer than this is indented, whatever its share of spaces. */
  readonly short: number;
  /** No indented text is longer than this. */
  readonly length: number;
  /** No indented text is more times as long as the text on one line, unless it is short. */
  readonly times: number;
}

/**
 * Indentation multiplies: a list of 90,000 numbers at a depth of 900 is 180 kB on one line and 167 MB indented. Real objects become two to
 * three times as long. With four, the memory for a text stays in proportion to what is stored: an object of 4 MiB, the largest, becomes
 * 16 MiB. The length is for lists of objects. Short text is indented in any case, so that an object small enough to be read always is;
 * 400 of them, the requests of one user that are answered at once, take 100 MiB.
 */
const maxIndented: IndentedLimits = { short: 256 * 1024, length: 32 * 1024 * 1024, times: 4 };

/**
 * Whether the indented text of a value is short enough to be made; if not, the text on one line is the same JSON. Computed in parts and
 * without making a text: escapes do not count, and numbers, booleans and null count as one character.
 */
export function* fitsIndented(
  value: JsonValue,
  indent: number,
  { short, length, times }: IndentedLimits = maxIndented,
): Work<boolean> {
  const size = new TextSize(indent);
  let level: readonly Container[] = isContainer(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth++) {
    const inner: Container[] = [];
    for (const container of level) {
      size.add(container, depth, inner);
      if (size.indented > length) return false;
      if (size.isPartDone()) yield;
    }
    level = inner;
  }
  return size.indented <= short || size.indented <= times * size.compact;
}

type Container = JsonArray | JsonObject;

/** The number of values that are measured in one part: some tenths of a millisecond. */
const measuredPart = 8192;

class TextSize {
  /** Characters on one line. */
  compact = 0;
  /** Characters that indentation adds. */
  #layout = 0;
  readonly #indent: number;
  /** Values of the part that is being measured. */
  #values = 0;

  constructor(indent: number) {
    this.#indent = indent;
  }

  get indented(): number {
    return this.compact + this.#layout;
  }

  isPartDone(): boolean {
    if (this.#values < measuredPart) return false;
    this.#values = 0;
    return true;
  }

  /** Adds a list or an object at a depth, without the lists and objects inside of it: they go to `inner`. */
  add(container: Container, depth: number, inner: Container[]): void {
    const members = isJsonArray(container) ? this.#addItems(container, inner) : this.#addMembers(container, inner);
    this.#values += members + 1;
    // The brackets and the commas.
    this.compact += members === 0 ? 2 : members + 1;
    if (members > 0) this.#layout += members * this.#lineLength(depth + 1) + this.#lineLength(depth);
  }

  #lineLength(depth: number): number {
    return 1 + this.#indent * depth;
  }

  #addItems(list: JsonArray, inner: Container[]): number {
    for (const item of list) this.#addValue(item, inner);
    return list.length;
  }

  #addMembers(object: JsonObject, inner: Container[]): number {
    let members = 0;
    for (const key in object) {
      const member = object[key];
      if (member === undefined) continue;
      members += 1;
      this.compact += key.length + 3;
      this.#addValue(member, inner);
    }
    // The space behind each colon.
    this.#layout += members;
    return members;
  }

  #addValue(value: JsonValue, inner: Container[]): void {
    if (isContainer(value)) inner.push(value);
    else this.compact += typeof value === "string" ? value.length + 2 : 1;
  }
}
