// SPDX-License-Identifier: Apache-2.0
import type { Expr } from "./ast.ts";
import { type Macro, MacroProblem } from "./macro-builder.ts";

/** `o.optMap(x, e)` and `o.optFlatMap(x, e)`: work on the value of an optional, if it has one. */
function optionalMap(name: string, wrapsResult: boolean): Macro {
  return ({ build, target, args }) => {
    const [variable, transform] = args;
    if (variable?.kind !== "ident" || !transform) {
      throw new MacroProblem(variable?.id ?? 0, `${name}() variable name must be a simple identifier`);
    }
    const hasValue = build.memberCall("hasValue", target);
    const mapped: Expr = build.comprehension({
      range: build.list(),
      iterVar: "#unused",
      iterVar2: undefined,
      accuVar: variable.name,
      accuInit: build.memberCall("value", build.copy(target)),
      condition: build.literal(false),
      step: build.ident(variable.name),
      result: transform,
    });
    const present = wrapsResult ? build.call("optional.of", mapped) : mapped;
    return build.conditional(hasValue, present, build.call("optional.none"));
  };
}

export const optionalMacros: readonly (readonly [string, Macro])[] = [
  ["optMap/2", optionalMap("optMap", true)],
  ["optFlatMap/2", optionalMap("optFlatMap", false)],
];
