// SPDX-License-Identifier: Apache-2.0

import { createContext, Script } from "node:vm";
import { evaluateExpression } from "@purlin/cel";
import {
  isJsonArray,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  printJson,
} from "@purlin/kube-objects/json";
import type { PathSegment } from "../files/yaml-position.ts";

const limitMs = 1_000;
const script = new Script("new RegExp(pattern).test(text)");
const scope = createContext({ pattern: "", text: "" });

/** Whether a text matches a regular expression, or why that is not known: the expression is wrong, or it takes too long. */
export function matchesInTime(pattern: string, text: string): boolean | string {
  Object.assign(scope, { pattern, text });
  try {
    return script.runInContext(scope, { timeout: limitMs }) === true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") return message;
    const length = `${text.length} characters`;
    return `the regular expression ${JSON.stringify(pattern)} took more than ${limitMs / 1000} s on ${length}: make it simpler`;
  }
}

/** One difference from what was expected. */
export interface Mismatch {
  /** One line, which begins with the path of the value. */
  readonly text: string;
  /** Where the expectation is, from the object with all expectations. */
  readonly at: readonly PathSegment[];
}

/** A value that is compared: its path as it is printed, and where its expectation is. */
interface Place {
  readonly shown: string;
  readonly at: readonly PathSegment[];
}

/** The place of an expectation by its name. */
export const place = (...at: readonly string[]): Place => ({ shown: at.join("."), at });

/** A line about a place. */
export const mismatch = ({ shown: path, at }: Place, text: string): Mismatch => ({ text: `${path}: ${text}`, at });

const member = ({ shown: path, at }: Place, key: string, name: string): Place => ({
  shown: path === "" ? name : `${path}.${name}`,
  at: [...at, key],
});

const item = ({ shown: path, at }: Place, index: number, id: string): Place => ({
  shown: `${path}[${id}]`,
  at: [...at, index],
});

/** The keys by which items of lists are matched. */
const itemKeys = ["name", "key", "id", "type"];

const shown = (value: JsonValue | undefined): string => (value === undefined ? "nothing" : printJson(value));

/** The differences of a value from a partial object. Lists match by their keys, or by index; `$` keys are operators. */
export function mismatches(expected: JsonValue, actual: JsonValue | undefined, path: Place): Mismatch[] {
  const operator = operatorOf(expected);
  if (operator !== undefined) return applyOperator(operator, actual, path);
  if (isJsonObject(expected)) return inObject(expected, actual, path);
  if (isJsonArray(expected)) return inList(expected, actual, path);
  return jsonEqual(expected, actual ?? null) && actual !== undefined
    ? []
    : [mismatch(path, `expected ${shown(expected)}, got ${shown(actual)}`)];
}

/** The differences of a value from a whole one: members and items that are not expected are differences too. Operators stand for values. */
export function exactMismatches(expected: JsonValue, actual: JsonValue | undefined, path: Place): Mismatch[] {
  if (operatorOf(expected) !== undefined) return mismatches(expected, actual, path);
  if (isJsonObject(expected) && actual !== undefined && isJsonObject(actual)) {
    const wanted = Object.entries(expected).map(([key, value]) => ({ key, name: unescaped(key), value }));
    const names = new Set(wanted.map(({ name }) => name));
    const more = Object.keys(actual).filter((name) => !names.has(name));
    return [
      ...wanted.flatMap(({ key, name, value }) => exactMismatches(value, actual[name], member(path, key, name))),
      ...more.map((name) => unexpected(member(path, name, name), actual[name], path)),
    ];
  }
  if (isJsonArray(expected) && isJsonArray(actual)) {
    const place = (index: number): Place => item(path, index, `${index}`);
    return [
      ...expected.flatMap((one, index) => exactMismatches(one, actual[index], place(index))),
      ...actual.slice(expected.length).map((one, at) => unexpected(place(expected.length + at), one, path)),
    ];
  }
  return mismatches(expected, actual, path);
}

/** What is not expected has no place in the file: the line is about what it is in. */
function unexpected({ shown: path }: Place, actual: JsonValue | undefined, { at }: Place): Mismatch {
  return { text: `${path}: expected nothing, got ${shown(actual)}`, at };
}

const unescaped = (key: string): string => (key.startsWith("$$") ? key.slice(1) : key);

/** A value as an expectation that only an equal one meets: keys that begin with `$` are not operators. */
export function literal(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(literal);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key.startsWith("$") ? `$${key}` : key, literal(one)]),
  );
}

function inObject(expected: JsonObject, actual: JsonValue | undefined, path: Place): Mismatch[] {
  if (actual === undefined || !isJsonObject(actual))
    return [mismatch(path, `expected an object, got ${shown(actual)}`)];
  return Object.entries(expected).flatMap(([key, value]) => {
    const name = unescaped(key);
    return mismatches(value, actual[name], member(path, key, name));
  });
}

function inList(expected: readonly JsonValue[], actual: JsonValue | undefined, path: Place): Mismatch[] {
  if (!isJsonArray(actual)) return [mismatch(path, `expected a list, got ${shown(actual)}`)];
  const key = itemKeys.find(
    (name) => expected.length > 0 && expected.every((item) => hasText(item, name)) && areUnique(actual, name),
  );
  return expected.flatMap((wanted, index) => {
    if (key === undefined || !isJsonObject(wanted))
      return mismatches(wanted, actual[index], item(path, index, `${index}`));
    const at = item(path, index, `${key}=${String(wanted[key])}`);
    const found = actual.find((one) => isJsonObject(one) && one[key] === wanted[key]);
    return found === undefined
      ? [mismatch(at, `expected ${shown(wanted)}, got nothing`)]
      : mismatches(wanted, found, at);
  });
}

const hasText = (item: JsonValue, key: string): boolean => isJsonObject(item) && typeof item[key] === "string";

const haveSameKey = (a: JsonValue, b: JsonValue): boolean =>
  itemKeys.some((key) => hasText(a, key) && isJsonObject(a) && isJsonObject(b) && a[key] === b[key]);

function areUnique(items: readonly JsonValue[], key: string): boolean {
  const values = items.map((item) => (isJsonObject(item) ? item[key] : undefined));
  return values.every((value) => typeof value === "string") && new Set(values).size === values.length;
}

interface Operator {
  readonly name: string;
  readonly operand: JsonValue;
}

/** An object with one key that begins with one `$`. */
function operatorOf(expected: JsonValue): Operator | undefined {
  if (!isJsonObject(expected)) return undefined;
  const [entry, ...others] = Object.entries(expected);
  if (entry === undefined || others.length > 0 || !/^\$[^$]/.test(entry[0])) return undefined;
  return { name: entry[0], operand: entry[1] };
}

type Check = (operand: JsonValue, actual: JsonValue | undefined, path: Place) => Mismatch[];

/** A check of which the operand and the value are shown when it fails. */
const simple =
  (holds: (operand: JsonValue, actual: JsonValue | undefined) => boolean, what: string): Check =>
  (operand, actual, path) =>
    holds(operand, actual) ? [] : [mismatch(path, `expected ${what} ${shown(operand)}, got ${shown(actual)}`)];

const compared = (holds: (a: number | bigint, b: number | bigint) => boolean, what: string): Check =>
  simple((operand, actual) => isNumber(actual) && isNumber(operand) && holds(actual, operand), what);

const typeOf = (value: JsonValue | undefined): string => {
  if (value === null) return "null";
  if (isJsonArray(value)) return "array";
  return typeof value === "bigint" || Number.isInteger(value) ? "integer" : typeof value;
};

const checks: Readonly<Record<string, Check>> = {
  $regex: (operand, actual, path) => {
    const found = typeof actual === "string" ? matchesInTime(String(operand), actual) : false;
    if (found === true) return [];
    return [
      mismatch(
        path,
        found === false ? `expected a string that matches ${shown(operand)}, got ${shown(actual)}` : found,
      ),
    ];
  },
  $gt: compared((a, b) => a > b, "more than"),
  $gte: compared((a, b) => a >= b, "at least"),
  $lt: compared((a, b) => a < b, "less than"),
  $lte: compared((a, b) => a <= b, "at most"),
  $in: simple(
    (operand, actual) => isJsonArray(operand) && actual !== undefined && operand.some((one) => jsonEqual(one, actual)),
    "one of",
  ),
  $type: simple(
    (operand, actual) => typeOf(actual) === operand || (operand === "number" && isNumber(actual)),
    "the type",
  ),
  $len: simple((operand, actual) => lengthOf(actual) === operand, "the length"),
  $exists: simple((operand, actual) => (actual !== undefined) === operand, "existence"),
  $absent: simple((operand, actual) => (actual === undefined) === operand, "absence"),
  $any: simple((_operand, actual) => actual !== undefined, "any value,"),
  $exact: (operand, actual, path) =>
    actual !== undefined && jsonEqual(operand, actual)
      ? []
      : [mismatch(path, `expected exactly ${shown(operand)}, got ${shown(actual)}`)],
  $contains: (operand, actual, path) => contains(isJsonArray(operand) ? operand : [operand], actual, path),
  $cel: (operand, actual, path) => {
    const problem = judgeExpression(String(operand), { self: actual ?? null });
    return problem === undefined ? [] : [mismatch(path, problem)];
  },
};

/** The operators that values can be matched by. */
export const operators: readonly string[] = [...Object.keys(checks)];

function applyOperator({ name, operand }: Operator, actual: JsonValue | undefined, path: Place): Mismatch[] {
  const check = checks[name];
  if (check === undefined) return [mismatch(path, `unknown operator ${name}: expected one of ${operators.join(", ")}`)];
  return check(operand, actual, path);
}

function lengthOf(value: JsonValue | undefined): number | undefined {
  // As in schemas and CEL, characters count, not the halves of those beyond U+FFFF.
  if (typeof value === "string") return [...value].length;
  if (isJsonArray(value)) return value.length;
  return value !== undefined && isJsonObject(value) ? Object.keys(value).length : undefined;
}

/** Why an expression over JSON variables is not true; undefined if it is. */
export function judgeExpression(expression: string, variables: JsonObject): string | undefined {
  const outcome = evaluateExpression(expression, variables);
  if ("problem" in outcome) return `${expression}: ${outcome.problem}`;
  return outcome.value === true
    ? undefined
    : `${expression}: expected true, got ${printJson(outcome.value as JsonValue)}`;
}

/** Each wanted item matches some item of a list. The differences are those from the closest one. */
export function contains(wanted: readonly JsonValue[], actual: JsonValue | undefined, path: Place): Mismatch[] {
  if (!isJsonArray(actual)) return [mismatch(path, `expected a list, got ${shown(actual)}`)];
  return wanted.flatMap((one, index) => {
    const tries = actual.map((candidate) => ({ candidate, found: mismatches(one, candidate, path) }));
    if (tries.some(({ found }) => found.length === 0)) return [];
    // Of items that differ equally, the one with the wanted name is meant.
    const isOther = (candidate: JsonValue): number => (haveSameKey(one, candidate) ? 0 : 1);
    const [first] = tries.toSorted(
      (a, b) => a.found.length - b.found.length || isOther(a.candidate) - isOther(b.candidate),
    );
    const closest = first?.found ?? [];
    const near = closest.length === 0 ? "" : `; closest: ${closest.map(({ text }) => text).join(", ")}`;
    return [
      { text: `${path.shown}: expected an item ${shown(one)}, got ${actual.length}${near}`, at: [...path.at, index] },
    ];
  });
}
