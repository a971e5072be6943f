// SPDX-License-Identifier: Apache-2.0

import { utf8Length } from "@purlin/kube-objects/json";
import type { Expr } from "../syntax/ast.ts";
import type { CelType } from "../types/types.ts";
import { elementsOf, ListValue, MapValue } from "../values/collections.ts";
import { textSize } from "../values/text.ts";
import { type Meter, OpaqueValue, OptionalValue, type Value } from "../values/value.ts";

/** The least and the most a size or a cost can be. Nothing goes beyond 64 bits: the most there is means unbounded. */
export interface Range {
  readonly min: bigint;
  readonly max: bigint;
}

export const unbounded: bigint = 2n ** 64n - 1n;
export const unknownSize: Range = { min: 0n, max: unbounded };

const capped = (value: bigint): bigint => lesser(value, unbounded);

export const exactly = (value: bigint | number): Range => ({ min: BigInt(value), max: BigInt(value) });
export const one: Range = exactly(1);
export const zero: Range = exactly(0);

export function addRanges(...ranges: readonly Range[]): Range {
  let { min, max } = zero;
  for (const range of ranges) {
    min = capped(min + range.min);
    max = capped(max + range.max);
  }
  return { min, max };
}

export function multiplyRanges(a: Range, b: Range): Range {
  return { min: capped(a.min * b.min), max: capped(a.max * b.max) };
}

/** Each end times a factor, rounded up. */
export function scaleRange({ min, max }: Range, factor: number): Range {
  return { min: scale(min, factor), max: scale(max, factor) };
}

function scale(value: bigint, factor: number): bigint {
  const float = Number(value);
  if (float > 0 && factor > 0 && float > 2 ** 64 / factor) return unbounded;
  const scaled = Math.ceil(float * factor);
  return scaled >= 2 ** 64 ? unbounded : BigInt(scaled);
}

/** The smallest range that holds both. */
export function unionRanges(a: Range, b: Range): Range {
  return { min: lesser(a.min, b.min), max: b.max === lesser(a.max, b.max) ? a.max : b.max };
}

/** The smaller of two numbers that Math.min does not take. */
export function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

/** What is known about an argument before the expression runs. */
export interface EstimatedArg {
  readonly type: CelType;
  /** Missing for the elements of a list. */
  readonly expr: Expr | undefined;
  /** Where the schema declares the value: a variable, then fields, `@items`, `@keys` and `@values`. */
  readonly path: readonly string[] | undefined;
  /** The size that follows from the expression itself. */
  readonly computedSize: Range | undefined;
}

/** A call whose cost is to be estimated. */
export interface EstimatedCall {
  readonly overload: string;
  readonly target: EstimatedArg | undefined;
  readonly args: readonly EstimatedArg[];
  /** The size of an argument from the expression, else from the schema, else unknown. */
  sizeOf(arg: EstimatedArg): Range;
  /** What is known of a list's elements, or undefined when the argument has none. */
  elementOf(arg: EstimatedArg): EstimatedArg | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly resultSize?: Range | undefined;
}

/** What a call costs, before and while it runs. */
export interface CostModel {
  /** Finding the cost is work too, which is accounted to `meter`. `result` is given only to models that say they need it, since they are charged after the call. */
  actual(args: readonly Value[], meter: Meter, result: Value): number;
  readonly needsResult?: boolean;
  /** What the call will cost, where its arguments show that and it takes long: a call that costs too much is not made. */
  ahead?(args: readonly Value[]): number;
  /** Undefined leaves the estimate to the default of one unit. */
  estimate(call: EstimatedCall): CallEstimate | undefined;
}

/** The sizes of what a list or map holds. */
export interface EntrySize {
  readonly container: "list" | "map";
  readonly key: Range;
  readonly value: Range;
}

/** The sizes of what either holds, if both are known. */
export function unionEntries(a: EntrySize | undefined, b: EntrySize | undefined): EntrySize | undefined {
  if (!a || !b) return undefined;
  return { container: a.container, key: unionRanges(a.key, b.key), value: unionRanges(a.value, b.value) };
}

/** The size of what is written out in the expression. */
export function literalSize(expr: Expr): Range | undefined {
  switch (expr.kind) {
    case "list":
      return exactly(expr.elements.length);
    case "map":
      return exactly(expr.entries.length);
    case "literal":
      if (typeof expr.value === "string") return exactly(textSize(expr.value));
      return exactly(expr.value instanceof Uint8Array ? expr.value.length : 1);
    default:
      return undefined;
  }
}

/** The cost of looking at one character of a string. */
export const characterCost = 0.1;
/** The cost of one character of a pattern, for each unit of text it is matched against. */
export const patternCharacterCost = 0.25;
/** The cost of making a list, beside its elements. */
export const listCost = 10;
export const mapCost = 30;
export const structCost = 40;

/** What counts as the size of a value: characters, bytes, elements or entries, else one. */
export function sizeOf(value: Value, meter: Meter): number {
  if (typeof value === "string") {
    meter.characters(value.length);
    return textSize(value);
  }
  if (value instanceof ListValue) return value.size;
  if (value instanceof MapValue) {
    meter.spend(value.size);
    return value.size;
  }
  if (value instanceof Uint8Array) return value.length;
  return value instanceof OpaqueValue ? (value.costSize ?? 1) : 1;
}

/** The same for operators, which look into optionals. */
export function operandSize(value: Value, meter: Meter): number {
  return value instanceof OptionalValue && value.hasValue ? operandSize(value.value, meter) : sizeOf(value, meter);
}

export const fixedCost: CostModel = { actual: () => 1, estimate: () => ({ cost: one }) };

interface Traversal {
  readonly factor?: number;
  /** The result is as long as what was traversed. */
  readonly keepsSize?: boolean;
  /** Which argument is traversed when the call has no target. */
  readonly arg?: number;
}

/** The cost of going through a text once: the target of the call, or else an argument. */
export function traversal({ factor = characterCost, keepsSize = false, arg = 0 }: Traversal = {}): CostModel {
  return {
    actual: (args, meter) => Math.ceil(sizeOf(args[arg] ?? null, meter) * factor),
    estimate: (call) => {
      const subject = call.target ?? call.args[arg];
      if (!subject) return undefined;
      const size = call.sizeOf(subject);
      return { cost: scaleRange(size, factor), ...(keepsSize && { resultSize: size }) };
    },
  };
}

/** The cost of matching a pattern (second argument) against a text (first argument). */
export const matchCost: CostModel = {
  actual: (args, meter) => {
    const text = Math.ceil((1 + sizeOf(args[0] ?? null, meter)) * characterCost);
    return text * Math.ceil(sizeOf(args[1] ?? null, meter) * patternCharacterCost);
  },
  estimate: (call) => {
    const [pattern] = call.args;
    if (!call.target || !pattern) return undefined;
    const text = scaleRange(addRanges(call.sizeOf(call.target), one), characterCost);
    return { cost: multiplyRanges(text, scaleRange(call.sizeOf(pattern), patternCharacterCost)) };
  },
};

/** The same where what is found is the result: at most the whole text. */
export const findCost: CostModel = {
  actual: matchCost.actual,
  estimate: (call) => {
    const estimate = matchCost.estimate(call);
    return estimate && call.target && { ...estimate, resultSize: { min: 0n, max: call.sizeOf(call.target).max } };
  },
};

/** The cost of looking at every value inside a list once. */
export const listTraversal: CostModel = {
  actual: (args, meter) => traversalCost(args[0] ?? null, meter),
  estimate: (call) => {
    if (!call.target) return undefined;
    const element = call.elementOf(call.target);
    const size = call.sizeOf(call.target);
    // Without elements it is a string, which some of these functions take too.
    if (!element) return { cost: scaleRange(size, characterCost) };
    return { cost: multiplyRanges(size, addRanges(one, textCost(call, element))) };
  },
};

function textCost(call: EstimatedCall, element: EstimatedArg): { min: bigint; max: bigint } {
  const isText = element.type.kind === "string" || element.type.kind === "bytes";
  return isText ? scaleRange(call.sizeOf(element), characterCost) : exactly(0);
}

function traversalCost(value: Value, meter: Meter): number {
  if (typeof value === "string") {
    meter.characters(value.length);
    return Math.floor(utf8Length(value) * characterCost);
  }
  if (value instanceof Uint8Array) return Math.floor(value.length * characterCost);
  let cost = 0;
  if (value instanceof ListValue) {
    meter.elements(value.size);
    for (const element of elementsOf(value)) cost += traversalCost(element, meter);
    return cost;
  }
  if (!(value instanceof MapValue)) return 1;
  meter.elements(value.size);
  for (const key of value.keys()) cost += traversalCost(key, meter) + traversalCost(value.find(key) ?? null, meter);
  return cost;
}
