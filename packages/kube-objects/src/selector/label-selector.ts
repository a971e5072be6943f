// SPDX-License-Identifier: Apache-2.0
// Label selectors as text: `app=web,tier in (a,b),!legacy`. All requirements must hold.
import { fieldErrorsText } from "../errors/field-error.ts";
import { findStatusError } from "../errors/status-error.ts";
import { badRequest } from "../errors/status-error-constructors.ts";
import { compareUtf8 } from "../json/json-value.ts";
import {
  binaryOperators,
  createRequirement,
  formatRequirement,
  keyErrors,
  type LabelOperator,
  type LabelRequirement,
  meetsRequirement,
} from "./label-requirement.ts";

/** One token of a label selector. `text` is what messages show for it. */
interface LabelToken {
  readonly kind: LabelTokenKind;
  readonly text: string;
}

/** The kinds of tokens: symbols stand for themselves. */
type LabelTokenKind = "identifier" | "end" | "in" | "notin" | SymbolToken;

type SymbolToken = "=" | "==" | "!=" | "!" | "(" | ")" | "," | ">" | "<";

const symbols: ReadonlySet<string> = new Set<SymbolToken>(["=", "==", "!=", "!", "(", ")", ",", ">", "<"]);

const special = /[=!(),><]/;

const blank = /[ \t\r\n]/;

const identifierRun = /[^ \t\r\n=!(),><\0]*/y;

/** A parsed label selector: every requirement must hold, so an empty list selects everything. */
export type LabelSelector = readonly LabelRequirement[];

/** The selector that matches no object at all: no label has a value in an empty set. */
export const selectNothing: LabelSelector = Object.freeze([Object.freeze({ key: "", operator: "in", values: [] })]);

type Labels = Readonly<Record<string, string>> | null | undefined;

/** Whether an object with these labels is selected. */
export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  for (const requirement of selector) {
    const value = labels && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
    if (!meetsRequirement(requirement, value)) return false;
  }
  return true;
}

/** The selector as text; requirements keep their order. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector === selectNothing ? "" : selector.map(formatRequirement).join(",");
}

/** A selector with the requirements ordered by key, as the reference keeps them. */
export function sortRequirements(requirements: readonly LabelRequirement[]): LabelSelector {
  return [...requirements].sort((a, b) => compareUtf8(a.key, b.key));
}

interface Cursor {
  readonly tokens: readonly LabelToken[];
  position: number;
}

const endToken: LabelToken = { kind: "end", text: "" };
const peek = (cursor: Cursor): LabelToken => cursor.tokens[cursor.position] ?? endToken;

function take(cursor: Cursor): LabelToken {
  const token = peek(cursor);
  cursor.position++;
  return token;
}

// Where a key or value is expected, "in" and "notin" are ordinary words.
const isWord = ({ kind }: LabelToken): boolean => kind === "identifier" || kind === "in" || kind === "notin";

/** Parses a label selector. Throws BadRequest with the reference's text. */
export function parseLabelSelector(text: string): LabelSelector {
  const cursor: Cursor = { tokens: lexLabelSelector(text), position: 0 };
  const requirements: LabelRequirement[] = [];
  while (peek(cursor).kind !== "end") {
    const first = peek(cursor);
    if (!isWord(first) && first.kind !== "!") {
      throw badRequest(`found '${first.text}', expected: !, identifier, or 'end of string'`);
    }
    requirements.push(requirementAt(cursor));
    const next = take(cursor);
    if (next.kind === "end") break;
    if (next.kind !== ",") throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`);
    const after = peek(cursor);
    if (!isWord(after) && after.kind !== "!") throw badRequest(`found '${after.text}', expected: identifier after ','`);
  }
  return sortRequirements(requirements);
}

function requirementAt(cursor: Cursor): LabelRequirement {
  try {
    return readRequirement(cursor);
  } catch (error) {
    const known = findStatusError(error);
    throw known ? badRequest(`unable to parse requirement: ${known.message}`) : error;
  }
}

function readRequirement(cursor: Cursor): LabelRequirement {
  const negated = peek(cursor).kind === "!";
  if (negated) take(cursor);
  const key = take(cursor);
  if (!isWord(key)) throw badRequest(`found '${key.text}', expected: identifier`);
  const errors = keyErrors(key.text, undefined);
  if (errors.length > 0) throw badRequest(fieldErrorsText(errors));
  if (negated) return createRequirement(key.text, "!", []);
  const next = peek(cursor).kind;
  if (next === "end" || next === ",") return createRequirement(key.text, "exists", []);
  const operator = readOperator(cursor);
  const values = operator === "in" || operator === "notin" ? readValues(cursor) : readExactValue(cursor);
  return createRequirement(key.text, operator, [...values].sort(compareUtf8));
}

const operatorOf: Partial<Record<LabelTokenKind, LabelOperator>> = {
  in: "in",
  notin: "notin",
  "=": "=",
  "==": "==",
  "!=": "!=",
  ">": "gt",
  "<": "lt",
};

function readOperator(cursor: Cursor): LabelOperator {
  const token = take(cursor);
  const operator = operatorOf[token.kind];
  if (operator === undefined) throw badRequest(`found '${token.text}', expected: ${binaryOperators.join(", ")}`);
  return operator;
}

function readExactValue(cursor: Cursor): Set<string> {
  const next = peek(cursor).kind;
  if (next === "end" || next === ",") return new Set([""]);
  const token = take(cursor);
  if (!isWord(token)) throw badRequest(`found '${token.text}', expected: identifier`);
  return new Set([token.text]);
}

function readValues(cursor: Cursor): Set<string> {
  const open = take(cursor);
  if (open.kind !== "(") throw badRequest(`found '${open.text}' expected: '('`);
  const first = peek(cursor);
  if (first.kind === ")") {
    take(cursor);
    return new Set([""]);
  }
  if (!isWord(first) && first.kind !== ",") throw badRequest(`found '${first.text}', expected: ',', ')' or identifier`);
  const values = readValueList(cursor);
  // readValueList only stops in front of a closing parenthesis.
  take(cursor);
  return values;
}

// An empty place between commas, or beside a parenthesis, is the empty value.
function readValueList(cursor: Cursor): Set<string> {
  const values = new Set<string>();
  for (;;) {
    const token = take(cursor);
    const next = peek(cursor);
    if (isWord(token)) {
      values.add(token.text);
      if (next.kind === ")") return values;
      if (next.kind !== ",") throw badRequest(`found '${next.text}', expected: ',' or ')'`);
    } else if (token.kind === ",") {
      if (values.size === 0 || next.kind === "," || next.kind === ")") values.add("");
      if (next.kind === ")") return values;
    } else {
      throw badRequest(`found '${token.text}', expected: ',', or identifier`);
    }
  }
}

/** The one value the selector requires a label to have, if it does. */
export function exactLabelValue(selector: LabelSelector, key: string): string | undefined {
  const requirement = selector.find((candidate) => candidate.key === key);
  if (requirement?.values.length !== 1) return undefined;
  const { operator } = requirement;
  return operator === "=" || operator === "==" || operator === "in" ? requirement.values[0] : undefined;
}

/** Splits a selector into tokens, the last one being the end. Never fails. */
function lexLabelSelector(text: string): LabelToken[] {
  const tokens: LabelToken[] = [];
  let position = 0;
  for (;;) {
    while (blank.test(text.charAt(position))) position++;
    const char = text.charAt(position);
    // As in the reference, a NUL where a token could start ends the text; right after a token it is swallowed.
    if (char === "" || char === "\0") return [...tokens, { kind: "end", text: "" }];
    const { token, end } = special.test(char) ? symbolAt(text, position) : wordAt(text, position);
    tokens.push(token);
    position = text.charAt(end) === "\0" ? end + 1 : end;
  }
}

function wordAt(text: string, start: number): { token: LabelToken; end: number } {
  identifierRun.lastIndex = start;
  const word = identifierRun.exec(text)?.[0] ?? "";
  const end = start + word.length;
  if (word === "in" || word === "notin") return { token: { kind: word, text: word }, end };
  return { token: { kind: "identifier", text: word }, end };
}

// The longest symbol wins: "!=" before "!", "==" before "=".
function symbolAt(text: string, start: number): { token: LabelToken; end: number } {
  const pair = text.slice(start, start + 2);
  const symbol = symbols.has(pair) ? pair : pair.charAt(0);
  return { token: { kind: symbol as SymbolToken, text: symbol }, end: start + symbol.length };
}
