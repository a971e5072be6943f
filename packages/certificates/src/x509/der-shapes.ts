// SPDX-License-Identifier: Apache-2.0
// Reads DER into a structure that the caller describes, with the rules and the texts of Go's encoding/asn1: the real
// API server answers with them. Shapes are finite, so the depth of the data has no effect on the depth of the reader.
import { isUtf8 } from "node:buffer";

/** What is wrong with bytes, in Go's words. */
export class DerError extends Error {}

const syntax = (text: string): DerError => new DerError(`asn1: syntax error: ${text}`);
const structural = (text: string): DerError => new DerError(`asn1: structure error: ${text}`);

/** A part of a structure. `raw` is any element, and `any` one whose value is checked if its type is known. */
export type Shape =
  | { readonly is: "raw" | "any" | "oid" | "bits" | "int" | "bool" | "octets" }
  | { readonly is: "struct"; readonly name: string; readonly fields: readonly Field[] }
  | { readonly is: "list"; readonly name: string; readonly of: Shape };

interface Field {
  readonly shape: Shape;
  readonly isOptional?: boolean;
  /** The number of a context-specific tag, which replaces the one of the type or, if it is explicit, surrounds it. */
  readonly tag?: number;
  readonly isExplicit?: boolean;
  /** A SET OF instead of a SEQUENCE OF. */
  readonly isSet?: boolean;
}

/** The bytes from one place to another; nothing is copied, as a request can have tens of thousands of elements. */
interface Range {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

const rangeOf = (bytes: Uint8Array): Range => ({ bytes, start: 0, end: bytes.length });
const bytesOf = ({ bytes, start, end }: Range): Uint8Array => bytes.subarray(start, end);

/** An element as it was read. What is absent has no bytes. */
export class Decoded {
  readonly tag: number;
  /** The fields of a struct or the elements of a list. */
  parts: readonly Decoded[] = noParts;
  /** An object identifier as numbers with dots. */
  oid = "";
  readonly #start: number;
  readonly #content: Range;

  /** @param start where the header begins. */
  constructor(start: number, tag: number, content: Range) {
    this.#start = start;
    this.tag = tag;
    this.#content = content;
  }

  get whole(): Uint8Array {
    return this.#content.bytes.subarray(this.#start, this.#content.end);
  }

  get content(): Uint8Array {
    return bytesOf(this.#content);
  }

  /** Where the next element begins. */
  get end(): number {
    return this.#content.end;
  }
}

const noParts: readonly Decoded[] = [];
const absent = new Decoded(0, -1, rangeOf(new Uint8Array()));

interface Header {
  readonly class: number;
  readonly tag: number;
  readonly length: number;
  readonly isCompound: boolean;
  /** Where the content begins. */
  readonly at: number;
}

/** A number in base 128 and, behind it, where it ends. */
function readBase128(
  { bytes, end }: Pick<Range, "bytes" | "end">,
  start: number,
): readonly [value: number, end: number] {
  let value = 0;
  for (let at = start; at < end; at += 1) {
    if (at - start === 5) throw structural("base 128 integer too large");
    const byte = bytes[at] ?? 0;
    if (at === start && byte === 0x80) throw syntax("integer is not minimally encoded");
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      if (value > 0x7fffffff) throw structural("base 128 integer too large");
      return [value, at + 1];
    }
  }
  throw syntax("truncated base 128 integer");
}

function readHeader(range: Range, start: number): Header {
  const { bytes, end } = range;
  const first = bytes[start] ?? 0;
  const isLong = (first & 0x1f) === 0x1f;
  const [tag, at] = isLong ? readBase128(range, start + 1) : [first & 0x1f, start + 1];
  if (isLong && tag < 0x1f) throw syntax("non-minimal tag");
  if (at >= end) throw syntax("truncated tag or length");
  const size = bytes[at] ?? 0;
  const length = size < 0x80 ? size : readLength(range, at);
  return {
    class: first >> 6,
    tag,
    isCompound: (first & 0x20) !== 0,
    length,
    at: at + 1 + (size < 0x80 ? 0 : size & 0x7f),
  };
}

/** A length that has more than one byte. */
function readLength({ bytes, end: last }: Range, start: number): number {
  const first = bytes[start] ?? 0;
  const end = start + 1 + (first & 0x7f);
  if (first === 0x80) throw syntax("indefinite length found (not DER)");
  let length = 0;
  for (let at = start + 1; at < end; at += 1) {
    if (at >= last) throw syntax("truncated tag or length");
    if (length >= 1 << 23) throw structural("length too large");
    length = length * 256 + (bytes[at] ?? 0);
    if (length === 0) throw structural("superfluous leading zeros in length");
  }
  if (length < 0x80) throw structural("non-minimal length");
  return length;
}

const tagNumbers = { bool: 1, int: 2, bits: 3, octets: 4, oid: 6, struct: 16, list: 16, raw: -1, any: -1 } as const;
const goNames = { bool: "bool", int: "int", bits: "BitString", octets: "", oid: "ObjectIdentifier" } as const;

/** Go treats a list as a set if the name of its type ends so. */
function expected(shape: Shape): { readonly tag: number; readonly isCompound: boolean; readonly name: string } {
  const isCompound = shape.is === "struct" || shape.is === "list";
  const name = "name" in shape ? shape.name : shape.is === "raw" || shape.is === "any" ? "" : goNames[shape.is];
  return { tag: name.endsWith("SET") ? 17 : tagNumbers[shape.is], isCompound, name };
}

/** Reads one element of the shape and says what follows it. Throws a DerError. */
export function decodeDer(bytes: Uint8Array, shape: Shape): { readonly value: Decoded; readonly rest: Uint8Array } {
  const value = decodeField(rangeOf(bytes), 0, { shape });
  return { value, rest: bytes.subarray(value.end) };
}

function decodeField(range: Range, start: number, field: Field): Decoded {
  if (start === range.end) {
    if (field.isOptional) return absent;
    throw syntax("sequence truncated");
  }
  const { shape } = field;
  const outer = readHeader(range, start);
  const header = field.isExplicit ? innerHeader(range, outer, field) : outer;
  if (header === undefined || !isMatch(header, field)) {
    if (field.isOptional) return absent;
    throw structural(mismatchText(header ?? outer, range, field));
  }
  const end = header.at + header.length;
  if (end > range.end) throw syntax("data truncated");
  const content = { bytes: range.bytes, start: header.at, end };
  const element = new Decoded(start, header.tag, content);
  if (shape.is === "struct") element.parts = decodeStruct(content, shape.fields);
  else if (shape.is === "list") element.parts = decodeList(content, shape.of);
  else if (shape.is === "oid") element.oid = readOid(element.content);
  else if (shape.is !== "any") valueChecks[tagNumbers[shape.is]]?.(element.content);
  else if (!header.isCompound && header.class === 0) valueChecks[header.tag]?.(element.content);
  return element;
}

/** The header inside of an explicit tag; undefined when the tag is another one. */
function innerHeader(range: Range, outer: Header, { tag }: Field): Header | undefined {
  if (outer.at === range.end) throw structural("explicit tag has no child");
  if (outer.class !== 2 || outer.tag !== tag || !(outer.length === 0 || outer.isCompound)) return undefined;
  if (outer.length === 0) throw structural("zero length explicit tag was not an asn1.Flag");
  return readHeader(range, outer.at);
}

function isMatch(header: Header, { shape, tag, isExplicit, isSet }: Field): boolean {
  if (shape.is === "raw" || shape.is === "any") return true;
  const want = expected(shape);
  const isOwn = tag !== undefined && !isExplicit;
  const number = isOwn ? tag : isSet ? 17 : want.tag;
  return header.class === (isOwn ? 2 : 0) && header.tag === number && header.isCompound === want.isCompound;
}

function mismatchText(header: Header, { start }: Range, field: Field): string {
  const { shape, isOptional = false, tag, isExplicit = false, isSet = false } = field;
  if (isExplicit) return "explicitly tagged member didn't match";
  const want = expected(shape);
  const found = `{class:${header.class} tag:${header.tag} length:${header.length} isCompound:${header.isCompound}}`;
  // Go prints the address of a tag that is set.
  const rules = `{optional:${isOptional} explicit:false application:false private:false defaultValue:<nil> tag:${tag === undefined ? "<nil>" : "0xc000012345"} stringType:0 timeType:0 set:${isSet} omitEmpty:false}`;
  return `tags don't match (${tag ?? (isSet ? 17 : want.tag)} vs ${found}) ${rules} ${want.name} @${header.at - start}`;
}

/** More elements than fields are allowed: structures grow at their end. */
function decodeStruct(range: Range, fields: readonly Field[]): Decoded[] {
  let at = range.start;
  return fields.map((field) => {
    const part = decodeField(range, at, field);
    if (part !== absent) at = part.end;
    return part;
  });
}

const textTags = new Set([12, 18, 20, 22, 27, 30]);
const timeTags = new Set([23, 24]);

function decodeList(range: Range, of: Shape): Decoded[] {
  const want = expected(of);
  for (let at = range.start; at < range.end; ) {
    const header = readHeader(range, at);
    const tag = textTags.has(header.tag) ? 19 : timeTags.has(header.tag) ? 23 : header.tag;
    const isOther = header.class !== 0 || header.isCompound !== want.isCompound || tag !== want.tag;
    if (of.is !== "raw" && isOther) throw structural("sequence tag mismatch");
    at = header.at + header.length;
    if (at > range.end) throw syntax("truncated sequence");
  }
  const elements: Decoded[] = [];
  const field = { shape: of };
  for (let at = range.start; at < range.end; at = elements.at(-1)?.end ?? range.end) {
    elements.push(decodeField(range, at, field));
  }
  return elements;
}

const valueChecks: Readonly<Record<number, (content: Uint8Array) => void>> = {
  1: checkBoolean,
  2: checkInteger,
  3: checkBits,
  6: readOid,
  12: (content) => checkText(content, isUtf8, "asn1: invalid UTF-8 string"),
  18: (content) => checkText(content, isNumeric, invalidCharacter("NumericString")),
  19: (content) => checkText(content, isPrintable, invalidCharacter("PrintableString")),
  22: (content) => checkText(content, isAscii, invalidCharacter("IA5String")),
  30: (content) => checkText(content, isBmp, "invalid BMPString"),
};

const invalidCharacter = (type: string): string => `asn1: syntax error: ${type} contains invalid character`;

function checkText(content: Uint8Array, isValid: (content: Uint8Array) => boolean, problem: string): void {
  if (!isValid(content)) throw new DerError(problem);
}

const latin1 = (content: Uint8Array): string => Buffer.from(content).toString("latin1");

export const isNumeric = (content: Uint8Array): boolean => /^[0-9 ]*$/.test(latin1(content));
export const isPrintable = (content: Uint8Array): boolean => /^[a-zA-Z0-9'()+,\-./ :=?*&]*$/.test(latin1(content));
export const isAscii = (content: Uint8Array): boolean => content.every((byte) => byte < 0x80);

/** Text of two bytes a character, without surrogates and what Unicode reserves. */
export function isBmp(content: Uint8Array): boolean {
  if (content.length % 2 !== 0) return false;
  for (let at = 0; at < content.length; at += 2) {
    const point = (content[at] ?? 0) * 256 + (content[at + 1] ?? 0);
    const isReserved = point >= 0xfffe || (point >= 0xfdd0 && point <= 0xfdef) || (point >= 0xd800 && point <= 0xdfff);
    if (isReserved) return false;
  }
  return true;
}

function checkBoolean(content: Uint8Array): void {
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw syntax("invalid boolean");
}

function checkInteger(content: Uint8Array): void {
  if (content.length === 0) throw structural("empty integer");
  if (!isMinimal(content)) throw structural("integer not minimally-encoded");
  if (content.length > 8) throw structural("integer too large");
}

/** Whether an integer has no superfluous first byte. */
export function isMinimal(content: Uint8Array): boolean {
  const [first = 0, second = 0] = content;
  return content.length < 2 || !((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
}

function checkBits(content: Uint8Array): void {
  if (content.length === 0) throw syntax("zero length BIT STRING");
  if (!hasValidPadding(content)) throw syntax("invalid padding bits in BIT STRING");
}

export function hasValidPadding(content: Uint8Array): boolean {
  const [padding = 0, last = 0] = [content[0], content.at(-1)];
  if (padding > 7 || (content.length === 1 && padding > 0)) return false;
  return content.length === 1 || (last & ((1 << padding) - 1)) === 0;
}

/** The bits of a BIT STRING, with its padding in front. */
export function bitsOf(content: Uint8Array): Uint8Array {
  const padding = content[0] ?? 0;
  const bytes = content.subarray(1);
  if (padding === 0) return bytes;
  return bytes.map((byte, index) => (byte >> padding) | ((index === 0 ? 0 : (bytes[index - 1] ?? 0)) << (8 - padding)));
}

/** An object identifier as numbers with dots. Throws a DerError. */
export function readOid(content: Uint8Array): string {
  if (content.length === 0) throw syntax("zero length OBJECT IDENTIFIER");
  const range = rangeOf(content);
  const [value, second] = readBase128(range, 0);
  const numbers = value < 80 ? [Math.floor(value / 40), value % 40] : [2, value - 80];
  for (let at = second; at < content.length; ) {
    const [next, end] = readBase128(range, at);
    numbers.push(next);
    at = end;
  }
  return numbers.join(".");
}
