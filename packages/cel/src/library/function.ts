// SPDX-License-Identifier: Apache-2.0
import type { CelType } from "../types/types.ts";
import type { Meter, Value } from "../values/value.ts";
import type { CostModel } from "./costs.ts";

/** What a function does. Its arguments are never errors, and fit the signature as far as that can be seen. */
export type Implementation = (args: readonly Value[], meter: Meter) => Value;

/** One signature of a function. */
export interface Overload {
  readonly id: string;
  /** `x.f(…)`, with x as the first argument, instead of `f(…)`. */
  readonly isMember: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  /** Missing where the planner or the function itself knows what to do. */
  readonly run?: Implementation;
  /** Arguments are evaluated one by one and the first error ends the call, at no cost. */
  readonly stopsAtError?: boolean;
  readonly cost?: CostModel;
}

export interface FunctionDecl {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** One implementation for all overloads; undefined means that the first argument knows no such function. */
  readonly shared?: (args: readonly Value[], meter: Meter) => Value | undefined;
  /** A single fitting overload is called without looking at what its arguments turned out to be. */
  readonly isUnguarded?: boolean;
  /** For overloads that have none of their own, and for calls that fit several. */
  readonly cost?: CostModel;
}

interface OverloadOptions {
  readonly stopsAtError?: boolean;
  readonly cost?: CostModel;
}

interface Signature {
  readonly id: string;
  readonly args: readonly CelType[];
  readonly result: CelType;
}

type MakeOverload = (signature: Signature, run?: Implementation, options?: OverloadOptions) => Overload;

const overloadOf =
  (isMember: boolean): MakeOverload =>
  (signature, run, options = {}) => ({
    ...signature,
    ...options,
    isMember,
    ...(run && { run }),
  });

/** An overload called as `f(…)`. */
export const overload: MakeOverload = overloadOf(false);
/** An overload called as `x.f(…)`. */
export const memberOverload: MakeOverload = overloadOf(true);

export const signature = (id: string, args: readonly CelType[], result: CelType): Signature => ({ id, args, result });

/** Joins the declarations of several libraries; a name declared twice gets the overloads of both, in that order. */
export function mergeFunctions(libraries: readonly (readonly FunctionDecl[])[]): ReadonlyMap<string, FunctionDecl> {
  const merged = new Map<string, FunctionDecl>();
  for (const decl of libraries.flat()) {
    const known = merged.get(decl.name);
    const overloads = [...(known?.overloads ?? []), ...decl.overloads];
    merged.set(decl.name, { ...known, ...decl, overloads });
  }
  return merged;
}
