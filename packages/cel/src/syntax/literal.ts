// SPDX-License-Identifier: Apache-2.0
import { maxInt, maxUint, minInt, Uint, type Value } from "../values/value.ts";
import { T, type Token } from "./token.ts";

/** The value of a literal token. */
export function parseLiteral(token: Token, isNegative: boolean): Value {
  switch (token.type) {
    case T.int:
      return parseInt64(token.text, isNegative);
    case T.uint:
      return parseUint64(token.text.slice(0, -1));
    case T.float:
      return parseDouble(token.text, isNegative);
    case T.string:
      return unescapeString(token.text);
    case T.bytes:
      return unescapeBytes(token.text);
    case T.true:
      return true;
    case T.false:
      return false;
    default:
      return null;
  }
}

function parseInt64(text: string, isNegative: boolean): bigint {
  const value = isNegative ? -BigInt(text) : BigInt(text);
  if (value < minInt || value > maxInt) throw new LiteralError("invalid int literal");
  return value;
}

function parseUint64(text: string): Uint {
  const value = BigInt(text);
  if (value > maxUint) throw new LiteralError("invalid uint literal");
  return new Uint(value);
}

function parseDouble(text: string, isNegative: boolean): number {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new LiteralError("invalid double literal");
  return isNegative ? -value : value;
}

const simpleEscapes: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["b", 8],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
  ["\\", 92],
  ["'", 39],
  ['"', 34],
  ["`", 96],
  ["?", 63],
]);

const hexLengths: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["X", 2],
  ["u", 4],
  ["U", 8],
]);

/** A problem inside a literal, with the message CEL gives for it. */
export class LiteralError extends Error {}

/** The text a string literal stands for, given the token with its quotes. */
function unescapeString(token: string): string {
  const { body, isRaw } = stripQuotes(token);
  if (isRaw || !body.includes("\\")) return body;
  let text = "";
  for (const part of escapeParts(body, false)) text += String.fromCodePoint(part.code);
  return text;
}

/** The bytes a bytes literal stands for, given the token with its `b` and quotes. */
function unescapeBytes(token: string): Uint8Array {
  const { body, isRaw } = stripQuotes(token.slice(1));
  if (isRaw || !body.includes("\\")) return Buffer.from(body, "utf8");
  const chunks: Buffer[] = [];
  for (const part of escapeParts(body, true)) {
    chunks.push(part.isByte ? Buffer.from([part.code]) : Buffer.from(String.fromCodePoint(part.code), "utf8"));
  }
  return Buffer.concat(chunks);
}

function stripQuotes(token: string): { readonly body: string; readonly isRaw: boolean } {
  const text = token.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  const isRaw = text.startsWith("r") || text.startsWith("R");
  const quoted = isRaw ? text.slice(1) : text;
  const isTriple = quoted.length >= 6 && (quoted.startsWith('"""') || quoted.startsWith("'''"));
  const width = isTriple ? 3 : 1;
  return { body: quoted.slice(width, quoted.length - width), isRaw };
}

interface Part {
  readonly code: number;
  /** In bytes literals a numeric escape is one byte, not a character. */
  readonly isByte: boolean;
}

function* escapeParts(body: string, isBytes: boolean): Generator<Part> {
  const points = Array.from(body);
  let at = 0;
  while (at < points.length) {
    const point = points[at] ?? "";
    if (point !== "\\") {
      yield { code: point.codePointAt(0) ?? 0, isByte: false };
      at++;
      continue;
    }
    const kind = points[at + 1] ?? "";
    const simple = simpleEscapes.get(kind);
    if (simple !== undefined) {
      yield { code: simple, isByte: false };
      at += 2;
      continue;
    }
    const length = hexLengths.get(kind);
    const digits = length === undefined ? points.slice(at + 1, at + 4) : points.slice(at + 2, at + 2 + length);
    const code = Number.parseInt(digits.join(""), length === undefined ? 8 : 16);
    checkEscape({ code, kind, isBytes });
    yield { code, isByte: isBytes };
    at += digits.length + (length === undefined ? 1 : 2);
  }
}

function checkEscape({ code, kind, isBytes }: { code: number; kind: string; isBytes: boolean }): void {
  if (isBytes && (kind === "u" || kind === "U")) throw new LiteralError("unable to unescape string");
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  if (!isBytes && (isSurrogate || code > 0x10ffff)) throw new LiteralError("invalid unicode code point");
}
