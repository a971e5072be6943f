// SPDX-License-Identifier: Apache-2.0
// Values as JSON text in parts: on one line or indented.
import type { Work } from "@purlin/base";
import { type PrintJsonOptions, printJson } from "./json-text.ts";
import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "./json-value.ts";

/**
 * {@link printJson} in parts, each of which is given to `write`. On one line: an item of a list that is a member of the value, some members
 * of a large object that is one, and what is between them. Indented: values of any depth with few others inside.
 */
export function* printingJson(value: JsonValue, options: PrintJsonOptions, write: (text: string) => void): Work<void> {
  const { indent = 0 } = options;
  if (indent > 0) yield* new IndentedPrinter(indent, options, write).value(value, 0);
  else yield* printingLine(value, (part) => printJson(part, options), write);
}

type Print = (value: JsonValue) => string;

function* printingLine(value: JsonValue, print: Print, write: (text: string) => void): Work<void> {
  if (!isJsonObject(value) || !Object.values(value).some((member) => hasItems(member) || isLarge(member))) {
    write(print(value));
    return;
  }
  let before = "{";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    write(`${before}${print(name)}:`);
    before = ",";
    if (isLarge(member)) yield* printingMembers(member, print, write);
    else if (hasItems(member)) yield* printingItems(member, print, write);
    else write(print(member));
  }
  write("}");
}

function* printingItems(list: JsonArray, print: Print, write: (text: string) => void): Work<void> {
  for (const [index, item] of list.entries()) {
    write(index === 0 ? "[" : ",");
    write(print(item));
    yield;
  }
  write("]");
}

/** About this many characters of members are a part. */
const membersPart = 65_536;

function* printingMembers(object: JsonObject, print: Print, write: (text: string) => void): Work<void> {
  let text = "{";
  let isFirst = true;
  for (const key in object) {
    const value = object[key];
    if (value === undefined) continue;
    text += `${isFirst ? "" : ","}${print(key)}:${print(value)}`;
    isFirst = false;
    if (text.length < membersPart) continue;
    write(text);
    text = "";
    yield;
  }
  write(`${text}}`);
}

const hasItems = (value: JsonValue): value is JsonArray => isJsonArray(value) && value.length > 1;

const fewMembers = 64;

/** Whether an object has more than a few members; at least one of them is defined. */
function isLarge(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value)) return false;
  let members = 0;
  for (const key in value) {
    if (value[key] === undefined) continue;
    members += 1;
    if (members > fewMembers) return true;
  }
  return false;
}

/** About this many characters of indented text are a part. */
const indentedPart = 16_384;

/** Prints indented text. That takes ten times as long as text on one line: values with many others inside are divided. */
class IndentedPrinter {
  readonly #indent: number;
  readonly #options: PrintJsonOptions;
  readonly #write: (text: string) => void;
  /** What begins a line, by depth. */
  readonly #lines: string[] = [];
  /** Characters of the part that is being printed. */
  #size = 0;

  constructor(indent: number, options: PrintJsonOptions, write: (text: string) => void) {
    this.#indent = indent;
    this.#options = options;
    this.#write = write;
  }

  *value(value: JsonValue, depth: number): Work<void> {
    if (this.#isPartDone()) yield;
    if (countInside(value) < many) this.#put(this.#print(value, depth));
    else if (isJsonArray(value)) yield* this.#list(value, depth);
    else yield* this.#object(value as JsonObject, depth);
  }

  /** Items with few values inside are printed together: one at a time takes several times as long. */
  *#list(list: JsonArray, depth: number): Work<void> {
    let before = "[";
    for (let start = 0; start < list.length; ) {
      const end = endOfFew(list, start);
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
      this.#put(`${before}${this.#line(depth + 1)}${this.#print(key, 0)}: `);
      yield* this.value(member, depth + 1);
      before = ",";
    }
    this.#put(`${this.#line(depth)}}`);
    if (this.#isPartDone()) yield;
  }

  #isPartDone(): boolean {
    if (this.#size < indentedPart) return false;
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
    return depth === 0 ? text : text.replaceAll("\n", this.#line(depth));
  }

  #line(depth: number): string {
    this.#lines[depth] ??= `\n${" ".repeat(this.#indent * depth)}`;
    return this.#lines[depth];
  }
}

const many = 256;

/** How many values are inside of a value; when they are many, not all of them are counted. */
function countInside(value: JsonValue, most: number = many): number {
  if (isJsonArray(value)) return countInsideItems(value, most);
  if (!isJsonObject(value)) return 0;
  let count = 0;
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    count += 1;
    if (count >= most) break;
    count += countInside(member, most - count);
  }
  return count;
}

function countInsideItems(list: JsonArray, most: number): number {
  let count = list.length;
  for (const item of list) {
    if (count >= most) break;
    count += countInside(item, most - count);
  }
  return count;
}

/** Where the items of a list end that have few values together; at the start when one has many. */
function endOfFew(list: JsonArray, start: number): number {
  let end = start;
  for (let left = many; end < list.length; end++) {
    left -= 1 + countInside(list[end] ?? null, left);
    if (left <= 0) break;
  }
  return end;
}
