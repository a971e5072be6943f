// SPDX-License-Identifier: Apache-2.0
// JSON values as YAML, in the layout of the reference: lists are not indented, and text is quoted where YAML 1.1 would read it as
// something else.

import { finish, type Work } from "@purlin/base";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { escapedCharacter, scalarStyle, yamlNumber } from "./yaml-scalar.ts";

/** Text is broken at the first space behind this column. */
const bestWidth = 80;
/** Longer keys, and keys of several lines, stand on lines of their own. */
const maxKey = 128;

/** The layout of a document. */
interface YamlLayout {
  /** Keys in natural order, as the reference writes them; otherwise in the order of the object. Default: true. */
  readonly sortKeys?: boolean;
  /** Break long text at spaces, as the reference does. Default: true. */
  readonly wrap?: boolean;
  /** Quote the key `<<`, which readers of YAML 1.1 take for a merge; the reference does not. Default: false. */
  readonly quoteMergeKey?: boolean;
}

/** A value as a YAML document. */
export function printYaml(value: JsonValue, layout?: YamlLayout): string {
  return finish(printingYaml(value, layout));
}

/** The same in parts: item by item of the lists at the top. */
export function* printingYaml(value: JsonValue, layout: YamlLayout = {}): Work<string> {
  const writer = new Writer(layout);
  if (isJsonObject(value) && hasMembers(value)) {
    yield* writer.document(value);
  } else {
    writer.value(value, 0);
  }
  return writer.text();
}

const hasMembers = (object: JsonObject): boolean => Object.values(object).some((member) => member !== undefined);

class Writer {
  readonly #parts: string[] = [];
  readonly #sortsKeys: boolean;
  readonly #width: number;
  readonly #quotesMergeKey: boolean;
  #column = 0;

  constructor({ sortKeys = true, wrap = true, quoteMergeKey = false }: YamlLayout) {
    this.#sortsKeys = sortKeys;
    this.#quotesMergeKey = quoteMergeKey;
    this.#width = wrap ? bestWidth : Number.POSITIVE_INFINITY;
  }

  /** A member that is undefined is not there. */
  #keys(object: JsonObject): string[] {
    const keys = Object.keys(object).filter((key) => object[key] !== undefined);
    return this.#sortsKeys ? keys.sort(compareNaturally) : keys;
  }

  text(): string {
    return `${this.#parts.join("")}\n`;
  }

  /** Writes a value where the writer is; its next lines begin at an indentation, those of lists and objects a little further. */
  value(value: JsonValue, indent: number, further = 0): void {
    if (isJsonArray(value) && value.length > 0) {
      this.#list(value, indent + further);
    } else if (isJsonObject(value) && hasMembers(value)) {
      this.#object(value, indent + further);
    } else {
      this.#scalar(value, indent);
    }
  }

  /** Writes the object that is the whole document. */
  *document(object: JsonObject): Work<void> {
    const keys = this.#keys(object);
    for (const [index, key] of keys.entries()) {
      if (index > 0) this.#line(0);
      this.#key(key, 0);
      const value = object[key] as JsonValue;
      if (!isJsonArray(value) || value.length === 0) {
        this.#member(value, 0);
        continue;
      }
      this.#line(0);
      for (const [position, item] of value.entries()) {
        if (position > 0) this.#line(0);
        this.#item(item, 0);
        yield;
      }
    }
  }

  #object(object: JsonObject, indent: number): void {
    const keys = this.#keys(object);
    for (const [index, key] of keys.entries()) {
      if (index > 0) this.#line(indent);
      this.#key(key, indent);
      this.#member(object[key] as JsonValue, indent);
    }
  }

  #key(key: string, indent: number): void {
    const isSimple = key.length <= maxKey && !/[\n\r]/.test(key);
    if (!isSimple) this.#write("? ");
    if (key === "<<" && this.#quotesMergeKey) this.#write('"<<"');
    else this.#string(key, indent, !isSimple);
    if (!isSimple) this.#line(indent);
    this.#write(":");
  }

  #member(value: JsonValue, indent: number): void {
    if (isJsonArray(value) && value.length > 0) {
      // Lists of members are not indented.
      this.#line(indent);
      this.#list(value, indent);
    } else if (isJsonObject(value) && hasMembers(value)) {
      this.#line(indent + 2);
      this.#object(value, indent + 2);
    } else {
      this.#write(" ");
      this.#scalar(value, indent);
    }
  }

  #list(items: readonly JsonValue[], indent: number): void {
    for (const [index, item] of items.entries()) {
      if (index > 0) this.#line(indent);
      this.#item(item, indent);
    }
  }

  #item(item: JsonValue, indent: number): void {
    this.#write("- ");
    this.value(item, indent, 2);
  }

  #scalar(value: JsonValue, indent: number): void {
    if (typeof value === "string") this.#string(value, indent, true);
    else if (typeof value === "number" || typeof value === "bigint") this.#write(yamlNumber(value));
    else if (isJsonArray(value)) this.#write("[]");
    else this.#write(isJsonObject(value) ? "{}" : String(value));
  }

  #string(text: string, indent: number, mayBreak: boolean): void {
    const style = scalarStyle(text);
    if (style === "plain") {
      this.#words(text, { indent, mayBreak, isQuoted: false });
    } else if (style === "single") {
      this.#write("'");
      this.#words(text.replaceAll("'", "''"), { indent, mayBreak, isQuoted: true });
      this.#write("'");
    } else if (style === "double") {
      this.#doubleQuoted(text, indent, mayBreak);
    } else {
      this.#literal(text, indent);
    }
  }

  /** Text broken at single spaces behind the best width. */
  #words(text: string, { indent, mayBreak, isQuoted }: { indent: number; mayBreak: boolean; isQuoted: boolean }): void {
    for (const [index, character] of [...text].entries()) {
      const isInside = !isQuoted || (index > 0 && index < text.length - 1);
      const isSingle = character === " " && text[index - 1] !== " " && text[index + 1] !== " ";
      if (mayBreak && isSingle && isInside && this.#column > this.#width) this.#line(indent + 2);
      else this.#write(character);
    }
  }

  #doubleQuoted(text: string, indent: number, mayBreak: boolean): void {
    this.#write('"');
    const characters = [...text];
    for (const [index, character] of characters.entries()) {
      const isInside = index > 0 && index < characters.length - 1;
      if (!mayBreak || character !== " " || !isInside || this.#column <= this.#width || characters[index - 1] === " ") {
        this.#write(escapedCharacter(character));
        continue;
      }
      this.#line(indent + 2);
      if (characters[index + 1] === " ") this.#write("\\");
    }
    this.#write('"');
  }

  /** Lines as they are. How many breaks follow the last one, and how far the first is indented, has to be said. */
  #literal(text: string, indent: number): void {
    const hint = /^[ \n]/.test(text) ? "2" : "";
    const chomp = text.endsWith("\n") ? (/(^|\n)\n$/.test(text) ? "+" : "") : "-";
    this.#write(`|${hint}${chomp}`);
    const lines = text.replace(/\n$/, "").split("\n");
    for (const line of lines) {
      this.#line(line === "" ? 0 : indent + 2);
      this.#write(line);
    }
  }

  #line(indent: number): void {
    this.#parts.push(`\n${" ".repeat(indent)}`);
    this.#column = indent;
  }

  #write(text: string): void {
    this.#parts.push(text);
    this.#column += text.length;
  }
}

/** Orders keys as people expect: letters behind everything else, and numbers in them by their value. */
export function compareNaturally(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  const first = left.findIndex((character, index) => character !== right[index]);
  if (first === -1 || first >= right.length) return left.length - right.length;
  const [x, y] = [left[first] ?? "", right[first] ?? ""];
  if (isLetter(x) !== isLetter(y)) return isLetter(x) ? 1 : -1;
  return (isLetter(x) ? 0 : compareNumbers(left, right, first)) || (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0);
}

/** The numbers that begin where two keys part; zero where neither has one, or both the same. */
function compareNumbers(left: readonly string[], right: readonly string[], from: number): number {
  const [x, y] = [digitsAt(left, from), digitsAt(right, from)];
  // A zero counts when digits other than zero are before it.
  const before = left.slice(0, from).join("").match(/\d+$/)?.[0] ?? "";
  const lead = (left[from] === "0" || right[from] === "0") && /[1-9]/.test(before) ? "1" : "0";
  const [m, n] = [BigInt(lead + x), BigInt(lead + y)];
  return m === n ? x.length - y.length : m < n ? -1 : 1;
}

function digitsAt(characters: readonly string[], from: number): string {
  return /^\d*/.exec(characters.slice(from).join(""))?.[0] ?? "";
}

function isLetter(character: string): boolean {
  return /\p{L}/u.test(character);
}
