// SPDX-License-Identifier: Apache-2.0
import { childPath, type FieldError, forbiddenValue, keyPath } from "@purlin/kube-objects/errors";
import type { Schema } from "@purlin/kube-objects/schema";
import { maxWork } from "../eval/evaluation.ts";
import { lesser, unbounded } from "../library/costs.ts";
import { type DeclType, declare } from "../schema/decl-type.ts";
import { escapeName, valueSchema } from "../schema/schema-node.ts";

/** A schema node on the way through a schema. */
export interface SchemaPlace {
  readonly schema: Schema;
  readonly path: string;
  readonly depth: number;
  /** What expressions see of it. Undefined below `allOf` and the like, where rules are not compiled. */
  readonly decl?: (() => DeclType | undefined) | undefined;
  /** How many of its values one object can hold; undefined when nothing bounds it. */
  readonly count?: bigint | undefined;
  /** The place above which an old value cannot be found for a new one. */
  readonly uncorrelated?: string | undefined;
}

/** The place of a whole schema. */
export function rootPlace(schema: Schema, path: string): SchemaPlace {
  return { schema, path, depth: 0, decl: once(() => declare(schema, true)), count: 1n };
}

/** The nodes right below a node that are of interest, in the order in which the API server looks at them. */
export function childPlaces(place: SchemaPlace, isOfInterest: (schema: Schema) => boolean): readonly SchemaPlace[] {
  const { schema, path, uncorrelated } = place;
  const depth = place.depth + 1;
  const count = multiplied(place.count, elementBound(schema));
  const children: SchemaPlace[] = [];
  const add = (child: Omit<SchemaPlace, "depth">): number => children.push({ depth, ...child });
  const values = valueSchema(schema);
  if (values) {
    const decl = inherited(place, values, (parent) => parent.element);
    add({ schema: values, path: childPath(path, "additionalProperties"), decl, count, uncorrelated });
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (!isOfInterest(property)) continue;
    const decl = inherited(place, property, (parent) => parent.fields?.get(escapeName(name) ?? ""));
    add({ schema: property, path: keyPath(childPath(path, "properties"), name), decl, count, uncorrelated });
  }
  if (schema.not) add({ schema: schema.not, path: childPath(path, "not"), uncorrelated });
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, part] of (schema[name] ?? []).entries()) {
      if (!isOfInterest(part)) continue;
      add({ schema: part, path: keyPath(childPath(path, name), index), uncorrelated });
    }
  }
  if (schema.items) {
    const decl = inherited(place, schema.items, (parent) => parent.element);
    // Only in a list of type map does an element have an old one.
    const isCorrelated = schema["x-kubernetes-list-type"] === "map";
    const within = isCorrelated ? uncorrelated : (uncorrelated ?? path);
    add({ schema: schema.items, path: childPath(path, "items"), decl, count, uncorrelated: within });
  }
  return children;
}

/** A child seen through its parent, or by itself where the parent does not show it. */
function inherited(
  { decl }: SchemaPlace,
  schema: Schema,
  read: (parent: DeclType) => DeclType | undefined,
): (() => DeclType | undefined) | undefined {
  if (!decl) return undefined;
  return once(() => {
    const parent = decl();
    return (parent && read(parent)) ?? declare(schema, schema["x-kubernetes-embedded-resource"] === true);
  });
}

/** Most nodes have no rules, so types are declared when they are needed, and not again for each node below. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** By how much a node multiplies the values below it; undefined when it is unbounded. */
function elementBound(schema: Schema): bigint | undefined {
  const notNegative = (bound: number | bigint | undefined): bigint | undefined =>
    bound === undefined ? undefined : BigInt(bound) < 0n ? 0n : BigInt(bound);
  if (schema.type === "array") return notNegative(schema.maxItems);
  const isMap = schema.type === "object" && schema.additionalProperties !== undefined;
  return isMap ? notNegative(schema.maxProperties) : 1n;
}

function multiplied(count: bigint | undefined, bound: bigint | undefined): bigint | undefined {
  return count === undefined || bound === undefined ? undefined : multiplyCost(count, bound);
}

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
