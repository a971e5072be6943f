// SPDX-License-Identifier: Apache-2.0
import type { CelType } from "../types/types.ts";
import type { Value } from "../values/value.ts";

/**
 * The parts every node has. The checker writes `type`, and the name or overloads a node resolved to; the tree belongs
 * to one compilation, so it is filled in place instead of being copied.
 */
interface Node {
  readonly id: number;
  type?: CelType;
}

export interface Literal extends Node {
  readonly kind: "literal";
  readonly value: Value;
}

export interface Ident extends Node {
  readonly kind: "ident";
  name: string;
  /** Set by the checker: the name refers to a declaration. */
  isResolved?: boolean;
}

export interface Select extends Node {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)`. */
  readonly isTest: boolean;
  /** Set by the checker when the whole chain names one declaration, as `google.protobuf.Duration` does. */
  qualifiedName?: string;
}

export interface Call extends Node {
  readonly kind: "call";
  functionName: string;
  target: Expr | undefined;
  readonly args: readonly Expr[];
  overloads?: readonly string[];
}

export interface ListExpr extends Node {
  readonly kind: "list";
  readonly elements: readonly Expr[];
  /** Indexes of elements written `?e`. */
  readonly optionals: ReadonlySet<number>;
}

export interface Entry {
  readonly id: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface MapExpr extends Node {
  readonly kind: "map";
  readonly entries: readonly Entry[];
}

export interface Field {
  readonly id: number;
  readonly name: string;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface StructExpr extends Node {
  readonly kind: "struct";
  readonly typeName: string;
  readonly fields: readonly Field[];
}

export interface Comprehension extends Node {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** What stands where a syntax error left nothing usable. */
export interface Unspecified extends Node {
  readonly kind: "unspecified";
}

export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension | Unspecified;

/** A parsed expression with the source offset of each node id. */
export interface Ast {
  readonly root: Expr;
  readonly offsets: ReadonlyMap<number, number>;
}

/** The children of a node, in the order in which they are written. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "literal":
    case "ident":
    case "unspecified":
      return [];
    case "select":
      return [expr.operand];
    case "call":
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case "list":
      return expr.elements;
    case "map":
      return expr.entries.flatMap((entry) => [entry.key, entry.value]);
    case "struct":
      return expr.fields.map((field) => field.value);
    case "comprehension":
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
  }
}

/** `a.b.c` as one name; undefined when the expression is not a plain chain of names. */
export function qualifiedNameOf(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name;
  if (expr.kind !== "select" || expr.isTest) return undefined;
  const prefix = qualifiedNameOf(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

/** The function names behind the operators. */
export const op = {
  conditional: "_?_:_",
  and: "_&&_",
  or: "_||_",
  not: "!_",
  equals: "_==_",
  notEquals: "_!=_",
  less: "_<_",
  lessEquals: "_<=_",
  greater: "_>_",
  greaterEquals: "_>=_",
  add: "_+_",
  subtract: "_-_",
  multiply: "_*_",
  divide: "_/_",
  modulo: "_%_",
  negate: "-_",
  index: "_[_]",
  optionalIndex: "_[?_]",
  optionalSelect: "_?._",
  in: "@in",
  notStrictlyFalse: "@not_strictly_false",
} as const;

/** Binary operators by their spelling. */
export const binaryOperators: ReadonlyMap<string, string> = new Map([
  ["==", op.equals],
  ["!=", op.notEquals],
  ["<", op.less],
  ["<=", op.lessEquals],
  [">", op.greater],
  [">=", op.greaterEquals],
  ["in", op.in],
  ["+", op.add],
  ["-", op.subtract],
  ["*", op.multiply],
  ["/", op.divide],
  ["%", op.modulo],
]);
