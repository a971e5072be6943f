// SPDX-License-Identifier: Apache-2.0
import {
  checkSchema,
  childPath,
  type FieldError,
  type FieldPath,
  invalidValue,
  isJsonObject,
  type JsonValue,
  jsonEqual,
  keyPath,
  prune,
} from "@purlin/kube-objects";
import type { SchemaProps } from "./schema-props.ts";

/** What is wrong with the defaults of a structural schema: they must be valid and hold nothing that would be pruned. */
export function* defaultProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  if (schema.default !== undefined) yield* valueProblems(schema, schema.default, childPath(path, "default"));
  const items = schema.items?.schema;
  if (items !== undefined) yield* defaultProblems(items, childPath(path, "items"));
  for (const [name, property] of schema.properties) {
    yield* defaultProblems(property, keyPath(childPath(path, "properties"), name));
  }
}

function* valueProblems(schema: SchemaProps, value: JsonValue, path: FieldPath): Generator<FieldError> {
  if (!isClean(schema, value)) yield invalidValue(path, value, "must not have unknown fields");
  for (const { type, body, path: inside } of checkSchema(value, schema.json)) {
    if (type !== "UnknownField") yield { type, body, field: joined(path, inside) };
  }
}

function isClean(schema: SchemaProps, value: JsonValue): boolean {
  // Pruning works on whole objects; the value stands in one under a name of its own.
  const around = { type: "object", properties: { value: schema.json } };
  const { object } = prune({ value }, around);
  return jsonEqual(isJsonObject(object) ? (object["value"] ?? null) : null, value);
}

/** The reference puts a point even before the index of an item. */
function joined(path: FieldPath, inside: FieldPath): FieldPath {
  return inside === "" ? path : `${path}.${inside}`;
}
