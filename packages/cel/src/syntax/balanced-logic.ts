// SPDX-License-Identifier: Apache-2.0
import type { Expr } from "./ast.ts";
import type { AstBuilder } from "./ast-builder.ts";

interface Chain {
  readonly terms: readonly Expr[];
  /** One id for each operator between two terms. */
  readonly ids: readonly number[];
}

/** A chain of `&&` or `||` as a balanced tree, so that long chains stay shallow. */
export function balancedLogic(builder: AstBuilder, functionName: string, { terms, ids }: Chain): Expr {
  const term = (index: number): Expr => {
    const found = terms[index];
    if (!found) throw new Error(`a chain of ${ids.length} operators lacks term ${index}`);
    return found;
  };
  const build = (low: number, high: number): Expr => {
    const middle = Math.floor((low + high + 1) / 2);
    const left = middle === low ? term(middle) : build(low, middle - 1);
    const right = middle === high ? term(middle + 1) : build(middle + 1, high);
    return builder.call(ids[middle] ?? 0, functionName, [left, right]);
  };
  return build(0, ids.length - 1);
}
