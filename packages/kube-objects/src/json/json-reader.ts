// SPDX-License-Identifier: Apache-2.0
// A JSON reader of our own: JSON.parse can neither keep 64-bit integers nor see duplicate keys, and its messages are not
// the ones clients of Kubernetes know.
import { finish, isPartDone, type Work } from "@purlin/base";
import { goQuote } from "./go-text.ts";
import { type JsonValue, setOwnValue } from "./json-value.ts";

/** The text is not JSON. The message is the one the reference server gives for the same text. */
export class JsonSyntaxError extends SyntaxError {
  /** Where in the text reading stopped, in UTF-16 code units. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.name = "JsonSyntaxError";
    this.offset = offset;
  }
}

/** What {@link readJson} read: the value and every key that came more than once in its object, as field paths. */
export interface JsonReading {
  readonly value: JsonValue;
  readonly duplicates: readonly string[];
  /** Numbers that were not written as integers; undefined without such numbers. */
  readonly fractions?: Fractions;
}

/**
 * The numbers of a document that were not written as integers, such as 1.0 and 1e3, as they were written: by key or index, and below it by
 * theirs. As values they are numbers like any other, but Go reads no such text into an integer.
 */
export type Fractions = ReadonlyMap<string | number, Fractions | string>;

type Step = string | number;

interface Reader {
  readonly text: string;
  readonly maxDepth: number;
  position: number;
  depth: number;
  // The keys and indexes that lead to the value being read; only what is reported beside the value.
  readonly path: Step[];
  readonly duplicates: Set<string>;
  // What is known of fractions: at the top, and at each step of the path down to the deepest that has some.
  readonly fractions: Map<Step, Fractions | string>[];
}

const maxReportedDuplicates = 100;
const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;

/** Reads JSON text completely, keeping int64 exact and noting duplicate keys. Throws {@link JsonSyntaxError}. */
export function readJson(text: string, maxDepth: number): JsonReading {
  return finish(readingJson(text, maxDepth));
}

/** {@link readJson} in parts. */
export function* readingJson(text: string, maxDepth: number): Work<JsonReading> {
  const fractions: Reader["fractions"] = [new Map()];
  const reader: Reader = { text, maxDepth, position: 0, depth: 0, path: [], duplicates: new Set(), fractions };
  const value = opensContainer(reader) ? yield* readContainer(reader) : readScalar(reader);
  skipSpace(reader);
  if (reader.position < text.length) throw unexpected(reader, "after top-level value");
  const [found = new Map()] = fractions;
  return { value, duplicates: [...reader.duplicates], ...(found.size > 0 && { fractions: found }) };
}

/** Whether an object or a list comes next. Scalars, most of what there is, are read without work of their own. */
function opensContainer(reader: Reader): boolean {
  skipSpace(reader);
  const c = reader.text.charAt(reader.position);
  return c === "{" || c === "[";
}

function* readContainer(reader: Reader): Work<JsonValue> {
  return reader.text.charAt(reader.position) === "{" ? yield* readObject(reader) : yield* readArray(reader);
}

function readScalar(reader: Reader): JsonValue {
  switch (reader.text.charAt(reader.position)) {
    case '"':
      return readString(reader);
    case "t":
      return readWord(reader, "true", true);
    case "f":
      return readWord(reader, "false", false);
    case "n":
      return readWord(reader, "null", null);
    default:
      return readNumber(reader);
  }
}

function* readObject(reader: Reader): Work<JsonValue> {
  const object: Record<string, JsonValue> = {};
  enter(reader);
  skipSpace(reader);
  if (reader.text[reader.position] === "}") return leave(reader, object);
  for (;;) {
    if (isPartDone()) yield;
    skipSpace(reader);
    if (reader.text[reader.position] !== '"') throw unexpected(reader, "looking for beginning of object key string");
    const key = readString(reader);
    skipSpace(reader);
    if (reader.text[reader.position] !== ":") throw unexpected(reader, "after object key");
    reader.position++;
    if (Object.hasOwn(object, key)) noteDuplicate(reader, key);
    reader.path.push(key);
    const value = opensContainer(reader) ? yield* readContainer(reader) : readScalar(reader);
    endMember(reader);
    setOwnValue(object, key, value);
    skipSpace(reader);
    const next = reader.text[reader.position];
    if (next === "}") return leave(reader, object);
    if (next !== ",") throw unexpected(reader, "after object key:value pair");
    reader.position++;
  }
}

function* readArray(reader: Reader): Work<JsonValue> {
  const array: JsonValue[] = [];
  enter(reader);
  skipSpace(reader);
  if (reader.text[reader.position] === "]") return leave(reader, array);
  for (;;) {
    if (isPartDone()) yield;
    reader.path.push(array.length);
    const value = opensContainer(reader) ? yield* readContainer(reader) : readScalar(reader);
    endMember(reader);
    array.push(value);
    skipSpace(reader);
    const next = reader.text[reader.position];
    if (next === "]") return leave(reader, array);
    if (next !== ",") throw unexpected(reader, "after array element");
    reader.position++;
  }
}

function endMember(reader: Reader): void {
  reader.path.pop();
  if (reader.fractions.length > reader.path.length + 1) reader.fractions.length = reader.path.length + 1;
}

function enter(reader: Reader): void {
  reader.depth++;
  if (reader.depth > reader.maxDepth) throw unexpected(reader, "exceeded max depth");
  reader.position++;
}

function leave<T extends JsonValue>(reader: Reader, value: T): T {
  reader.depth--;
  reader.position++;
  return value;
}

function noteDuplicate(reader: Reader, key: string): void {
  if (reader.duplicates.size >= maxReportedDuplicates) return;
  reader.duplicates.add(pathText([...reader.path, key]));
}

function pathText(path: readonly Step[]): string {
  const parts = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`));
  return parts.join("").replace(/^\./, "");
}

/** The number at the path was written so. Costs one step for each that leads nowhere else, however deep it is. */
function noteFraction({ path, fractions }: Reader, literal: string): void {
  for (let depth = fractions.length - 1; depth < path.length - 1; depth++) {
    const below = new Map<Step, Fractions | string>();
    fractions[depth]?.set(path[depth] ?? 0, below);
    fractions.push(below);
  }
  fractions[path.length - 1]?.set(path[path.length - 1] ?? 0, literal);
}

// Everything from space up but the quote and the backslash; control characters end the run.
const stringBody = /[ !#-[\]-\uffff]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function readString(reader: Reader): string {
  const { text } = reader;
  const start = reader.position;
  let escaped = false;
  reader.position++;
  for (;;) {
    stringBody.lastIndex = reader.position;
    stringBody.test(text);
    reader.position = stringBody.lastIndex;
    const c = text[reader.position];
    if (c === '"') break;
    if (c !== "\\") throw unexpected(reader, "in string literal");
    readEscape(reader);
    escaped = true;
  }
  reader.position++;
  const literal = text.slice(start, reader.position);
  // A lone surrogate escape is not text; the reference reads U+FFFD for it.
  return escaped ? (JSON.parse(literal) as string).toWellFormed() : literal.slice(1, -1);
}

function readEscape(reader: Reader): void {
  escapeSequence.lastIndex = reader.position;
  if (escapeSequence.test(reader.text)) {
    reader.position = escapeSequence.lastIndex;
    return;
  }
  reader.position++;
  if (reader.text[reader.position] !== "u") throw unexpected(reader, "in string escape code");
  reader.position++;
  while (/[0-9a-fA-F]/.test(reader.text[reader.position] ?? "")) reader.position++;
  throw unexpected(reader, "in \\u hexadecimal character escape");
}

function readWord<T extends JsonValue>(reader: Reader, word: string, value: T): T {
  for (const c of word) {
    if (reader.text[reader.position] !== c) throw unexpected(reader, `in literal ${word} (expecting '${c}')`);
    reader.position++;
  }
  return value;
}

const integerPart = /-?(?:0|[1-9]\d*)/y;
const digits = /\d+/y;

function readNumber(reader: Reader): number | bigint {
  const start = reader.position;
  if (!advance(reader, integerPart)) {
    if (reader.text[start] !== "-") throw unexpected(reader, "looking for beginning of value");
    reader.position++;
    throw unexpected(reader, "in numeric literal");
  }
  let integer = true;
  if (reader.text[reader.position] === ".") {
    integer = false;
    reader.position++;
    if (!advance(reader, digits)) throw unexpected(reader, "after decimal point in numeric literal");
  }
  if (/^[eE]$/.test(reader.text[reader.position] ?? "")) {
    integer = false;
    reader.position++;
    if (/^[+-]$/.test(reader.text[reader.position] ?? "")) reader.position++;
    if (!advance(reader, digits)) throw unexpected(reader, "in exponent of numeric literal");
  }
  const literal = reader.text.slice(start, reader.position);
  if (!integer) noteFraction(reader, literal);
  return toNumber(literal, integer, start);
}

function advance(reader: Reader, pattern: RegExp): boolean {
  pattern.lastIndex = reader.position;
  if (!pattern.test(reader.text)) return false;
  reader.position = pattern.lastIndex;
  return true;
}

function toNumber(literal: string, integer: boolean, offset: number): number | bigint {
  const value = Number(literal);
  if (!Number.isFinite(value)) {
    throw new JsonSyntaxError(`json: cannot unmarshal number ${literal} into Go value of type float64`, offset);
  }
  if (!integer || Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  const exact = BigInt(literal);
  return exact >= minInt64 && exact <= maxInt64 ? exact : value;
}

const space = /[ \t\r\n]*/y;

function skipSpace(reader: Reader): void {
  space.lastIndex = reader.position;
  space.test(reader.text);
  reader.position = space.lastIndex;
}

// The reference ends the text with a space, so a token cut short complains about that space instead of the end.
const insideToken = /^(?:in (?!string literal)|after decimal point)/;

function unexpected(reader: Reader, context: string): JsonSyntaxError {
  const code = reader.text.codePointAt(reader.position) ?? (insideToken.test(context) ? 0x20 : undefined);
  if (code === undefined) return new JsonSyntaxError("unexpected end of JSON input", reader.position);
  return new JsonSyntaxError(`invalid character ${quoteByte(code)} ${context}`, reader.position);
}

// The reference names the byte it stopped at, which for text beyond ASCII is the first byte of the character.
function quoteByte(code: number): string {
  const char = String.fromCodePoint(code);
  if (char === "'") return "'\\''";
  if (char === '"') return "'\"'";
  const byte = code < 0x80 ? char : String.fromCharCode(Buffer.from(char, "utf8")[0] ?? 0);
  return `'${goQuote(byte).slice(1, -1)}'`;
}
