// SPDX-License-Identifier: Apache-2.0
// Checks the expressions of a policy against the schemas of the kinds that it matches.
import type { Schema } from "@purlin/kube-objects/schema";
import type { Fields } from "../check/environment.ts";
import { typeCheck } from "../program.ts";
import { celTypeOf, declare } from "../schema/decl-type.ts";
import { type CelType, dynType } from "../types/types.ts";
import { type ObjectType, typedEnvironment } from "./environment.ts";

/** The type of objects whose schema is not known. */
export const anyObject: ObjectType = { type: dynType, objects: new Map() };

/** The type of the objects that a published schema, without references, describes. */
export function objectTypeOf(schema: Schema, kind: string): ObjectType {
  const decl = declare(withUnions(schema), true);
  if (decl === undefined) return anyObject;
  const objects = new Map<string, Fields>();
  // A number follows the kind in the names of the reference as well: there, the nanosecond at which it checks.
  return { type: celTypeOf(decl, `${kind}1`, objects), objects };
}

/** Published schemas of built-in kinds mark the union of integers and strings by a format; those of custom resources by an extension. */
function withUnions(schema: Schema): Schema {
  if (schema.format === "int-or-string") return { "x-kubernetes-int-or-string": true };
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && { properties: mapValues(properties, withUnions) }),
    ...(items && { items: withUnions(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: withUnions(additionalProperties) }),
  };
}

function mapValues<T>(members: Readonly<Record<string, T>>, change: (member: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]));
}

/** A variable of a policy, as it is written. */
interface VariableText {
  readonly name: string;
  readonly expression: string;
}

/** Checks expressions for objects of one kind: the function answers with what is wrong with an expression, as the reference prints it. */
export function typeChecker(
  object: ObjectType,
  params: ObjectType | undefined,
  variables: readonly VariableText[],
): (expression: string) => string | undefined {
  const types = new Map<string, CelType>();
  for (const { name, expression } of variables) {
    const type = typeCheck(expression, typedEnvironment({ object, params, variables: types }));
    types.set(name, "problem" in type ? dynType : type);
  }
  const environment = typedEnvironment({ object, params, variables: types });
  return (expression) => {
    const type = typeCheck(expression, environment);
    return "problem" in type ? type.problem : undefined;
  };
}
