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

/** Marks, in a token set, that the rule may end here, so the caller decides what may follow. */
export const ruleEnd = 0;

export type TokenSet = ReadonlySet<TokenType | typeof ruleEnd>;

/** A place in the grammar: what may come next, and what may come after that token when only one may come. */
export interface State {
  readonly next: TokenSet;
  readonly after: TokenSet;
}

const set = (...types: (TokenType | typeof ruleEnd)[]): TokenSet => new Set(types);
const union = (...sets: TokenSet[]): TokenSet => new Set(sets.flatMap((one) => [...one]));
const state = (next: TokenSet, after: TokenSet = set()): State => ({ next, after });

const literalStart = set(T.minus, T.true, T.false, T.null, T.float, T.int, T.uint, T.string, T.bytes);
const primaryStart = union(literalStart, set(T.leftBracket, T.leftBrace, T.leftParen, T.dot, T.identifier));
const unaryStart = union(primaryStart, set(T.exclamation));
const optionalStart = union(unaryStart, set(T.question));
const fieldStart = set(T.question, T.identifier, T.escapedIdentifier);
const name = set(T.identifier, T.escapedIdentifier);
const memberEnd = set(T.dot, T.leftBracket, ruleEnd);
const end = set(ruleEnd);
const commaOrEnd = set(T.comma, ruleEnd);

export const relationTokens: TokenSet = set(
  T.equals,
  T.notEquals,
  T.in,
  T.less,
  T.lessEquals,
  T.greaterEquals,
  T.greater,
);
export const productTokens: TokenSet = set(T.star, T.slash, T.percent);
export const sumTokens: TokenSet = set(T.plus, T.minus);
const relationEnd = union(relationTokens, end);
const calcEnd = union(productTokens, sumTokens, end);

/** The first tokens a part may have, for the decisions that look no further. */
export const first = {
  expression: unaryStart as TokenSet,
  optional: optionalStart as TokenSet,
  field: fieldStart as TokenSet,
} as const;

/** Every place at which the parser calls a rule, expects a token or checks what comes. Named rule, then place. */
export const at = {
  startEnd: state(set(T.eof)) as State,
  ternaryMark: state(set(T.question, ruleEnd)) as State,
  ternaryColon: state(set(T.colon), unaryStart) as State,
  ternaryElse: state(end) as State,
  orOperand: state(set(T.or, ruleEnd)) as State,
  andOperand: state(set(T.and, ruleEnd)) as State,
  relationOperand: state(relationEnd) as State,
  relationOperator: state(relationTokens, unaryStart) as State,
  calcOperand: state(calcEnd) as State,
  calcOperator: state(union(productTokens, sumTokens), unaryStart) as State,
  unary: state(unaryStart) as State,
  unaryMember: state(end) as State,
  notLoop: state(union(primaryStart, set(T.exclamation))) as State,
  negateLoop: state(primaryStart) as State,
  memberPrimary: state(memberEnd) as State,
  memberSuffix: state(set(T.dot, T.leftBracket)) as State,
  selectDot: state(set(T.dot), fieldStart) as State,
  selectMark: state(fieldStart) as State,
  selectName: state(memberEnd) as State,
  callName: state(set(T.identifier), set(T.leftParen)) as State,
  callOpen: state(set(T.leftParen), union(unaryStart, set(T.rightParen))) as State,
  callArguments: state(union(unaryStart, set(T.rightParen))) as State,
  callClose: state(set(T.rightParen), memberEnd) as State,
  indexOpen: state(set(T.leftBracket), optionalStart) as State,
  indexMark: state(optionalStart) as State,
  indexClose: state(set(T.rightBracket), memberEnd) as State,
  primary: state(primaryStart) as State,
  primaryName: state(set(T.identifier), end) as State,
  primaryNameAfterDot: state(set(T.identifier), end) as State,
  globalCallOpen: state(set(T.leftParen), union(unaryStart, set(T.rightParen))) as State,
  globalCallArguments: state(union(unaryStart, set(T.rightParen))) as State,
  globalCallClose: state(set(T.rightParen), end) as State,
  nestedClose: state(set(T.rightParen), end) as State,
  listStart: state(union(optionalStart, set(T.comma, T.rightBracket))) as State,
  listComma: state(set(T.comma, T.rightBracket)) as State,
  listClose: state(set(T.rightBracket), end) as State,
  mapStart: state(union(optionalStart, set(T.comma, T.rightBrace))) as State,
  mapComma: state(set(T.comma, T.rightBrace)) as State,
  mapClose: state(set(T.rightBrace), end) as State,
  structStart: state(union(fieldStart, set(T.comma, T.rightBrace))) as State,
  structComma: state(set(T.comma, T.rightBrace)) as State,
  structClose: state(set(T.rightBrace), end) as State,
  literal: state(literalStart) as State,
  literalEnd: state(end) as State,
  argument: state(commaOrEnd) as State,
  element: state(commaOrEnd) as State,
  elementValue: state(end) as State,
  elementMark: state(optionalStart) as State,
  entryKey: state(set(T.colon), unaryStart) as State,
  entryValue: state(commaOrEnd) as State,
  fieldMark: state(fieldStart) as State,
  fieldName: state(end) as State,
  fieldColon: state(set(T.colon), unaryStart) as State,
  fieldValue: state(commaOrEnd) as State,
  name: state(name) as State,
} as const;
