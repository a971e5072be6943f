// SPDX-License-Identifier: Apache-2.0
import { type FieldError, forbiddenValue } from "@purlin/kube-objects/errors";
import { maxWork } from "../eval/evaluation.ts";
import { lesser, unbounded } from "../library/costs.ts";

/** What one rule may cost each time it runs. */
export const ruleCostLimit = 1_000_000;
/** What all rules together may cost for one object. */
export const objectCostLimit = 10_000_000;
/** The work of all rules for one object, beside CEL's cost; a rule alone has a tenth, as with the cost. */
export const objectWorkLimit: number = 10 * maxWork;
/** What a rule may cost for one object by the estimate made when the CRD is written. */
export const estimatedRuleCostLimit = 10_000_000n;
/** What all rules of a schema may cost by that estimate. */
const estimatedSchemaCostLimit = 100_000_000n;

const maxBlamed = 4;

interface RuleCost {
  readonly path: string;
  readonly cost: bigint;
}

/** Adds up the estimates of a schema and remembers the most expensive rules. */
export class CostTotal {
  #total = 0n;
  #expensive: RuleCost[] = [];

  add(path: string, cost: bigint): void {
    this.#total = lesser(this.#total + cost, unbounded);
    // Rules that take less than a hundredth of the limit are not to blame.
    if (cost < estimatedSchemaCostLimit / 100n) return;
    this.#expensive.push({ path, cost });
    this.#expensive.sort((a, b) => Number(b.cost > a.cost) - Number(b.cost < a.cost));
    this.#expensive = this.#expensive.slice(0, maxBlamed);
  }

  errors(schemaPath: string): readonly FieldError[] {
    if (this.#total <= estimatedSchemaCostLimit) return [];
    const detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    const name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    return [
      ...this.#expensive.map(({ path }) => forbiddenValue(path, detail)),
      forbiddenValue(schemaPath, costMessage(name, this.#total, estimatedSchemaCostLimit)),
    ];
  }
}

/** That a cost is over its limit, by how much, and what helps. */
export function costMessage(name: string, cost: bigint, limit: bigint): string {
  const factor = Number(cost) / Number(limit);
  const shown = factor > 100 ? "more than 100x" : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  const help =
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared";
  return `${name} exceeds budget by factor of ${shown} (${help})`;
}

export function multiplyCost(cost: bigint, count: bigint): bigint {
  return lesser(cost * count, unbounded);
}
