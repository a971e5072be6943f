// SPDX-License-Identifier: Apache-2.0
// From the schemas of Kubernetes, a dialect of OpenAPI v3, to JSON Schema (draft 7), which editors read.

import type { Work } from "@purlin/base";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { componentOf, isDefaulted } from "./schema-shape.ts";

/** A JSON Schema that is being made. */
export type JsonSchema = Record<string, JsonValue>;

/** How schemas are converted. */
interface JsonSchemaContext {
  /** The reference to the definition of metadata. */
  readonly metadata: string;
  /** Whether the schema is that of a custom resource: there, an object without properties has no members, and defaults are filled in. */
  readonly isCustom: boolean;
}

const copied = [
  ...["title", "description", "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems"],
  ...["maxItems", "minProperties", "maxProperties"],
];
/** The formats of draft 7 that mean the same in Kubernetes. */
const formats: ReadonlySet<JsonValue | undefined> = new Set(["date-time", "date", "email", "ipv4", "ipv6", "uri"]);

/** The reference to a definition. */
export function definitionReference(name: string): string {
  return `#/definitions/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Converts a schema, and yields between its parts. */
export function* toJsonSchema(schema: JsonObject, context: JsonSchemaContext): Work<JsonSchema> {
  yield;
  const component = componentOf(schema);
  if (component !== undefined) return { $ref: definitionReference(component) };
  const made: JsonSchema = {};
  for (const key of copied) if (schema[key] !== undefined && schema[key] !== null) made[key] = schema[key];
  if (context.isCustom && isDefaulted(schema)) made["default"] = schema["default"] ?? null;
  copyValues(schema, made);
  const { items, properties, additionalProperties } = schema;
  if (isJsonObject(items)) made["items"] = yield* toJsonSchema(items, context);
  if (isJsonObject(additionalProperties)) {
    made["additionalProperties"] = yield* toJsonSchema(additionalProperties, context);
  }
  if (isJsonObject(properties)) made["properties"] = yield* convertAll(properties, context);
  closeObject(schema, made, context);
  return made;
}

function* convertAll(properties: JsonObject, context: JsonSchemaContext): Work<JsonSchema> {
  const made: [string, JsonValue][] = [];
  for (const [name, property] of Object.entries(properties)) {
    made.push([name, isJsonObject(property) ? yield* toJsonSchema(property, context) : {}]);
  }
  return Object.fromEntries(made);
}

/** The keywords about a value itself. */
function copyValues(schema: JsonObject, made: JsonSchema): void {
  const isNullable = schema["nullable"] === true;
  const type = schema["x-kubernetes-int-or-string"] === true ? ["integer", "string"] : typeOf(schema);
  if (type !== undefined) made["type"] = isNullable ? [type, "null"].flat() : type;
  const { enum: values, pattern, format } = schema;
  if (isJsonArray(values)) made["enum"] = isNullable && !values.includes(null) ? [...values, null] : values;
  if (typeof pattern === "string" && isEditorPattern(pattern)) made["pattern"] = pattern;
  if (formats.has(format) && format !== undefined) made["format"] = format;
  for (const [flag, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const value = made[limit];
    if (schema[flag] !== true || value === undefined) continue;
    made[flag] = value;
    delete made[limit];
  }
}

function typeOf({ type, oneOf }: JsonObject): JsonValue | undefined {
  if (typeof type === "string" && type !== "") return type;
  // Built-in schemas list the types of a value this way.
  const types = isJsonArray(oneOf) ? oneOf.map((one) => (isJsonObject(one) ? one["type"] : undefined)) : [];
  return types.length > 0 && types.every((one) => typeof one === "string") ? types : undefined;
}

/** Go's patterns have syntax that editors refuse; the API server still checks those. */
function isEditorPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Says which members an object must have, and that it has no others. Fields with a default may be left out. */
function closeObject(schema: JsonObject, made: JsonSchema, { metadata, isCustom }: JsonSchemaContext): void {
  const { properties, required, additionalProperties } = schema;
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const isObject = schema["type"] === "object" || isJsonObject(properties);
  if (!isObject && !isResource) return;
  const isFree = schema["x-kubernetes-preserve-unknown-fields"] === true || additionalProperties === true;
  const isKnown = isJsonObject(properties) || isResource || isCustom;
  if (!isFree && additionalProperties === undefined && isKnown) made["additionalProperties"] = false;
  const needed = (isJsonArray(required) ? required : []).filter((name) => !isCustom || !hasDefault(properties, name));
  if (isResource) {
    const own = { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { $ref: metadata } };
    made["properties"] = { ...(made["properties"] as JsonObject | undefined), ...own };
    needed.push("apiVersion", "kind");
  }
  if (needed.length > 0) made["required"] = [...new Set(needed)];
}

function hasDefault(properties: JsonValue | undefined, name: JsonValue): boolean {
  const property = isJsonObject(properties) && typeof name === "string" ? properties[name] : undefined;
  return isJsonObject(property) && isDefaulted(property);
}
