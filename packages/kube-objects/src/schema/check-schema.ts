// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type Mapped, mapItems, mapMembers, removed } from "../json/map-members.ts";
import { type CheckValueOptions, checkValue } from "./check-value.ts";
import { checkEmbeddedResources } from "./embedded-resources.ts";
import type { SchemaFinding } from "./finding.ts";
import { checkListTypes } from "./list-types.ts";
import { maxNesting } from "./nesting.ts";
import { type SchemaNode, schemaNode } from "./schema-node.ts";
import { checkUnknownFields } from "./unknown-fields.ts";

/** How an object is checked. */
export interface CheckSchemaOptions extends CheckValueOptions {
  /** Whether fields that the schema does not know are findings, which catches typing errors. Ignored by default. */
  readonly unknownFields?: "report" | "ignore";
  /** What a member that is null without being allowed to means: a mistake (the default), or that it is not there. */
  readonly nulls?: "reject" | "absent";
}

/**
 * Checks an object against an OpenAPI v3 schema without references: the keywords, the uniqueness of lists that are sets
 * or maps, embedded resources and, when asked for, unknown fields. Finds what the reference server finds in a custom
 * resource, in the same words; rules in CEL are not evaluated. An empty list means that the object fits.
 *
 * Never throws. Takes time proportional to the sizes of the object and the schema, and a bounded time per pattern.
 */
export function checkSchema(object: unknown, schema: JsonObject, options: CheckSchemaOptions = {}): SchemaFinding[] {
  const value = options.nulls === "absent" ? withoutForbiddenNulls(object, schema) : object;
  return [
    ...checkValue(value, schema, options),
    ...checkListTypes(value, schema),
    ...(options.partial ? [] : checkEmbeddedResources(value, schema)),
    ...(options.unknownFields === "report" ? checkUnknownFields(value, schema) : []),
  ];
}

/** A finding as one line for people: where, and what. */
export function findingText({ path, body }: SchemaFinding): string {
  return path === "" ? body : `${path}: ${body}`;
}

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
