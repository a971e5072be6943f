// SPDX-License-Identifier: Apache-2.0

/** Token types, numbered in the order in which messages list what was expected. */
export const T = {
  eof: -1,
  equals: 1,
  notEquals: 2,
  in: 3,
  less: 4,
  lessEquals: 5,
  greaterEquals: 6,
  greater: 7,
  and: 8,
  or: 9,
  leftBracket: 10,
  rightBracket: 11,
  leftBrace: 12,
  rightBrace: 13,
  leftParen: 14,
  rightParen: 15,
  dot: 16,
  comma: 17,
  minus: 18,
  exclamation: 19,
  question: 20,
  colon: 21,
  plus: 22,
  star: 23,
  slash: 24,
  percent: 25,
  true: 26,
  false: 27,
  null: 28,
  float: 31,
  int: 32,
  uint: 33,
  string: 34,
  bytes: 35,
  identifier: 36,
  escapedIdentifier: 37,
} as const;

export type TokenType = (typeof T)[keyof typeof T];

export interface Token {
  readonly type: TokenType;
  readonly text: string;
  /** Code point offset of the first character. */
  readonly start: number;
  /** White space and comments in front. */
  readonly before: string;
}

/** Every token with a fixed spelling, longest first so that a prefix never wins. */
export const punctuation: readonly (readonly [string, TokenType])[] = [
  ["==", T.equals],
  ["!=", T.notEquals],
  ["<=", T.lessEquals],
  [">=", T.greaterEquals],
  ["&&", T.and],
  ["||", T.or],
  ["<", T.less],
  [">", T.greater],
  ["[", T.leftBracket],
  ["]", T.rightBracket],
  ["{", T.leftBrace],
  ["}", T.rightBrace],
  ["(", T.leftParen],
  [")", T.rightParen],
  [".", T.dot],
  [",", T.comma],
  ["-", T.minus],
  ["!", T.exclamation],
  ["?", T.question],
  [":", T.colon],
  ["+", T.plus],
  ["*", T.star],
  ["/", T.slash],
  ["%", T.percent],
];

export const keywords: ReadonlyMap<string, TokenType> = new Map([
  ["in", T.in],
  ["true", T.true],
  ["false", T.false],
  ["null", T.null],
]);

const symbolicNames: ReadonlyMap<TokenType, string> = new Map([
  [T.eof, "<EOF>"],
  [T.float, "NUM_FLOAT"],
  [T.int, "NUM_INT"],
  [T.uint, "NUM_UINT"],
  [T.string, "STRING"],
  [T.bytes, "BYTES"],
  [T.identifier, "IDENTIFIER"],
  [T.escapedIdentifier, "ESC_IDENTIFIER"],
]);

const spellings: ReadonlyMap<TokenType, string> = new Map(
  [...punctuation, ...keywords].map(([text, type]) => [type, `'${text}'`] as const),
);

/** How a message names a token type. */
export function tokenTypeName(type: TokenType): string {
  return symbolicNames.get(type) ?? spellings.get(type) ?? `${type}`;
}
