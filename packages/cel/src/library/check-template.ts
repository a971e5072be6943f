// SPDX-License-Identifier: Apache-2.0
import type { CelType, TypeKind } from "../check/types.ts";
import { errorType } from "../check/types.ts";
import type { Call, Expr } from "../syntax/ast.ts";
import { type Clause, type ClauseVerb, FormatProblem, fillTemplate, wrongType } from "./format-template.ts";

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

/** Checks a template that is a literal against arguments that are written as a list. */
export function checkTemplate(call: Call, report: (id: number, message: string) => void): void {
  const [list] = call.args;
  if (call.target?.kind !== "literal" || typeof call.target.value !== "string" || list?.kind !== "list") return;
  const { elements } = list;
  let used = 0;
  try {
    fillTemplate(call.target.value, {
      require: (index) => {
        used = index + 1;
        if (index >= elements.length) throw new FormatProblem(`index ${index} out of range`);
      },
      format: (index, clause) => checkClause(elements[index], clause),
    });
  } catch (problem) {
    if (!(problem instanceof FormatProblem)) throw problem;
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
