// SPDX-License-Identifier: Apache-2.0
import {
  CORE_SCHEMA,
  defineScalarTag,
  type Event,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
  type Schema,
  YAMLException,
} from "js-yaml";

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
]);

const boolTag = defineScalarTag<boolean>("tag:yaml.org,2002:bool", {
  implicit: true,
  implicitFirstChars: [..."yYnNtTfFoO"],
  resolve: (text) => truths.get(text) ?? NOT_RESOLVED,
  identify: (value) => typeof value === "boolean",
});

/** No double has more digits; reading a megabyte of them as an integer would take a second. */
const maxDigits = 400;

/** Go's way with prefixes: a leading zero is octal, which is how file modes such as 0644 are written. */
function parseInteger(text: string): bigint | undefined {
  if (text.length > maxDigits) return undefined;
  const match = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/.exec(text);
  if (match === null) return undefined;
  const digits = (match[2] ?? "").replace(/^0(?=[0-7]+$)/, "0o");
  return match[1] === "-" ? -BigInt(digits) : BigInt(digits);
}

function schemaWith(integer: (value: bigint) => number | bigint): Schema {
  const intTag = defineScalarTag<number | bigint>("tag:yaml.org,2002:int", {
    implicit: true,
    implicitFirstChars: [..."+-0123456789"],
    resolve(text) {
      const value = parseInteger(text.replaceAll("_", ""));
      return value === undefined ? NOT_RESOLVED : integer(value);
    },
    identify: (value) => Number.isInteger(value),
  });
  return CORE_SCHEMA.withTags(mergeTag, boolTag, intTag);
}

/**
 * What plain words and numbers mean: what they mean to kubectl, so that a file says the same to both. That is YAML 1.2
 * but with the booleans and octal numbers of 1.1, and with merge keys. Dates stay text. An int64 that no double holds is a bigint.
 */
export const kubectlSchema: Schema = schemaWith((value) =>
  Number.isSafeInteger(Number(value)) || BigInt.asIntN(64, value) !== value ? Number(value) : value,
);

/** The same, with all integers that no double holds as bigints. */
export const wideIntegerSchema: Schema = schemaWith((value) =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value,
);

/** How much a document may stand for, in characters and members, and how deep. */
interface ExpansionLimits {
  readonly size: number;
  readonly depth: number;
}

interface Extent {
  /** Characters and members, written out. */
  readonly size: number;
  readonly height: number;
}

const endless: Extent = { size: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY };

/**
 * Whether a value, written out, stays within limits. Aliases let a few lines of YAML stand for gigabytes, and some for themselves. Each
 * part is measured once, however often it is used.
 */
export function isBounded(value: unknown, { size, depth }: ExpansionLimits): boolean {
  const known = new Map<object, Extent>();
  const measure = (part: unknown, deep: number): Extent => {
    if (typeof part === "string") return { size: part.length + 1, height: 0 };
    if (typeof part !== "object" || part === null) return { size: 1, height: 0 };
    const before = known.get(part);
    if (before !== undefined) return before;
    if (deep > depth) return endless;
    // What is met again while it is measured contains itself.
    known.set(part, endless);
    let total = 1;
    let height = 0;
    for (const [name, member] of Array.isArray(part) ? part.entries() : Object.entries(part)) {
      const extent = measure(member, deep + 1);
      total += extent.size + (typeof name === "string" ? name.length : 0);
      height = Math.max(height, extent.height + 1);
      if (total > size) break;
    }
    const extent = { size: total, height };
    known.set(part, extent);
    return extent;
  };
  const found = measure(value, 0);
  return found.size <= size && found.height <= depth;
}

/** A part of a YAML stream between two document markers. */
export interface StreamPart {
  readonly body: string;
  /** Where the part begins in the stream, from 0. */
  readonly offset: number;
  /** The line on which it begins, from 1. */
  readonly line: number;
}

/**
 * Splits a YAML stream at its `---` markers, so that documents can be read one by one. A marker at the start of a line is never
 * content: it ends scalars of every style. A stream with directives is one part, because they belong to the document after them.
 */
export function* splitDocuments(text: string): Generator<StreamPart> {
  let line = 1;
  let from = 0;
  const marks = /^%/m.test(text) ? [] : text.matchAll(/^---(?=\s|$).*$/gm);
  for (const mark of marks) {
    const body = text.slice(from, mark.index);
    yield { body, offset: from, line };
    line += countLines(body);
    // What follows the mark on its own line belongs to the document.
    from = mark.index + 3;
  }
  yield { body: text.slice(from), offset: from, line };
}

/** Whether a part has nothing but white space, comments and end markers. */
export function isBlankDocument(body: string): boolean {
  for (const [line] of body.matchAll(/^.*$/gm)) {
    if (!/^\s*(?:#.*|\.\.\.\s*)?$/.test(line)) return false;
  }
  return true;
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

// Lines inside [ ] and { } that are indented less than the block around them, or with tabs: kubectl reads them, js-yaml does not.

/** The events of a text, and the text that they were read from: each character is where it was. */
interface ReadEvents {
  readonly events: Event[];
  readonly text: string;
}

const refusal = "deficient indentation";
/** Each collection that is read again costs another pass: a text may have many. */
const maxCharacters = 8 * 1024 * 1024;

/** Reads a text as js-yaml does; where that refuses the indentation inside a flow collection, as if the collection were on one line. */
export function readFlowEvents(source: string, options: { readonly maxDepth: number }): ReadEvents {
  let text = source;
  let first: unknown;
  for (let read = 0; read <= maxCharacters; read += source.length) {
    try {
      return { events: parseEvents(text, options), text };
    } catch (error) {
      first ??= error;
      const { reason, mark } = error instanceof YAMLException ? error : {};
      const joined = reason === refusal && mark !== undefined ? joinLines(text, mark.position) : text;
      if (joined === text) throw first;
      text = joined;
    }
  }
  throw first;
}

const isSpace = (character: string | undefined): boolean =>
  character === " " || character === "\t" || character === "\n" || character === "\r";

/** The text with line breaks, tabs and comments between tokens as spaces, from a position on to the end of its flow collection. */
function joinLines(text: string, position: number): string {
  const start = endOfToken(text, position);
  if (!isInsideCollection(text.slice(0, start))) return text;
  const end = endOfCollection(text, start);
  const out: string[] = [];
  for (let at = start; at < end; at += 1) {
    const close = quoteEnd(text, at);
    if (close !== undefined) {
      out.push(text.slice(at, close));
      at = close - 1;
    } else if (isComment(text, at)) {
      const stop = lineEnd(text, at);
      out.push(" ".repeat(stop - at));
      at = stop - 1;
    } else if (isSpace(text[at]) && text[at] !== " ") {
      // A plain scalar over several lines is folded, which spaces are not.
      if (isInScalar(text, at)) return text.slice(0, start) + out.join("") + text.slice(at);
      out.push(" ");
    } else out.push(text[at] ?? "");
  }
  return text.slice(0, start) + out.join("") + text.slice(end);
}

/** The place after the last token before a position: white space and a comment may follow it. */
function endOfToken(text: string, position: number): number {
  let start = position;
  while (start > 0 && isSpace(text[start - 1])) start -= 1;
  for (let at = text.lastIndexOf("\n", start - 1) + 1; at < start; at += 1) {
    if (isComment(text, at) && isInsideCollection(text.slice(0, at).trimEnd())) return endOfToken(text, at);
  }
  return start;
}

/** Whether a text ends inside a flow collection, and not inside a quoted scalar: js-yaml says what it misses. */
function isInsideCollection(text: string): boolean {
  try {
    parseEvents(text, { maxDepth: 1_000 });
    return false;
  } catch (error) {
    return error instanceof YAMLException && /end of the stream within a flow collection/.test(error.reason);
  }
}

const isComment = (text: string, at: number): boolean => text[at] === "#" && isSpace(text[at - 1]);

function lineEnd(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found < 0 ? text.length : found;
}

/** The place after a quoted scalar that begins here; undefined where none does. */
function quoteEnd(text: string, at: number): number | undefined {
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return undefined;
  let before = at - 1;
  while (isSpace(text[before])) before -= 1;
  if (!",[{:".includes(text[before] ?? "x")) return undefined;
  for (let end = at + 1; end < text.length; end += 1) {
    if (quote === '"' && text[end] === "\\") end += 1;
    else if (quote === "'" && text[end] === "'" && text[end + 1] === "'") end += 1;
    else if (text[end] === quote) return end + 1;
  }
  return text.length;
}

/** The next character that is neither white nor in a comment. */
function nextToken(text: string, from: number): string | undefined {
  for (let at = from; at < text.length; at += 1) {
    if (isComment(text, at)) at = lineEnd(text, at);
    else if (!isSpace(text[at])) return text[at];
  }
  return undefined;
}

function isInScalar(text: string, at: number): boolean {
  let before = at;
  while (isSpace(text[before])) before -= 1;
  const [last, next] = [text[before] ?? "[", nextToken(text, at) ?? "]"];
  return !",[{:]}\"'".includes(last) && !",]}:".includes(next);
}

/** The place after the outermost collection that is open here: a comma or another end follows each inner one. */
function endOfCollection(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const close = quoteEnd(text, at);
    if (close !== undefined) at = close - 1;
    else if (isComment(text, at)) at = lineEnd(text, at);
    else if (text[at] === "[" || text[at] === "{") depth += 1;
    else if (text[at] === "]" || text[at] === "}") {
      depth -= 1;
      if (depth < 0 && !",]}".includes(nextToken(text, at + 1) ?? "x")) return at + 1;
      depth = Math.max(depth, 0);
    }
  }
  return text.length;
}
