// SPDX-License-Identifier: Apache-2.0
// Values as JSON text in parts: on one line or indented.
import type { Work } from "@purlin/base";
import { type PrintJsonOptions, printJson } from "./json-text.ts";
import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "./json-value.ts";

/** {@link printJson} in parts, each of which is given to `write`: values of any depth with few others, and short texts, inside. */
export function printingJson(value: JsonValue, options: PrintJsonOptions, write: (text: string) => void): Work<void> {
  return new PartPrinter(options, write).value(value, 0);
}

/** About this many characters are a part: to print a line takes a fraction of the time that indented text takes. */
const partLength = { line: 65_536, indented: 16_384 };

/** A value with as many others inside is printed in parts. */
const many = 256;
/** A text of this many characters counts as a value. */
const charactersOfValue = 256;

class PartPrinter {
  readonly #indent: number;
  readonly #options: PrintJsonOptions;
  readonly #write: (text: string) => void;
  /** What begins a line, by depth. */
  readonly #lines: string[] = [];
  /** What follows a key. */
  readonly #colon: string;
  readonly #partLength: number;
  /** Values that were found to have many others inside: to begin with the members of a large object takes as long as to list all. */
  readonly #large = new Set<JsonObject | JsonArray>();
  /** Characters of the part that is being printed. */
  #size = 0;

  constructor(options: PrintJsonOptions, write: (text: string) => void) {
    const { indent = 0 } = options;
    this.#indent = indent;
    this.#options = options;
    this.#write = write;
    this.#colon = indent > 0 ? ": " : ":";
    this.#partLength = indent > 0 ? partLength.indented : partLength.line;
  }

  *value(value: JsonValue, depth: number): Work<void> {
    if (this.#isPartDone()) yield;
    const isLarge = this.#countInside(value) >= many;
    if (isLarge && isJsonArray(value)) yield* this.#list(value, depth);
    else if (isLarge && isJsonObject(value)) yield* this.#object(value, depth);
    else this.#put(this.#print(value, depth));
  }

  /** Items with few values inside are printed together: one at a time takes several times as long. */
  *#list(list: JsonArray, depth: number): Work<void> {
    let before = "[";
    for (let start = 0; start < list.length; ) {
      const end = this.#endOfFew(list, start);
      if (end > start) {
        this.#put(`${before}${this.#print(list.slice(start, end), depth).slice(1, -this.#line(depth).length - 1)}`);
        if (this.#isPartDone()) yield;
      } else {
        this.#put(`${before}${this.#line(depth + 1)}`);
        yield* this.value(list[start] ?? null, depth + 1);
      }
      before = ",";
      start = Math.max(end, start + 1);
    }
    this.#put(`${this.#line(depth)}]`);
    if (this.#isPartDone()) yield;
  }

  *#object(object: JsonObject, depth: number): Work<void> {
    let before = "{";
    for (const key of Object.keys(object)) {
      const member = object[key];
      if (member === undefined) continue;
      this.#put(`${before}${this.#line(depth + 1)}${this.#print(key, 0)}${this.#colon}`);
      before = ",";
      if (this.#countInside(member) >= many) yield* this.value(member, depth + 1);
      else this.#put(this.#print(member, depth + 1));
      if (this.#isPartDone()) yield;
    }
    this.#put(`${this.#line(depth)}}`);
    if (this.#isPartDone()) yield;
  }

  #isPartDone(): boolean {
    if (this.#size < this.#partLength) return false;
    this.#size = 0;
    return true;
  }

  #put(text: string): void {
    this.#size += text.length;
    this.#write(text);
  }

  /** In JSON a line break is layout: in a text it is escaped. */
  #print(value: JsonValue, depth: number): string {
    const text = printJson(value, this.#options);
    return depth === 0 || this.#indent === 0 ? text : text.replaceAll("\n", this.#line(depth));
  }

  #line(depth: number): string {
    if (this.#indent === 0) return "";
    this.#lines[depth] ??= `\n${" ".repeat(this.#indent * depth)}`;
    return this.#lines[depth];
  }

  /** How many values are inside of a value, and how long its texts are; when it is much, not all of it is counted. */
  #countInside(value: JsonValue): number {
    if (typeof value === "string") return Math.floor(value.length / charactersOfValue);
    if (typeof value !== "object" || value === null) return 0;
    if (this.#large.has(value)) return many;
    const count = isJsonArray(value) ? this.#countItems(value) : this.#countMembers(value as JsonObject);
    if (count >= many) this.#large.add(value);
    return count;
  }

  #countMembers(object: JsonObject): number {
    let count = 0;
    for (const key in object) {
      const member = object[key];
      if (member === undefined) continue;
      count += 1 + this.#countInside(member);
      if (count >= many) break;
    }
    return count;
  }

  #countItems(list: JsonArray): number {
    let count = list.length;
    for (const item of list) {
      if (count >= many) break;
      count += this.#countInside(item);
    }
    return count;
  }

  /** Where the items of a list end that have few values together; at the start when one has many. */
  #endOfFew(list: JsonArray, start: number): number {
    let end = start;
    for (let left = many; end < list.length; end++) {
      left -= 1 + this.#countInside(list[end] ?? null);
      if (left <= 0) break;
    }
    return end;
  }
}
