// SPDX-License-Identifier: Apache-2.0
import type { FunctionDecl, Overload } from "../library/function.ts";
import { type Call, op } from "../syntax/ast.ts";
import {
  boolType,
  type CelType,
  dynType,
  errorType,
  formatSignature,
  formatType,
  isDyn,
  isSameType,
  listOf,
  mapOf,
  opaqueType,
  param,
  typeOf,
} from "../types/types.ts";

/** What type parameters stand for. A failed assignment leaves it as it was. */
export class Substitution {
  readonly #types: Map<string, CelType> = new Map();
  readonly #trail: { readonly name: string; readonly before: CelType | undefined }[] = [];

  /** Whether `from` fits where `to` is expected; binds the parameters of both. */
  isAssignable(from: CelType, to: CelType): boolean {
    return this.#attempt(() => this.#assign(from, to));
  }

  areAssignable(from: readonly CelType[], to: readonly CelType[]): boolean {
    return this.#attempt(() => this.#assignAll(from, to));
  }

  /** The type with its parameters replaced; unbound ones become dyn if `unboundToDyn`. */
  apply(type: CelType, unboundToDyn = false): CelType {
    if (type.kind === "param") {
      const bound = this.#types.get(type.name);
      if (bound) return this.apply(bound, unboundToDyn);
      return unboundToDyn ? dynType : type;
    }
    if (type.params.length === 0) return type;
    const inner = type.params.map((one) => this.apply(one, unboundToDyn));
    const [first = dynType, second = dynType] = inner;
    switch (type.kind) {
      case "list":
        return listOf(first);
      case "map":
        return mapOf(first, second);
      case "type":
        return typeOf(first);
      default:
        return opaqueType(type.name, ...inner);
    }
  }

  #attempt(action: () => boolean): boolean {
    const isDone = action();
    for (const { name, before } of isDone ? [] : this.#trail.toReversed()) {
      if (before) this.#types.set(name, before);
      else this.#types.delete(name);
    }
    this.#trail.length = 0;
    return isDone;
  }

  #bind(name: string, type: CelType): void {
    this.#trail.push({ name, before: this.#types.get(name) });
    this.#types.set(name, type);
  }

  #assignAll(from: readonly CelType[], to: readonly CelType[]): boolean {
    return from.length === to.length && from.every((one, index) => this.#assign(one, to[index] ?? dynType));
  }

  #assign(from: CelType, to: CelType): boolean {
    if (to.kind === "param") {
      const outcome = this.#substitute(from, to);
      if (outcome !== "unbound") return outcome === "fits";
    }
    if (from.kind === "param") return this.#substitute(to, from) === "fits";
    if (isWildcard(from) || isWildcard(to)) return true;
    if (from.kind === "null") return acceptsNull(to);
    if (to.kind === "null") return acceptsNull(from);
    switch (from.kind) {
      case "type":
        return to.kind === "type";
      case "list":
      case "map":
      case "opaque":
        return from.kind === to.kind && from.name === to.name && this.#assignAll(from.params, to.params);
      default:
        return from.kind === to.kind && from.name === to.name;
    }
  }

  /** Whether `type` can stand for the parameter, given what the parameter already stands for. */
  #substitute(type: CelType, parameter: CelType): "fits" | "differs" | "unbound" {
    if (type.kind === "param" && type.name === parameter.name) return "fits";
    const bound = this.#types.get(parameter.name);
    if (!bound) {
      if (this.#occursIn(parameter, type)) return "unbound";
      this.#bind(parameter.name, type);
      return "fits";
    }
    if (isSameType(type, bound)) return "fits";
    if (!this.#assign(type, bound)) return "differs";
    const general = mostGeneral(type, bound);
    if (!this.#occursIn(parameter, general)) this.#bind(parameter.name, general);
    return "fits";
  }

  #occursIn(parameter: CelType, type: CelType): boolean {
    if (isSameType(parameter, type)) return true;
    if (type.kind === "param") {
      const bound = this.#types.get(type.name);
      return bound !== undefined && this.#occursIn(parameter, bound);
    }
    return type.params.some((one) => this.#occursIn(parameter, one));
  }
}

const isWildcard = (type: CelType): boolean => type.kind === "dyn" || type.kind === "error";

/** Types that stand for messages in CEL may be null. */
function acceptsNull(type: CelType): boolean {
  return ["null", "opaque", "struct", "duration", "timestamp"].includes(type.kind);
}

/** The less specific of two types that fit each other. */
export function mostGeneral(a: CelType, b: CelType): CelType {
  return isAtMostAsSpecific(a, b) ? a : b;
}

function isAtMostAsSpecific(a: CelType, b: CelType): boolean {
  if (isDyn(a) || a.kind === "param") return true;
  if (isDyn(b) || b.kind === "param" || a.kind !== b.kind) return false;
  switch (a.kind) {
    case "type":
      return true;
    case "list":
    case "map":
    case "opaque":
      return (
        a.name === b.name &&
        a.params.length === b.params.length &&
        a.params.every((one, index) => isAtMostAsSpecific(one, param(b, index)))
      );
    default:
      return isSameType(a, b);
  }
}

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
    for (const name of names) renaming.isAssignable(this.#context.freshType(), { kind: "param", name, params: [] });
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
