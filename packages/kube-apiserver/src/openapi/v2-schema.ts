// SPDX-License-Identifier: Apache-2.0
// A schema of OpenAPI v3 in v2, which knows less: no alternatives, no null, no defaults beside references.
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { referredComponent } from "@purlin/kube-objects/openapi";
import { definitionReference } from "./v2-paths.ts";

/** Says nothing in this version, or nothing that every reader of it would understand. */
const unknown: ReadonlySet<string> = new Set(["default", "allOf", "anyOf", "oneOf", "not", "nullable"]);
/** What a value that may be anything must not say about itself. */
const shape: ReadonlySet<string> = new Set(["type", "items", "properties", "additionalProperties"]);
const preserves = "x-kubernetes-preserve-unknown-fields";
const embedded = "x-kubernetes-embedded-resource";

/** A component of a built-in kind. */
export function builtinV2Schema(schema: JsonObject): JsonObject {
  const { oneOf } = schema;
  // Quantities and the like: plain strings for clients that do not know the extension.
  return isJsonArray(oneOf) && schema["type"] === undefined
    ? { ...v2Schema(schema), type: "string" }
    : v2Schema(schema);
}

/** A component of a custom kind: its object or its list. */
export function customV2Schema(schema: JsonObject): JsonObject {
  if (schema[preserves] !== true) return v2Schema(schema);
  // A client that finds properties treats every other field as an error.
  const about = Object.entries(schema).filter(([name]) => name.startsWith("x-kubernetes-") && name !== preserves);
  return { type: "object", ...Object.fromEntries(about) };
}

function v2Schema(schema: JsonObject): JsonObject {
  const reference = referenceIn(schema);
  const isAnything = schema["nullable"] === true || schema[preserves] === true;
  const made: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (!unknown.has(name) && !(isAnything && shape.has(name))) made[name] = member(name, value);
  }
  if (reference !== undefined) made["$ref"] = definitionReference(reference);
  return schema[embedded] === true && schema[preserves] === true ? withoutType(made) : made;
}

/** The one component a schema stands for. */
function referenceIn({ $ref, allOf }: JsonObject): string | undefined {
  const [only, ...others] = isJsonArray(allOf) ? allOf : [];
  const target = $ref ?? (others.length === 0 && isJsonObject(only) ? only["$ref"] : undefined);
  return typeof target === "string" ? referredComponent(target) : undefined;
}

function member(name: string, value: JsonValue): JsonValue {
  if (name === "properties" && isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, isJsonObject(one) ? v2Schema(one) : one]),
    );
  }
  return (name === "items" || name === "additionalProperties") && isJsonObject(value) ? v2Schema(value) : value;
}

/** The required kind and apiVersion of an embedded object apply only where its members are listed, and here they are not. */
function withoutType({ required, ...schema }: JsonObject): JsonObject {
  const names = isJsonArray(required) ? required.filter((name) => name !== "kind" && name !== "apiVersion") : [];
  return names.length === 0 ? schema : { ...schema, required: names };
}
