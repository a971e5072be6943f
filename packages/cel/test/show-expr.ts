// SPDX-License-Identifier: Apache-2.0
import type { Comprehension, Entry, Expr } from "../src/syntax/ast.ts";
import { showValue } from "./show-value.ts";

/** An expression in a notation that shows its structure: calls by the name of their operator, macros expanded. */
export function showExpr(expr: Expr): string {
  switch (expr.kind) {
    case "literal":
      return showValue(expr.value);
    case "ident":
      return expr.name;
    case "select":
      return `${showExpr(expr.operand)}.${expr.field}${expr.isTest ? "~test~" : ""}`;
    case "call":
      return `${expr.target ? `${showExpr(expr.target)}.` : ""}${expr.functionName}(${expr.args.map(showExpr).join(", ")})`;
    case "list":
      return `[${expr.elements.map((element, at) => (expr.optionals.has(at) ? "?" : "") + showExpr(element)).join(", ")}]`;
    case "map":
      return `{${expr.entries.map(showEntry).join(", ")}}`;
    case "struct":
      return `${expr.typeName}{${expr.fields.map(({ name, value }) => `${name}: ${showExpr(value)}`).join(", ")}}`;
    case "comprehension":
      return showComprehension(expr);
    case "unspecified":
      return "<nothing>";
  }
}

const showEntry = ({ key, value, isOptional }: Entry): string =>
  `${isOptional ? "?" : ""}${showExpr(key)}: ${showExpr(value)}`;

function showComprehension(fold: Comprehension): string {
  const variables = fold.iterVar2 === undefined ? fold.iterVar : `${fold.iterVar}, ${fold.iterVar2}`;
  const parts = [fold.accuInit, fold.condition, fold.step, fold.result].map(showExpr);
  return `fold(${showExpr(fold.range)} as ${variables}; ${parts.join("; ")})`;
}
