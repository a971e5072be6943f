// SPDX-License-Identifier: Apache-2.0

import {
  addRanges,
  type CallEstimate,
  type EntrySize,
  type EstimatedArg,
  type EstimatedCall,
  exactly,
  listCost,
  literalSize,
  mapCost,
  multiplyRanges,
  one,
  type Range,
  structCost,
  unionEntries,
  unionRanges,
  unknownSize,
  zero,
} from "../library/costs.ts";
import { functions } from "../library/libraries.ts";
import { type DeclType, follow } from "../schema/decl-type.ts";
import {
  type Call,
  type Comprehension,
  type Expr,
  type ListExpr,
  type MapExpr,
  op,
  type Select,
} from "../syntax/ast.ts";
import { accumulator } from "../syntax/macro-builder.ts";
import { type CelType, errorType, isOptional, param } from "../types/types.ts";

/** The least and the most an expression can cost, given how large the schema lets its data be. */
export function estimateCost(root: Expr, self: DeclType): Range {
  return new Estimator(self).cost(root);
}

interface Local {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entrySize: EntrySize | undefined;
}

class Estimator {
  readonly #self: DeclType;
  readonly #paths: Map<number, readonly string[]> = new Map();
  readonly #sizes: Map<number, Range> = new Map();
  readonly #entrySizes: Map<number, EntrySize> = new Map();
  readonly #locals: Map<string, Local[]> = new Map();

  constructor(self: DeclType) {
    this.#self = self;
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case "literal":
      case "unspecified":
        return zero;
      case "ident":
        return this.#ident(expr.id, expr.name);
      case "select":
        return expr.qualifiedName === undefined ? this.#select(expr) : this.#ident(expr.id, expr.qualifiedName);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return addRanges(...expr.fields.map(({ value }) => this.cost(value)), exactly(structCost));
      case "comprehension":
        return isBinding(expr) ? this.#binding(expr) : this.#comprehension(expr);
    }
  }

  #ident(id: number, name: string): Range {
    this.#paths.set(id, this.#local(name)?.path ?? [name]);
    return one;
  }

  #select(expr: Select): Range {
    const operand = this.cost(expr.operand);
    // A presence test is free beside what it tests.
    if (expr.isTest) return operand;
    this.#paths.set(expr.id, [...this.#pathOf(expr.operand), expr.field]);
    const { kind } = expr.operand.type ?? errorType;
    return kind === "map" || kind === "struct" ? addRanges(operand, one) : operand;
  }

  #call(expr: Call): Range {
    if (expr.functionName === "dyn") return this.#dyn(expr);
    const argCosts = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.#argument(arg));
    const targetCost = expr.target ? this.cost(expr.target) : zero;
    const target = expr.target && this.#argument(expr.target);
    let cost: Range | undefined;
    let resultSize: Range | undefined;
    for (const overload of expr.overloads ?? []) {
      const estimate = this.#overload(expr, { overload, target, args }, argCosts);
      cost = cost ? unionRanges(cost, estimate.cost) : estimate.cost;
      resultSize = unionSizes(resultSize, estimate.resultSize);
      if (overload === "index_list" || overload === "index_map") resultSize = this.#indexed(expr, overload);
      resultSize ??= this.#sizeOf(expr);
    }
    if (resultSize) this.#sizes.set(expr.id, resultSize);
    return cost ? addRanges(targetCost, cost) : zero;
  }

  #dyn(expr: Call): Range {
    const [arg] = expr.args;
    if (!arg) return one;
    const cost = this.cost(arg);
    this.#copySizes(expr, arg);
    return addRanges(one, cost);
  }

  #indexed(expr: Call, overload: string): Range | undefined {
    const [container] = expr.args;
    if (!container) return undefined;
    this.#paths.set(expr.id, [...this.#pathOf(container), overload === "index_list" ? "@items" : "@values"]);
    return this.#entrySizeOf(container)?.value;
  }

  #overload(
    expr: Call,
    parts: Pick<EstimatedCall, "overload" | "target" | "args">,
    argCosts: readonly Range[],
  ): CallEstimate {
    const special = this.#operator(expr, argCosts);
    if (special) return special;
    const call: EstimatedCall = {
      ...parts,
      sizeOf: (arg) => arg.computedSize ?? this.#schemaSize(arg.path) ?? unknownSize,
      elementOf,
    };
    const decl = functions.get(expr.functionName);
    const model = decl?.overloads.find(({ id }) => id === parts.overload)?.cost ?? decl?.cost;
    const estimate = model?.estimate(call) ?? { cost: one };
    if (parts.overload.startsWith("add_")) this.#joinEntries(expr);
    return { ...estimate, cost: addRanges(estimate.cost, ...argCosts) };
  }

  /** Operators that do not evaluate all their arguments. */
  #operator(expr: Call, [first = zero, second = zero, third = zero]: readonly Range[]): CallEstimate | undefined {
    switch (expr.functionName) {
      case op.and:
      case op.or:
        return { cost: { min: first.min, max: addRanges(first, second).max } };
      case op.conditional: {
        const [, yes, no] = expr.args;
        if (!yes || !no) return undefined;
        const entrySize = unionEntries(this.#entrySizeOf(yes), this.#entrySizeOf(no));
        if (entrySize) this.#entrySizes.set(expr.id, entrySize);
        const resultSize = unionRanges(this.#sizeOf(yes) ?? unknownSize, this.#sizeOf(no) ?? unknownSize);
        return { cost: addRanges(first, unionRanges(second, third)), resultSize };
      }
      default:
        return undefined;
    }
  }

  #joinEntries(expr: Call): void {
    const [left, right] = expr.args;
    const joined = left && right && unionEntries(this.#entrySizeOf(left), this.#entrySizeOf(right));
    if (joined) this.#entrySizes.set(expr.id, joined);
  }

  #list(expr: ListExpr): Range {
    let cost = exactly(listCost);
    let value: Range | undefined;
    for (const element of expr.elements) {
      cost = addRanges(cost, this.cost(element));
      value = unionSizes(value, this.#sizeOf(element) ?? unknownSize);
    }
    this.#entrySizes.set(expr.id, { container: "list", key: one, value: value ?? zero });
    return cost;
  }

  #map(expr: MapExpr): Range {
    let cost = exactly(mapCost);
    let keys: Range | undefined;
    let values: Range | undefined;
    for (const { key, value } of expr.entries) {
      cost = addRanges(cost, this.cost(key), this.cost(value));
      keys = unionSizes(keys, this.#sizeOf(key) ?? unknownSize);
      values = unionSizes(values, this.#sizeOf(value) ?? unknownSize);
    }
    this.#entrySizes.set(expr.id, { container: "map", key: keys ?? zero, value: values ?? zero });
    return cost;
  }

  #comprehension(expr: Comprehension): Range {
    const rangeCost = this.cost(expr.range);
    const initCost = this.cost(expr.accuInit);
    this.#pushAccumulator(expr);
    const variables = this.#pushIteration(expr);
    const perElement = addRanges(this.cost(expr.condition), this.cost(expr.step));
    for (const name of variables) this.#pop(name);
    const resultCost = this.cost(expr.result);
    this.#pop(expr.accuVar);
    const count = this.#sizeOf(expr.range) ?? unknownSize;
    this.#noteResult(expr, count);
    return addRanges(rangeCost, initCost, resultCost, multiplyRanges(count, perElement));
  }

  /** A comprehension has as many elements as its range, if it collects any. */
  #noteResult(expr: Comprehension, count: Range): void {
    const { kind } = expr.accuInit;
    if (kind === "literal") {
      const size = this.#sizeOf(expr.accuInit);
      if (size) this.#sizes.set(expr.id, size);
    } else if (kind === "list" || kind === "map") {
      this.#sizes.set(expr.id, count);
      const entrySize = this.#entrySizeOf(expr.step);
      if (entrySize) this.#entrySizes.set(expr.id, entrySize);
    }
  }

  #binding(expr: Comprehension): Range {
    const cost = addRanges(this.cost(expr.range), this.cost(expr.accuInit));
    this.#pushAccumulator(expr);
    const resultCost = this.cost(expr.result);
    this.#pop(expr.accuVar);
    this.#copySizes(expr, expr.result);
    return addRanges(cost, resultCost);
  }

  #pushAccumulator({ accuVar, accuInit }: Comprehension): void {
    this.#push(accuVar, {
      path: this.#pathOf(accuInit),
      size: this.#sizeOf(accuInit),
      entrySize: this.#entrySizeOf(accuInit),
    });
  }

  /** Makes the iteration variables known and returns their names. */
  #pushIteration({ iterVar, iterVar2, range }: Comprehension): readonly string[] {
    const entry = this.#entrySizeOf(range);
    const isList = (entry?.container ?? range.type?.kind) === "list";
    const path = this.#pathOf(range);
    const key = { path: [...path, isList ? "@indices" : "@keys"], size: entry?.key, entrySize: undefined };
    const value = { path: [...path, isList ? "@items" : "@values"], size: entry?.value, entrySize: undefined };
    if (iterVar2 === undefined) {
      this.#push(iterVar, isList ? value : key);
      return [iterVar];
    }
    this.#push(iterVar, key);
    this.#push(iterVar2, value);
    return [iterVar, iterVar2];
  }

  #push(name: string, local: Local): void {
    const known = this.#locals.get(name);
    if (known) known.push(local);
    else this.#locals.set(name, [local]);
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #pathOf(expr: Expr): readonly string[] {
    const local = expr.kind === "ident" ? this.#local(expr.name) : undefined;
    return local?.path ?? this.#paths.get(expr.id) ?? [];
  }

  #argument(expr: Expr): EstimatedArg {
    const path = this.#pathOf(expr);
    const isHidden = path[0] === accumulator || path[0] === "__result__";
    return {
      type: expr.type ?? errorType,
      expr,
      path: isHidden ? undefined : path,
      computedSize: this.#sizeOf(expr),
    };
  }

  #sizeOf(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr.id) ?? literalSize(expr);
    if (known) return known;
    const declared = this.#schemaSize(this.#pathOf(expr));
    if (declared) {
      this.#sizes.set(expr.id, declared);
      return declared;
    }
    if (isScalar(expr.type ?? errorType)) return one;
    return expr.kind === "ident" ? this.#local(expr.name)?.size : undefined;
  }

  /** The size the schema allows at a path. Whatever the variable, paths start at the node the rule is on. */
  #schemaSize(path: readonly string[] | undefined): Range | undefined {
    if (!path || path.length === 0) return undefined;
    const decl = follow(this.#self, path.slice(1));
    return decl && { min: 0n, max: decl.maxElements };
  }

  #entrySizeOf(expr: Expr): EntrySize | undefined {
    const known = this.#entrySizes.get(expr.id);
    return known ?? (expr.kind === "ident" ? this.#local(expr.name)?.entrySize : undefined);
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#sizeOf(from);
    if (size) this.#sizes.set(to.id, size);
    const entrySize = this.#entrySizeOf(from);
    if (entrySize) this.#entrySizes.set(to.id, entrySize);
  }
}

/** What `sortBy`, `optMap` and `optFlatMap` expand to: no loop, only a name for a value. */
function isBinding({ range, condition, accuVar }: Comprehension): boolean {
  const isEmpty = range.kind === "list" && range.elements.length === 0;
  return isEmpty && condition.kind === "literal" && condition.value === false && accuVar !== "__result__";
}

function unionSizes(a: Range | undefined, b: Range | undefined): Range | undefined {
  return a && b ? unionRanges(a, b) : (a ?? b);
}

const scalars: ReadonlySet<string> = new Set(["bool", "double", "duration", "int", "timestamp", "uint"]);

function isScalar(type: CelType): boolean {
  return isOptional(type) ? isScalar(param(type, 0)) : scalars.has(type.kind);
}

/** The first type parameter is what a list holds; the path lets the schema say how large that can be. */
function elementOf({ type, path }: EstimatedArg): EstimatedArg | undefined {
  const [element] = type.params;
  if (!element) return undefined;
  const isKnown = path !== undefined && path.length > 0;
  return { type: element, expr: undefined, path: isKnown ? [...path, "@items"] : undefined, computedSize: undefined };
}
