// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type Mapped, mapItems, mapMembers, removed } from "../structural/map-members.ts";
import { maxNesting } from "./nesting.ts";
import { type SchemaNode, schemaNode } from "./schema-node.ts";

/**
 * A value without the members that are null although their schema does not allow it, which is how a server reads them,
 * whatever default the schema has. Items of lists stay, as does null where nothing is specified. Parts without such
 * members are not copied.
 */
export function withoutForbiddenNulls(value: unknown, schema: JsonObject): unknown {
  return dropFrom(value as JsonValue, schema, 1);
}

function dropFrom(value: JsonValue, schema: JsonObject | undefined, depth: number): JsonValue {
  if (schema === undefined || depth > maxNesting) return value;
  const node = schemaNode(schema);
  if (isJsonArray(value)) return mapItems(value, (item) => dropFrom(item, node.items, depth + 1));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (member, key): Mapped => {
    const inner = memberSchema(node, key);
    const isForbidden = member === null && inner !== undefined && !acceptsNull(schemaNode(inner));
    return isForbidden ? removed : dropFrom(member, inner, depth + 1);
  });
}

function memberSchema({ properties, additionalProperties }: SchemaNode, key: string): JsonObject | undefined {
  const schema = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
  return isJsonObject(schema) ? schema : undefined;
}

function acceptsNull(node: SchemaNode): boolean {
  return node.nullable || node.types.length === 0 || node.types.includes("null");
}
