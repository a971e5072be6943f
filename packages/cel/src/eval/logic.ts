// SPDX-License-Identifier: Apache-2.0
import { type CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { type Node, stepNode } from "./node.ts";

/** `a && b`: false decides, whatever the other side is, and an error counts only when nothing decides. */
export function planAnd(terms: readonly Node[]): Node {
  return decidedBy(terms, false);
}

export function planOr(terms: readonly Node[]): Node {
  return decidedBy(terms, true);
}

function decidedBy(terms: readonly Node[], decisive: boolean): Node {
  const steps = terms.map((term) => term.eval);
  return stepNode((ev) => {
    let problem: CelError | undefined;
    for (const step of steps) {
      const value = step(ev);
      if (value === decisive) return decisive;
      if (typeof value !== "boolean") problem ??= isError(value) ? value : noSuchOverload;
    }
    return problem ?? !decisive;
  });
}
