// SPDX-License-Identifier: Apache-2.0

import { OpaqueValue } from "../values/opaque.ts";
import type { CostModel, EstimatedArg, EstimatedCall } from "./cost-model.ts";
import { characterCost, operandSize } from "./costs.ts";
import { addRanges, lesser, multiplyRanges, one, type Range, scaleRange, unknownSize } from "./range.ts";

const knownSize = (arg: EstimatedArg): Range => arg.computedSize ?? unknownSize;

function estimateComparison({ args }: EstimatedCall): { readonly cost: Range } | undefined {
  const [left, right] = args;
  if (!left || !right) return undefined;
  const max = lesser(knownSize(left).max, knownSize(right).max);
  return { cost: scaleRange({ min: max > 0n ? 1n : 0n, max }, characterCost) };
}

/** Comparing two texts takes as long as the shorter one. */
export const compareTextCost: CostModel = {
  actual: ([a = null, b = null], meter) =>
    Math.ceil(Math.min(operandSize(a, meter), operandSize(b, meter)) * characterCost),
  estimate: estimateComparison,
};

const cheapTypes: ReadonlySet<string> = new Set(["net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"]);
const longestFormatName: Range = { min: 1n, max: 64n };

/** The same for equality, which libraries make cheap for their types. */
export const equalityCost: CostModel = {
  actual: (args, meter) => (args[0] instanceof OpaqueValue ? 1 : compareTextCost.actual(args, meter, null)),
  estimate: (call) => {
    const [left, right] = call.args;
    if (!left || !right) return undefined;
    const { name } = left.type;
    if (name === right.type.name) {
      if (cheapTypes.has(name)) return { cost: one };
      if (name === "kubernetes.NamedFormat") return { cost: scaleRange(longestFormatName, characterCost) };
      if (name === "kubernetes.URL") {
        const max = right.computedSize?.max ?? 1n;
        return { cost: scaleRange({ min: 1n, max }, characterCost) };
      }
    }
    return estimateComparison(call);
  },
};

/** Joining two texts copies both. */
export const joinTextCost: CostModel = {
  actual: ([a = null, b = null], meter) => Math.ceil((operandSize(a, meter) + operandSize(b, meter)) * characterCost),
  estimate: ({ args }) => {
    const resultSize = addRanges(...args.map(knownSize));
    return { cost: scaleRange(resultSize, characterCost), resultSize };
  },
};

export const joinListsCost: CostModel = {
  actual: () => 1,
  estimate: ({ args }) => ({ cost: one, resultSize: addRanges(...args.map(knownSize)) }),
};

export const inListCost: CostModel = {
  actual: ([, list = null], meter) => operandSize(list, meter),
  estimate: ({ args: [, list] }) => list && { cost: scaleRange(knownSize(list), 1) },
};

/** The text is looked at once; the estimate goes by what is looked for. */
export const affixCost: CostModel = {
  actual: ([text = null], meter) => Math.ceil(operandSize(text, meter) * characterCost),
  estimate: ({ args: [affix] }) => affix && { cost: scaleRange(knownSize(affix), characterCost) },
};

export const containsTextCost: CostModel = {
  actual: ([text = null, part = null], meter) =>
    Math.ceil(operandSize(text, meter) * characterCost) * Math.ceil(operandSize(part, meter) * characterCost),
  estimate: ({ target, args: [part] }) => {
    if (!target || !part) return undefined;
    const text = scaleRange(knownSize(target), characterCost);
    const sought = scaleRange(knownSize(part), characterCost);
    return { cost: multiplyRanges(text, sought) };
  },
};
