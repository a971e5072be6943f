// SPDX-License-Identifier: Apache-2.0
import type { Expr } from "./ast.ts";
import type { AstBuilder } from "./ast-builder.ts";
import { comprehensionMacros } from "./comprehension-macros.ts";
import { type Macro, MacroBuilder, MacroProblem } from "./macro-builder.ts";

const optionalMacros: readonly (readonly [string, Macro])[] = [
  ["optMap/2", optionalMap("optMap", true)],
  ["optFlatMap/2", optionalMap("optFlatMap", false)],
];

interface CallSite {
  readonly id: number;
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

const has: Macro = ({ build, args }) => {
  const [arg] = args;
  if (arg?.kind !== "select") throw new MacroProblem(arg?.id ?? 0, "invalid argument to has() macro");
  return build.presenceTest(arg.operand, arg.field);
};

const globalMacros: ReadonlyMap<string, Macro> = new Map([["has/1", has]]);
const memberMacros: ReadonlyMap<string, Macro> = new Map([...comprehensionMacros, ...optionalMacros]);

/** The call, or what the macro of that name and number of arguments makes of it. */
export function expandMacro(builder: AstBuilder, { id, name, target, args }: CallSite): Expr {
  const key = `${name}/${args.length}`;
  const macro = target ? memberMacros.get(key) : globalMacros.get(key);
  if (!macro) {
    return target ? builder.memberCall(id, name, { target, args }) : builder.call(id, name, args);
  }
  try {
    const expanded = macro({
      build: new MacroBuilder(builder, id),
      target: target ?? builder.unspecified(undefined),
      args,
    });
    builder.dropId(id);
    return expanded;
  } catch (problem) {
    if (!(problem instanceof MacroProblem)) throw problem;
    const location = builder.locationOf(problem.exprId);
    builder.dropId(id);
    builder.report(location, problem.message);
    return builder.unspecified(builder.offsets.get(problem.exprId));
  }
}

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
