// SPDX-License-Identifier: Apache-2.0
// JSONPath as kubectl and the printer columns of CRDs use it.
import { finish, isPartDone, type Work } from "@purlin/base";
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

/** Finds values in an object, the first `most` of them or all; none where the path leads nowhere. */
type JsonPath = (object: JsonValue, most?: number) => Work<readonly JsonValue[]>;

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
    const needsAll = mayFail(path.steps);
    return (object, most) => findOrNone(path, object, needsAll ? undefined : most);
  } catch {
    return undefined;
  }
}

/** An index out of bounds leaves a column empty. */
function* findOrNone(path: Path, object: JsonValue, most: number | undefined): Work<readonly JsonValue[]> {
  try {
    return yield* finding(path, scopeOf(object), most);
  } catch {
    return [];
  }
}

/** Whether an index out of bounds is possible: then all values must be looked for, as the reference does. */
function mayFail(steps: readonly PathStep[]): boolean {
  return steps.some((step) => {
    switch (step.kind) {
      case "slices":
        return true;
      case "exists":
        return mayFail(step.path.steps);
      case "filter":
        return [step.left, step.right].some((operand) => "path" in operand && mayFail(operand.path.steps));
      default:
        return false;
    }
  });
}

/** Prints objects by a template, as `kubectl get -o jsonpath` does. */
export type TemplatePrinter = (object: JsonValue) => string;

/** Compiles a template. Throws an Error that names what is wrong with it. */
export function createTemplatePrinter(template: string): TemplatePrinter {
  const nodes = parseTemplate(template);
  return (object) => print(nodes, scopeOf(object));
}

interface Scope {
  readonly root: JsonValue;
  readonly current: JsonValue;
  /** How many values were looked at, by the path and by the filters in it. */
  readonly visited: { count: number };
}

const scopeOf = (object: JsonValue): Scope => ({ root: object, current: object, visited: { count: 0 } });

function print(nodes: readonly TemplateNode[], scope: Scope): string {
  return nodes.map((node) => printNode(node, scope)).join("");
}

function printNode(node: TemplateNode, scope: Scope): string {
  if (node.kind === "text") return node.text;
  const values = finish(finding(node.path, { ...scope, visited: { count: 0 } }));
  if (node.kind === "values") return values.map(textOf).join(" ");
  // Inside a range every path starts at the value at hand.
  return values.map((value) => print(node.body, scopeOf(value))).join("");
}

/** A value as kubectl prints it: lists and objects as Go's json.Marshal does, numbers as its `%v` does. */
function textOf(value: JsonValue): string {
  if (typeof value === "object" && value !== null) return goJson(value);
  return isNumber(value) ? goNumber(value) : String(value);
}

/** Values that are yet to be looked at, and the step that comes next for them. */
interface Pending {
  readonly values: readonly JsonValue[];
  readonly step: number;
  next: number;
}

const pendingAt = (values: readonly JsonValue[], step: number): Pending => ({ values, step, next: 0 });

/** The values in document order. What is inside a value is found before what comes after it, so that the first is found early. */
function* finding({ isCurrent, steps }: Path, scope: Scope, most = Number.POSITIVE_INFINITY): Work<JsonValue[]> {
  const found: JsonValue[] = [];
  const pending = [pendingAt([isCurrent ? scope.current : scope.root], 0)];
  for (let last = pending.at(-1); last !== undefined; last = pending.at(-1)) {
    if (isPartDone()) yield;
    if (last.next === last.values.length) {
      pending.pop();
      continue;
    }
    let at = last.step;
    // Objects in memory can have members that are undefined.
    let value: JsonValue | undefined = last.values[last.next++];
    let step = steps[at];
    for (; value !== undefined && step?.kind === "field"; step = steps[++at]) value = member(value, step.name);
    if (value === undefined) continue;
    visit(scope, 1);
    if (step === undefined) {
      found.push(value);
      if (found.length >= most) return found;
    } else if (step.kind === "descend") {
      pending.push(pendingAt(membersOf(value), at), pendingAt([value], at + 1));
    } else if (step.kind === "all") {
      pending.push(pendingAt(membersOf(value), at + 1));
    } else if (step.kind !== "field") {
      pending.push(pendingAt(yield* taking(value, step, scope), at + 1));
    }
  }
  return found;
}

const maxVisited = 1_000_000;

/** Counts values. `..` and slices several times over, and filters that start at the root, can find the same ones again and again. */
function visit({ visited }: Scope, count: number): void {
  visited.count += count;
  if (visited.count > maxVisited) throw new Error(`the path finds more than ${maxVisited} values`);
}

function* taking(
  value: JsonValue,
  step: Exclude<PathStep, { kind: "field" | "descend" | "all" }>,
  scope: Scope,
): Work<readonly JsonValue[]> {
  if (step.kind === "filter" || step.kind === "exists") {
    return isJsonArray(value) ? yield* filtering(value, step, scope) : [];
  }
  const found: JsonValue[] = [];
  const parts = step.kind === "union" ? step.paths : step.slices;
  for (const part of parts) {
    const values =
      "isIndex" in part
        ? takeSlice(value, part)
        : yield* finding({ isCurrent: true, steps: part }, { ...scope, current: value });
    visit(scope, values.length);
    for (const one of values) found.push(one);
    if (isPartDone()) yield;
  }
  return found;
}

function* filtering(
  items: JsonArray,
  step: Extract<PathStep, { kind: "exists" | "filter" }>,
  scope: Scope,
): Work<JsonValue[]> {
  const kept: JsonValue[] = [];
  for (const current of items) {
    const at = { ...scope, current };
    const isKept = step.kind === "filter" ? yield* holds(step, at) : (yield* finding(step.path, at)).length > 0;
    if (isKept) kept.push(current);
  }
  return kept;
}

function member(value: JsonValue, name: string): JsonValue | undefined {
  return isJsonObject(value) ? ownValue(value, name) : undefined;
}

function membersOf(value: JsonValue): readonly JsonValue[] {
  return isJsonArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
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

function* holds({ left, operator, right }: Extract<PathStep, { kind: "filter" }>, scope: Scope): Work<boolean> {
  const [a, b] = [yield* operandValue(left, scope), yield* operandValue(right, scope)];
  return a !== undefined && b !== undefined && compare(a, operator, b);
}

function* operandValue(operand: Operand, scope: Scope): Work<JsonValue | undefined> {
  return "literal" in operand ? operand.literal : (yield* finding(operand.path, scope))[0];
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
