// SPDX-License-Identifier: Apache-2.0
// Expressions that select devices, in the claims and classes of dynamic resource allocation.
import type { Environment } from "../check/environment.ts";
import { estimateCost } from "../estimate/estimate.ts";
import { quantityType } from "../library/quantity.ts";
import { compile } from "../program.ts";
import { celTypeOf, DeclaredObjects, type DeclType } from "../schema/decl-type.ts";
import { boolType, type CelType, formatType, stringType } from "../types/types.ts";

/** The value of an attribute: a bool, an integer, a text or a version, which only the device knows. */
const anyType: CelType = { kind: "dyn", name: "any", params: [] };

const maxDomain = 63n;
const maxName = 32n;
const maxValue = 64n;
const maxEntries = 32n;

const scalar = (type: CelType, maxElements: bigint): DeclType => ({
  kind: "scalar",
  scalar: type,
  maxElements,
  minSize: 1,
});

function mapOf(key: bigint, element: DeclType, hasBoundedEntries = false): DeclType {
  return {
    kind: "map",
    key: scalar(stringType, key),
    element,
    maxElements: maxEntries,
    minSize: 1,
    hasBoundedEntries,
  };
}

/** Attributes and capacities, by the domain of their names and the rest of it. */
const device: DeclType = {
  kind: "object",
  maxElements: 0n,
  minSize: 1,
  fields: new Map([
    ["driver", scalar(stringType, maxDomain)],
    ["attributes", mapOf(maxDomain, mapOf(maxName, scalar(anyType, maxValue), true))],
    ["capacity", mapOf(maxDomain, mapOf(maxName, scalar(quantityType, 0n)))],
    ["allowMultipleAllocations", scalar(boolType, 1n)],
  ]),
};

function environment(): Environment {
  const objects = new DeclaredObjects();
  const type = celTypeOf(device, "kubernetes.DRADevice", objects);
  return { objects, variables: new Map([["device", type]]), hasBindings: true };
}

const costLimit = 1_000_000n;

/** Why an expression cannot select devices, as the reference says it; undefined if it can. */
export function deviceSelectorProblem(
  text: string,
): { readonly kind: "invalid" | "internal" | "forbidden"; readonly detail: string } | undefined {
  const program = compile(text, environment());
  if ("problem" in program) {
    return program.stage === "compile"
      ? { kind: "invalid", detail: `compilation failed: ${program.problem}` }
      : { kind: "internal", detail: `program instantiation failed: ${program.problem}` };
  }
  const type = formatType(program.type);
  if (type !== "bool" && type !== "any") {
    return { kind: "invalid", detail: `must evaluate to bool or the unknown type, not ${type}` };
  }
  const { max } = estimateCost(program.root, device);
  return max > costLimit ? { kind: "forbidden", detail: "too complex, exceeds cost limit" } : undefined;
}
