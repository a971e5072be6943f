// SPDX-License-Identifier: Apache-2.0
import type { FunctionDecl, Overload } from "../library/function.ts";
import type { Call } from "../syntax/ast.ts";
import { op } from "../syntax/operators.ts";
import {
  boolType,
  type CelType,
  dynType,
  errorType,
  formatSignature,
  formatType,
  isDyn,
  isSameType,
} from "../types/types.ts";
import { Substitution } from "./unify.ts";

interface ResolverContext {
  freshType(): CelType;
  report(id: number, message: string): void;
}

/** Finds the overloads a call can mean. */
export class OverloadResolver {
  readonly #substitution: Substitution;
  readonly #context: ResolverContext;

  constructor(substitution: Substitution, context: ResolverContext) {
    this.#substitution = substitution;
    this.#context = context;
  }

  /** The type of a call whose arguments are checked, or undefined when nothing fits, which is then reported. */
  resolve(call: Call, decl: FunctionDecl, target: CelType | undefined): CelType | undefined {
    if (decl.name === op.and || decl.name === op.or) return this.#resolveLogic(call, decl);
    const args = call.args.map((arg) => arg.type ?? errorType);
    const all = target ? [target, ...args] : args;
    const fitting: string[] = [];
    let result: CelType | undefined;
    for (const overload of decl.overloads) {
      if (overload.isMember !== (target !== undefined)) continue;
      const fitted = this.#fit(overload, all);
      if (!fitted) continue;
      fitting.push(overload.id);
      // Overloads that give different types leave the type to run time.
      if (result && !isDyn(result) && !isSameType(fitted, result)) result = dynType;
      else result ??= fitted;
    }
    if (result) call.overloads = fitting;
    else this.#reportNoMatch(call, decl.name, all);
    return result;
  }

  /** The result type of an overload that takes the arguments; binds their type parameters. */
  #fit(overload: Overload, args: readonly CelType[]): CelType | undefined {
    const fresh = this.#instantiate(overload);
    if (!this.#substitution.areAssignable(args, fresh.args)) return undefined;
    return this.#substitution.apply(fresh.result);
  }

  #instantiate(overload: Overload): { readonly args: readonly CelType[]; readonly result: CelType } {
    const names = new Set<string>();
    for (const type of [overload.result, ...overload.args]) collectParams(type, names);
    if (names.size === 0) return overload;
    const renaming = new Substitution();
    for (const name of names) {
      renaming.isAssignable(this.#context.freshType(), { kind: "param", name, params: [] });
    }
    return { args: overload.args.map((type) => renaming.apply(type)), result: renaming.apply(overload.result) };
  }

  #resolveLogic(call: Call, decl: FunctionDecl): CelType | undefined {
    let isWrong = false;
    for (const arg of call.args) {
      const type = arg.type ?? errorType;
      if (this.#substitution.isAssignable(type, boolType)) continue;
      this.#context.report(arg.id, `expected type 'bool' but found '${formatType(type)}'`);
      isWrong = true;
    }
    if (isWrong) return undefined;
    call.overloads = decl.overloads.map(({ id }) => id);
    return boolType;
  }

  #reportNoMatch(call: Call, name: string, args: readonly CelType[]): void {
    const shown = args.map((type) => this.#substitution.apply(type, true));
    const signature = formatSignature(shown, call.target !== undefined);
    this.#context.report(call.id, `found no matching overload for '${name}' applied to '${signature}'`);
  }
}

function collectParams(type: CelType, names: Set<string>): void {
  if (type.kind === "param") names.add(type.name);
  for (const inner of type.params) collectParams(inner, names);
}
