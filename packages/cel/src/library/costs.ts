// SPDX-License-Identifier: Apache-2.0
import { elementsOf, ListValue } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import type { Meter } from "../values/meter.ts";
import { OpaqueValue } from "../values/opaque.ts";
import { OptionalValue } from "../values/optional.ts";
import { textBytes, textSize } from "../values/text.ts";
import type { Value } from "../values/value.ts";
import type { CostModel, EstimatedArg, EstimatedCall } from "./cost-model.ts";
import { addRanges, exactly, multiplyRanges, one, scaleRange } from "./range.ts";

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
    return Math.floor(textBytes(value) * characterCost);
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
  for (const key of value.keys()) {
    cost += traversalCost(key, meter) + traversalCost(value.find(key) ?? null, meter);
  }
  return cost;
}
