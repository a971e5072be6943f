// SPDX-License-Identifier: Apache-2.0
import { maxInt, maxUint, minInt, Uint } from "../values/integers.ts";
import type { Value } from "../values/value.ts";
import { T, type Token } from "./token.ts";
import { LiteralProblem, unescapeBytes, unescapeString } from "./unescape.ts";

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
  if (value < minInt || value > maxInt) throw new LiteralProblem("invalid int literal");
  return value;
}

function parseUint64(text: string): Uint {
  const value = BigInt(text);
  if (value > maxUint) throw new LiteralProblem("invalid uint literal");
  return new Uint(value);
}

function parseDouble(text: string, isNegative: boolean): number {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new LiteralProblem("invalid double literal");
  return isNegative ? -value : value;
}
