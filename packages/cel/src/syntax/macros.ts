// SPDX-License-Identifier: Apache-2.0
import { type Expr, op } from "./ast.ts";
import { type AstBuilder, accumulator, type Macro, MacroBuilder, MacroError, variableName } from "./macro-builder.ts";

interface Fold {
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

type MakeFold = (build: MacroBuilder, args: readonly Expr[]) => Fold;

const all: MakeFold = (build, [predicate]) => ({
  accuInit: build.literal(true),
  condition: build.call(op.notStrictlyFalse, build.accumulator()),
  step: build.call(op.and, build.accumulator(), given(predicate)),
  result: build.accumulator(),
});

const exists: MakeFold = (build, [predicate]) => ({
  accuInit: build.literal(false),
  condition: build.call(op.notStrictlyFalse, build.call(op.not, build.accumulator())),
  step: build.call(op.or, build.accumulator(), given(predicate)),
  result: build.accumulator(),
});

const existsOne: MakeFold = (build, [predicate]) => {
  const more = (): Expr => build.call(op.add, build.accumulator(), build.literal(1n));
  return {
    accuInit: build.literal(0n),
    condition: build.literal(true),
    step: build.conditional(given(predicate), more(), build.accumulator()),
    result: build.call(op.equals, build.accumulator(), build.literal(1n)),
  };
};

/** Collects `grow(value)` for each element, or only for those the filter before it lets through. */
function collect(start: (build: MacroBuilder) => Expr, grow: (build: MacroBuilder, value: Expr) => Expr): MakeFold {
  return (build, args) => {
    const filter = args.length > 1 ? args[0] : undefined;
    const accuInit = start(build);
    const condition = build.literal(true);
    const grown = grow(build, given(args.at(-1)));
    const step = filter ? build.conditional(filter, grown, build.accumulator()) : grown;
    return { accuInit, condition, step, result: build.accumulator() };
  };
}

const toList: MakeFold = collect(
  (build) => build.list(),
  (build, value) => build.call(op.add, build.accumulator(), build.list(value)),
);

const toEntries: MakeFold = collect(
  (build) => build.emptyMap(),
  (build, value) => build.call("cel.@mapInsert", build.accumulator(), value),
);

/** `range.name(x, …)`. */
function oneVariable(makeFold: MakeFold, problem: string): Macro {
  return ({ build, target, args }) => {
    const iterVar = variableName(args[0], problem);
    const fold = makeFold(build, args.slice(1));
    return build.comprehension({ range: target, iterVar, iterVar2: undefined, accuVar: accumulator, ...fold });
  };
}

/** `range.name(i, x, …)`: index and element of a list, key and value of a map. */
function twoVariables(makeFold: (key: string) => MakeFold): Macro {
  return ({ build, target, args }) => {
    const problem = "argument must be a simple name";
    const [first, second, ...rest] = args;
    const iterVar = plainName(first, problem);
    const iterVar2 = plainName(second, problem);
    if (iterVar === iterVar2) throw new MacroError(second?.id ?? 0, `duplicate variable name: ${iterVar}`);
    variableName(first, problem);
    variableName(second, problem);
    const fold = makeFold(iterVar)(build, rest);
    return build.comprehension({ range: target, iterVar, iterVar2, accuVar: accumulator, ...fold });
  };
}

function plainName(arg: Expr | undefined, problem: string): string {
  if (arg?.kind !== "ident") throw new MacroError(arg?.id ?? 0, problem);
  return arg.name;
}

const filter: Macro = ({ build, target, args }) => {
  const iterVar = variableName(args[0], "argument is not an identifier");
  const accuInit = build.list();
  const condition = build.literal(true);
  const grown = build.call(op.add, build.accumulator(), build.list(given(args[0])));
  const step = build.conditional(given(args[1]), grown, build.accumulator());
  const fold = { accuInit, condition, step, result: build.accumulator() };
  return build.comprehension({ range: target, iterVar, iterVar2: undefined, accuVar: accumulator, ...fold });
};

const transformMap = (key: string): MakeFold =>
  collect(
    (build) => build.emptyMap(),
    (build, value) => build.call("cel.@mapInsert", build.accumulator(), build.ident(key), value),
  );

const map: Macro = oneVariable(toList, "argument is not an identifier");

const sortable: ReadonlySet<Expr["kind"]> = new Set(["list", "select", "ident", "comprehension", "call"]);

const sortBy: Macro = ({ build, target, args }) => {
  const input = build.ident("@__sortBy_input__");
  if (!sortable.has(target.kind)) {
    const problem = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
    throw new MacroError(target.id, problem);
  }
  const keys = map({ build, target: build.copy(input), args });
  const sorted = build.memberCall("@sortByAssociatedKeys", build.copy(input), keys);
  return build.comprehension({
    range: build.list(),
    iterVar: "#unused",
    iterVar2: undefined,
    accuVar: "@__sortBy_input__",
    accuInit: target,
    condition: build.literal(false),
    step: input,
    result: sorted,
  });
};

const simpleName = "argument must be a simple name";

/** Macros on lists and maps, by name and number of arguments. */
const comprehensionMacros: readonly (readonly [string, Macro])[] = [
  ["all/2", oneVariable(all, simpleName)],
  ["exists/2", oneVariable(exists, simpleName)],
  ["exists_one/2", oneVariable(existsOne, simpleName)],
  ["map/2", map],
  ["map/3", map],
  ["filter/2", filter],
  ["all/3", twoVariables(() => all)],
  ["exists/3", twoVariables(() => exists)],
  ["exists_one/3", twoVariables(() => existsOne)],
  ["existsOne/3", twoVariables(() => existsOne)],
  ["transformList/3", twoVariables(() => toList)],
  ["transformList/4", twoVariables(() => toList)],
  ["transformMap/3", twoVariables(transformMap)],
  ["transformMap/4", twoVariables(transformMap)],
  ["transformMapEntry/3", twoVariables(() => toEntries)],
  ["transformMapEntry/4", twoVariables(() => toEntries)],
  ["sortBy/2", sortBy],
];

function given(arg: Expr | undefined): Expr {
  if (!arg) throw new Error("a macro was called with too few arguments");
  return arg;
}

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
  if (arg?.kind !== "select") throw new MacroError(arg?.id ?? 0, "invalid argument to has() macro");
  return build.presenceTest(arg.operand, arg.field);
};

const globalMacros: ReadonlyMap<string, Macro> = new Map([["has/1", has]]);
const memberMacros: ReadonlyMap<string, Macro> = new Map([...comprehensionMacros, ...optionalMacros]);

/** `cel.bind(x, value, body)`: a name for a value. */
const bind: Macro = ({ build, args }) => {
  const [variable, value, body] = args;
  if (variable?.kind !== "ident") {
    throw new MacroError(variable?.id ?? 0, "cel.bind() variable names must be simple identifiers");
  }
  return build.comprehension({
    range: build.list(),
    iterVar: "#unused",
    iterVar2: undefined,
    accuVar: variable.name,
    accuInit: given(value),
    condition: build.literal(false),
    step: build.ident(variable.name),
    result: given(body),
  });
};

function macroOf({ hasBindings }: AstBuilder, { name, target, args }: CallSite): Macro | undefined {
  const key = `${name}/${args.length}`;
  if (target === undefined) return globalMacros.get(key);
  const isBinding = hasBindings && key === "bind/3" && target.kind === "ident" && target.name === "cel";
  return isBinding ? bind : memberMacros.get(key);
}

/** The call, or what the macro of that name and number of arguments makes of it. */
export function expandMacro(builder: AstBuilder, site: CallSite): Expr {
  const { id, name, target, args } = site;
  const macro = macroOf(builder, site);
  if (!macro) return target ? builder.memberCall(id, name, { target, args }) : builder.call(id, name, args);
  try {
    const expanded = macro({
      build: new MacroBuilder(builder, id),
      target: target ?? builder.unspecified(undefined),
      args,
    });
    builder.dropId(id);
    return expanded;
  } catch (problem) {
    if (!(problem instanceof MacroError)) throw problem;
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
      throw new MacroError(variable?.id ?? 0, `${name}() variable name must be a simple identifier`);
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
