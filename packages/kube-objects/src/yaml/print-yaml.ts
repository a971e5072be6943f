// SPDX-License-Identifier: Apache-2.0
// JSON values as YAML, in the layout of the reference: lists are not indented, and text is quoted where YAML 1.1 would read it as
// something else.

import { finish, sorting, type Work } from "@purlin/base";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { escapedText, scalarStyle, yamlNumber } from "./yaml-scalar.ts";

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

/** The same in parts. */
export function* printingYaml(value: JsonValue, layout: YamlLayout = {}): Work<string> {
  const writer = new Writer(layout);
  yield* writer.value(value, 0);
  return writer.text();
}

/** About how many characters a part has. */
const partSize = 16_384;

const noKeys: readonly string[] = [];

/** The keys of an object, and none of any other value. A member that is undefined is not there. */
function keysOf(value: JsonValue): readonly string[] {
  return isJsonObject(value) ? Object.keys(value).filter((key) => value[key] !== undefined) : noKeys;
}

interface WordsLayout {
  readonly indent: number;
  readonly mayBreak: boolean;
  readonly isQuoted: boolean;
}

class Writer {
  readonly #parts: string[] = [];
  /** Of the part that is being written. */
  #pieces: string[] = [];
  #size = 0;
  readonly #sortsKeys: boolean;
  readonly #width: number;
  readonly #quotesMergeKey: boolean;
  /** In code units: characters beyond U+FFFF are always escaped. */
  #column = 0;

  constructor({ sortKeys = true, wrap = true, quoteMergeKey = false }: YamlLayout) {
    this.#sortsKeys = sortKeys;
    this.#quotesMergeKey = quoteMergeKey;
    this.#width = wrap ? bestWidth : Number.POSITIVE_INFINITY;
  }

  text(): string {
    this.#endPart();
    return `${this.#parts.join("")}\n`;
  }

  /** Whether other work may run before more is written. */
  get #isPartFull(): boolean {
    return this.#size >= partSize;
  }

  #endPart(): void {
    this.#parts.push(this.#pieces.join(""));
    this.#pieces = [];
    this.#size = 0;
  }

  /** Writes a value where the writer is; its next lines begin at an indentation, those of lists and objects a little further. */
  *value(value: JsonValue, indent: number, further = 0): Work<void> {
    if (this.#isPartFull) yield this.#endPart();
    const keys = keysOf(value);
    if (isJsonArray(value) && value.length > 0) {
      yield* this.#list(value, indent + further);
    } else if (keys.length > 0) {
      yield* this.#object(value as JsonObject, keys, indent + further);
    } else if (typeof value === "string") {
      yield* this.#string(value, indent, true);
    } else {
      this.#scalar(value);
    }
  }

  *#object(object: JsonObject, keys: readonly string[], indent: number): Work<void> {
    const ordered = this.#sortsKeys ? yield* sorting(keys, compareNaturally) : keys;
    for (const [index, key] of ordered.entries()) {
      if (index > 0) this.#line(indent);
      yield* this.#key(key, indent);
      yield* this.#member(object[key] as JsonValue, indent);
    }
  }

  *#key(key: string, indent: number): Work<void> {
    const isSimple = key.length <= maxKey && !/[\n\r]/.test(key);
    if (!isSimple) this.#write("? ");
    if (key === "<<" && this.#quotesMergeKey) this.#write('"<<"');
    else yield* this.#string(key, indent, !isSimple);
    if (!isSimple) this.#line(indent);
    this.#write(":");
  }

  *#member(value: JsonValue, indent: number): Work<void> {
    // Lists of members are not indented.
    const keys = keysOf(value);
    if (keys.length > 0) {
      this.#line(indent + 2);
      if (this.#isPartFull) yield this.#endPart();
      yield* this.#object(value as JsonObject, keys, indent + 2);
      return;
    }
    if (isJsonArray(value) && value.length > 0) this.#line(indent);
    else this.#write(" ");
    yield* this.value(value, indent);
  }

  *#list(items: readonly JsonValue[], indent: number): Work<void> {
    for (const [index, item] of items.entries()) {
      if (index > 0) this.#line(indent);
      this.#write("- ");
      yield* this.value(item, indent, 2);
    }
  }

  #scalar(value: JsonValue): void {
    if (typeof value === "number" || typeof value === "bigint") this.#write(yamlNumber(value));
    else if (isJsonArray(value)) this.#write("[]");
    else this.#write(isJsonObject(value) ? "{}" : String(value));
  }

  *#string(text: string, indent: number, mayBreak: boolean): Work<void> {
    const style = scalarStyle(text);
    if (style === "plain") {
      yield* this.#words(text, { indent, mayBreak, isQuoted: false });
    } else if (style === "single") {
      this.#write("'");
      yield* this.#words(text.replaceAll("'", "''"), { indent, mayBreak, isQuoted: true });
      this.#write("'");
    } else if (style === "double") {
      yield* this.#doubleQuoted(text, indent, mayBreak);
    } else {
      yield* this.#literal(text, indent);
    }
  }

  /** Text broken at single spaces behind the best width. */
  *#words(text: string, { indent, mayBreak, isQuoted }: WordsLayout): Work<void> {
    if (!mayBreak || this.#column + text.length <= this.#width) return this.#write(text);
    for (const { from, end } of piecesOf(text)) {
      const isInside = !isQuoted || (from > 0 && from < text.length - 1);
      const isSingle = text[from] === " " && text[from - 1] !== " " && text[from + 1] !== " ";
      const isBroken = isSingle && isInside && this.#column > this.#width;
      if (isBroken) this.#line(indent + 2);
      this.#write(text.slice(isBroken ? from + 1 : from, end));
      if (this.#isPartFull) yield this.#endPart();
    }
  }

  *#doubleQuoted(text: string, indent: number, mayBreak: boolean): Work<void> {
    this.#write('"');
    for (const { from, end } of piecesOf(text)) {
      const isSpace = text[from] === " " && from > 0 && from < text.length - 1;
      const isBroken = mayBreak && isSpace && this.#column > this.#width && text[from - 1] !== " ";
      if (isBroken) this.#line(indent + 2);
      if (isBroken && text[from + 1] === " ") this.#write("\\");
      this.#write(escapedText(text.slice(isBroken ? from + 1 : from, end)));
      if (this.#isPartFull) yield this.#endPart();
    }
    this.#write('"');
  }

  /** Lines as they are. How many breaks follow the last one, and how far the first is indented, has to be written. */
  *#literal(text: string, indent: number): Work<void> {
    const hint = /^[ \n]/.test(text) ? "2" : "";
    const chomp = text.endsWith("\n") ? (text === "\n" || text.endsWith("\n\n") ? "+" : "") : "-";
    this.#write(`|${hint}${chomp}`);
    const length = text.endsWith("\n") ? text.length - 1 : text.length;
    for (let from = 0, end = 0; end < length || from === 0; from = end + 1) {
      const next = text.indexOf("\n", from);
      end = next === -1 ? length : next;
      this.#line(end === from ? 0 : indent + 2);
      this.#write(text.slice(from, end));
      if (this.#isPartFull) yield this.#endPart();
    }
  }

  #line(indent: number): void {
    this.#write(`\n${" ".repeat(indent)}`);
    this.#column = indent;
  }

  #write(text: string): void {
    this.#pieces.push(text);
    this.#size += text.length;
    this.#column += text.length;
  }
}

/** The parts of a text that end before a space, and none of them is longer than a part of the document. */
function* piecesOf(text: string): Generator<{ readonly from: number; readonly end: number }> {
  let space = -1;
  for (let from = 0, end = 0; from < text.length; from = end) {
    if (space !== Number.POSITIVE_INFINITY && space <= from) space = indexOrInfinity(text.indexOf(" ", from + 1));
    end = Math.min(space, from + partSize, text.length);
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end += 1;
    yield { from, end };
  }
}

const indexOrInfinity = (index: number): number => (index === -1 ? Number.POSITIVE_INFINITY : index);

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** Orders keys as people expect: letters behind everything else, and numbers in them by their value. */
export function compareNaturally(a: string, b: string): number {
  const first = firstDifference(a, b);
  if (first >= a.length || first >= b.length) return a.length - b.length;
  const [x, y] = [a.codePointAt(first) ?? 0, b.codePointAt(first) ?? 0];
  const isLetter = letter.test(String.fromCodePoint(x));
  if (isLetter !== letter.test(String.fromCodePoint(y))) return isLetter ? 1 : -1;
  return (isLetter ? 0 : compareNumbers(a, b, first)) || x - y;
}

const letter = /\p{L}/u;

/** Where the first character is that two texts do not share. */
function firstDifference(a: string, b: string): number {
  let index = 0;
  // Long equal beginnings in steps.
  while (index + 64 < a.length && a.slice(index, index + 64) === b.slice(index, index + 64)) index += 64;
  while (index < a.length && a.charCodeAt(index) === b.charCodeAt(index)) index += 1;
  // Never between the two halves of a character.
  return index > 0 && isHighSurrogate(a.charCodeAt(index - 1)) ? index - 1 : index;
}

/** The numbers that begin where two keys part; zero where neither has one, or both the same. */
function compareNumbers(a: string, b: string, from: number): number {
  const [x, y] = [digitsAt(a, from), digitsAt(b, from)];
  // A zero counts when digits other than zero are before it.
  const lead = (a[from] === "0" || b[from] === "0") && hasNumberBefore(a, from) ? "1" : "0";
  // As texts: reading a megabyte of digits as a number takes long.
  const [m, n] = [significant(lead + x), significant(lead + y)];
  if (m === n) return x.length - y.length;
  return m.length - n.length || (m < n ? -1 : 1);
}

const significant = (digits: string): string => (digits.startsWith("0") ? digits.replace(/^0+/, "") : digits);

function digitsAt(text: string, from: number): string {
  let end = from;
  while (isDigit(text[end])) end += 1;
  return text.slice(from, end);
}

/** Whether the digits that end here are not all zero. */
function hasNumberBefore(text: string, end: number): boolean {
  for (let index = end - 1; isDigit(text[index]); index -= 1) if (text[index] !== "0") return true;
  return false;
}

const isDigit = (character: string | undefined): boolean =>
  character !== undefined && character >= "0" && character <= "9";
