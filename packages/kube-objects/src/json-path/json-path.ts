// SPDX-License-Identifier: Apache-2.0
// JSONPath as kubectl and the printer columns of CRDs use it.
import { goJson, goNumber } from "../json/go-text.ts";
import { isJsonArray, isJsonObject, isNumber, type JsonArray, type JsonValue, ownValue } from "../json/json-value.ts";
import {
  type Operand,
  type Operator,
  type Path,
  type PathStep,
  parsePath,
  parseTemplate,
  type Slice,
  type TemplateNode,
} from "./parse-template.ts";

/** Finds values in an object; none where the path leads nowhere. */
type JsonPath = (object: JsonValue) => JsonValue[];

const paths = new Map<string, JsonPath | undefined>();
const maxCached = 5_000;

/** Compiles one path without braces, as the columns of a CRD have it. Undefined for text that is not a path. */
export function jsonPath(source: string): JsonPath | undefined {
  if (paths.has(source)) return paths.get(source);
  if (paths.size >= maxCached) paths.clear();
  const path = compile(source);
  paths.set(source, path);
  return path;
}

function compile(source: string): JsonPath | undefined {
  try {
    const path = parsePath(source);
    return (object) => findOrNone(path, object);
  } catch {
    return undefined;
  }
}

/** An index out of bounds leaves a column empty. */
function findOrNone(path: Path, object: JsonValue): JsonValue[] {
  try {
    return find(path, { root: object, current: object });
  } catch {
    return [];
  }
}

/** Prints objects by a template, as `kubectl get -o jsonpath` does. */
export type TemplatePrinter = (object: JsonValue) => string;

/** Compiles a template. Throws an Error that names what is wrong with it. */
export function createTemplatePrinter(template: string): TemplatePrinter {
  const nodes = parseTemplate(template);
  return (object) => print(nodes, { root: object, current: object });
}

interface Scope {
  readonly root: JsonValue;
  readonly current: JsonValue;
}

function print(nodes: readonly TemplateNode[], scope: Scope): string {
  return nodes.map((node) => printNode(node, scope)).join("");
}

function printNode(node: TemplateNode, scope: Scope): string {
  if (node.kind === "text") return node.text;
  const values = find(node.path, scope);
  if (node.kind === "values") return values.map(textOf).join(" ");
  // Inside a range every path starts at the value at hand.
  return values.map((value) => print(node.body, { root: value, current: value })).join("");
}

/** A value as kubectl prints it: lists and objects as Go's json.Marshal does, numbers as its `%v` does. */
function textOf(value: JsonValue): string {
  if (typeof value === "object" && value !== null) return goJson(value);
  return isNumber(value) ? goNumber(value) : String(value);
}

function find({ isCurrent, steps }: Path, scope: Scope): JsonValue[] {
  let values = [isCurrent ? scope.current : scope.root];
  let visited = 0;
  for (const step of steps) {
    const found: JsonValue[] = [];
    for (const value of values) {
      for (const one of take(value, step, scope)) found.push(one);
      visited += found.length;
      // `..` several times over can find the same values again and again.
      if (visited > maxVisited) throw new Error(`the path finds more than ${maxVisited} values`);
    }
    values = found;
  }
  return values;
}

const maxVisited = 1_000_000;

function take(value: JsonValue, step: PathStep, scope: Scope): JsonValue[] {
  switch (step.kind) {
    case "field":
      return member(value, step.name);
    case "union":
      return step.paths.flatMap((path) => find({ isCurrent: true, steps: path }, { ...scope, current: value }));
    case "all":
      return isJsonArray(value) ? [...value] : isJsonObject(value) ? Object.values(value) : [];
    case "descend":
      return descendants(value);
    case "slices":
      return step.slices.flatMap((slice) => takeSlice(value, slice));
    case "exists":
      return isJsonArray(value) ? value.filter((item) => find(step.path, { ...scope, current: item }).length > 0) : [];
    case "filter":
      return isJsonArray(value) ? value.filter((item) => holds(step, { ...scope, current: item })) : [];
  }
}

function member(value: JsonValue, name: string): JsonValue[] {
  const found = isJsonObject(value) ? ownValue(value, name) : undefined;
  return found === undefined ? [] : [found];
}

/** The value and everything in it, in document order. */
function descendants(value: JsonValue): JsonValue[] {
  const inside = isJsonArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return [value, ...inside.flatMap(descendants)];
}

function takeSlice(value: JsonValue, { start = 0, end, step = 1, isIndex }: Slice): JsonValue[] {
  if (!isJsonArray(value)) return [];
  const from = start < 0 ? start + value.length : start;
  if (isIndex) {
    const item = value[from];
    return item === undefined ? outOfBounds(value, from) : [item];
  }
  const to = end === undefined ? value.length : end < 0 ? end + value.length : end;
  if (from === to) return [];
  if (from < 0 || from >= value.length) return outOfBounds(value, from);
  if (to < 0 || to > value.length) return outOfBounds(value, to - 1);
  if (from > to) throw new Error(`starting index ${from} is greater than ending index ${to}`);
  if (step <= 0) throw new Error("step must be > 0");
  return value.slice(from, to).filter((_, at) => at % step === 0);
}

function outOfBounds({ length }: JsonArray, index: number): never {
  throw new Error(`array index out of bounds: index ${index}, length ${length}`);
}

function holds({ left, operator, right }: Extract<PathStep, { kind: "filter" }>, scope: Scope): boolean {
  const [a, b] = [operandValue(left, scope), operandValue(right, scope)];
  return a !== undefined && b !== undefined && compare(a, operator, b);
}

function operandValue(operand: Operand, scope: Scope): JsonValue | undefined {
  return "literal" in operand ? operand.literal : find(operand.path, scope)[0];
}

function compare(a: JsonValue, operator: Operator, b: JsonValue): boolean {
  const order = orderOf(a, b);
  if (operator === "==") return order === 0 || a === b;
  if (operator === "!=") return order !== 0 && a !== b;
  if (order === undefined) return false;
  return operator.startsWith("<")
    ? order < 0 || (order === 0 && operator === "<=")
    : order > 0 || (order === 0 && operator === ">=");
}

/** The order of two scalars; undefined for values of different types. Integers beyond 2^53 are numbers as well. */
function orderOf(a: JsonValue, b: JsonValue): number | undefined {
  const isSameType = typeof a === typeof b || (isNumber(a) && isNumber(b));
  if (!isSameType || a === null || b === null || typeof a === "object") return undefined;
  return a < b ? -1 : a > b ? 1 : 0;
}
