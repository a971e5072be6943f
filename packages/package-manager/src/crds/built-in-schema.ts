// SPDX-License-Identifier: Apache-2.0
// A part of a built-in kind as part of a custom one: the OpenAPI schema that the API server serves, made structural.

import { integer, listOf, mapOf, object, text } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { builtinOpenAPI, inlineReferences } from "@purlin/kube-objects/openapi";
import type { Schema } from "@purlin/kube-objects/schema";

/** The structural schema of a component of a built-in group version, such as `io.k8s.api.apps.v1.DeploymentSpec`. */
export function builtInSchema(documentKey: string, component: string): Schema {
  const document = builtinOpenAPI().document(documentKey);
  if (document === undefined) throw new Error(`there is no built-in document "${documentKey}"`);
  return structural(inlineReferences(document, component));
}

/** What people set in the metadata of a template; the rest is the server's. */
const templateMetadata: Schema = object({
  annotations: mapOf(),
  finalizers: listOf(text),
  labels: mapOf(),
  name: text,
  namespace: text,
});

// What a CRD has no use for: hints for another kind of patch, and values that only the built-in kind's own code knows.
const dropped = new Set([
  "default",
  "enum",
  "format",
  "oneOf",
  "x-kubernetes-patch-merge-key",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-unions",
]);

const numbers = new Set(["integer", "number"]);

function structural(schema: JsonObject): Schema {
  if (Array.isArray(schema["oneOf"]))
    return { ...intOrString, ...(isQuantity(schema) && { pattern: quantityPattern }) };
  if (isObjectMeta(schema)) return templateMetadata;
  const kept = Object.entries(schema).filter(([key]) => !dropped.has(key));
  const { type, format } = schema as Schema;
  return {
    ...Object.fromEntries(kept.map(([key, value]) => [key, part(key, value)])),
    ...(numbers.has(String(type)) && format !== undefined && { format }),
    ...listItems(schema),
  };
}

function part(key: string, value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  if (key === "items" || key === "additionalProperties") return structural(value);
  if (key !== "properties") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, isJsonObject(schema) ? structural(schema) : schema]),
  );
}

const mapKeys = "x-kubernetes-list-map-keys";

/** Items are identified by their keys, so an optional key needs its default. */
function listItems(schema: JsonObject): Schema {
  const { items } = schema;
  const keys = schema[mapKeys];
  if (!isJsonObject(items) || !Array.isArray(keys)) return {};
  const required = (items["required"] ?? []) as readonly JsonValue[];
  const fields = isJsonObject(items["properties"]) ? items["properties"] : {};
  const made = structural(items);
  const properties: Record<string, Schema> = { ...made.properties };
  for (const key of keys as readonly string[]) {
    const [field, to] = [fields[key], properties[key]];
    const value = isJsonObject(field) ? field["default"] : undefined;
    if (value !== undefined && to !== undefined && !required.includes(key)) properties[key] = { ...to, default: value };
  }
  return { items: { ...made, properties } };
}

function isObjectMeta({ properties }: JsonObject): boolean {
  return isJsonObject(properties) && "managedFields" in properties && "ownerReferences" in properties;
}

const intOrString: Schema = {
  anyOf: [{ type: integer["type"] as string }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
};

function isQuantity({ format }: JsonObject): boolean {
  return format !== "int-or-string";
}

const quantityPattern =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";
