// SPDX-License-Identifier: Apache-2.0

import { type Clause, type ClauseVerb, FormatError, fillTemplate, wrongType } from "../library/format-template.ts";
import { type PatternStore, tooManyPatterns } from "../library/regex.ts";
import { type Ast, type Call, childrenOf, type Expr, type ListExpr, type MapExpr } from "../syntax/ast.ts";
import { type Issue, locationOf, noLocation, type Source } from "../syntax/source.ts";
import { type CelType, errorType, formatType, isSameType, param, type TypeKind } from "../types/types.ts";
import { toDuration, toTimestamp } from "../values/convert.ts";
import { isError, type Value } from "../values/value.ts";

const taken: Readonly<Record<ClauseVerb, readonly TypeKind[]>> = {
  s: ["list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"],
  d: ["int", "uint"],
  f: ["double", "string"],
  e: ["double", "string"],
  b: ["int", "uint", "bool"],
  x: ["int", "uint", "string", "bytes"],
  X: ["int", "uint", "string", "bytes"],
  o: ["int", "uint"],
};

type Report = (id: number, message: string) => void;

/** A node and whether it stands inside the arguments of `format`, where a list may hold anything. */
interface Visit {
  readonly expr: Expr;
  readonly isInFormat: boolean;
}

/** Finds literals that can only fail: wrong dates, durations, patterns and templates, and lists of mixed types. */
export function validateAst(ast: Ast, source: Source, patterns: PatternStore): readonly Issue[] {
  const issues: Issue[] = [];
  const report: Report = (id, message) => {
    const offset = ast.offsets.get(id);
    issues.push({ location: offset === undefined ? noLocation : locationOf(source, offset), message });
  };
  const visits = visitAll(ast.root);
  for (const name of literalChecks.keys())
    for (const { expr } of visits) if (isCall(expr, name)) checkLiteral(expr, patterns, report);
  for (const { expr, isInFormat } of visits) if (expr.kind === "list" && !isInFormat) checkList(expr, report);
  for (const { expr, isInFormat } of visits) if (expr.kind === "map" && !isInFormat) checkMap(expr, report);
  for (const { expr } of visits) if (isCall(expr, "format")) checkTemplate(expr, report);
  return issues;
}

const isCall = (expr: Expr, name: string): expr is Call => expr.kind === "call" && expr.functionName === name;

function visitAll(root: Expr): readonly Visit[] {
  const visits: Visit[] = [];
  const todo: Visit[] = [{ expr: root, isInFormat: false }];
  for (let visit = todo.pop(); visit; visit = todo.pop()) {
    visits.push(visit);
    const isInFormat = visit.isInFormat || isCall(visit.expr, "format");
    for (const child of childrenOf(visit.expr).toReversed()) todo.push({ expr: child, isInFormat });
  }
  return visits;
}

type LiteralCheck = (value: Value, patterns: PatternStore) => boolean;

const literalChecks: ReadonlyMap<string, LiteralCheck> = new Map<string, LiteralCheck>([
  ["duration", (value) => !isError(toDuration(value))],
  ["timestamp", (value) => !isError(toTimestamp(value))],
  ["matches", (value, patterns) => typeof value !== "string" || isPattern(value, patterns)],
]);

function isPattern(source: string, patterns: PatternStore): boolean {
  const pattern = patterns.compile(source);
  // That it is too large is for the planner to say.
  return !isError(pattern) || pattern === tooManyPatterns;
}

function checkLiteral(call: Call, patterns: PatternStore, report: Report): void {
  const [arg] = call.args;
  if (arg?.kind !== "literal" || literalChecks.get(call.functionName)?.(arg.value, patterns)) return;
  report(arg.id, `invalid ${call.functionName} argument`);
}

function checkList({ elements, optionals }: ListExpr, report: Report): void {
  let expected: CelType | undefined;
  for (const [index, element] of elements.entries()) {
    const type = elementType(element, optionals.has(index));
    if (expected && !isSameType(expected, type, true)) {
      reportMismatch(report, element.id, { expected, found: type });
      return;
    }
    expected ??= type;
  }
}

function checkMap({ entries }: MapExpr, report: Report): void {
  let expected: { readonly key: CelType; readonly value: CelType } | undefined;
  for (const entry of entries) {
    const key = elementType(entry.key, false);
    const value = elementType(entry.value, entry.isOptional);
    if (expected && !isSameType(expected.key, key, true)) {
      reportMismatch(report, entry.key.id, { expected: expected.key, found: key });
    }
    if (expected && !isSameType(expected.value, value, true)) {
      reportMismatch(report, entry.value.id, { expected: expected.value, found: value });
    }
    expected ??= { key, value };
  }
}

function elementType(expr: Expr, isOptional: boolean): CelType {
  const type = expr.type ?? errorType;
  return isOptional ? param(type, 0) : type;
}

function reportMismatch(report: Report, id: number, types: { expected: CelType; found: CelType }): void {
  report(id, `expected type '${formatType(types.expected)}' but found '${formatType(types.found)}'`);
}

/** Checks a template that is a literal against arguments that are written as a list. */
function checkTemplate(call: Call, report: (id: number, message: string) => void): void {
  const [list] = call.args;
  if (call.target?.kind !== "literal" || typeof call.target.value !== "string" || list?.kind !== "list") return;
  const { elements } = list;
  let used = 0;
  try {
    fillTemplate(call.target.value, {
      size: elements.length,
      require: (index) => {
        used = index + 1;
      },
      format: (index, clause) => checkClause(elements[index], clause),
    });
  } catch (problem) {
    if (!(problem instanceof FormatError)) throw problem;
    report(problem.exprId ?? call.id, problem.message);
    return;
  }
  if (elements.length > used) {
    report(call.id, `too many arguments supplied to string.format (expected ${used}, got ${elements.length})`);
  }
}

function checkClause(arg: Expr | undefined, { verb }: Clause): string {
  const wrong = arg && findWrong(arg, verb);
  if (wrong) throw wrongType(verb, (wrong.type ?? errorType).name, wrong.id);
  return "";
}

/** The argument, or for `%s` a part of it, that the clause does not take. */
function findWrong(arg: Expr, verb: ClauseVerb): Expr | undefined {
  if (!isTaken(arg.type ?? errorType, verb)) return arg;
  if (verb !== "s") return undefined;
  const parts =
    arg.kind === "list"
      ? arg.elements
      : arg.kind === "map"
        ? arg.entries.flatMap(({ key, value }) => [key, value])
        : [];
  for (const part of parts) {
    const wrong = findWrong(part, verb);
    if (wrong) return wrong;
  }
  return undefined;
}

function isTaken({ kind }: CelType, verb: ClauseVerb): boolean {
  return kind === "dyn" || taken[verb].includes(kind);
}
