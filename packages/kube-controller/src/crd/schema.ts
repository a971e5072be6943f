// SPDX-License-Identifier: Apache-2.0
// The words in which the CRDs of our kinds are written down: short enough that a schema reads like its table.
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { Schema } from "@purlin/kube-objects/schema";

/** Fields by name; a name that ends in `*` is a required field. */
export type Fields = Readonly<Record<string, Schema>>;

/** A text. */
export const text: Schema = { type: "string" };
/** A number without fraction that fits 64 bits. */
export const integer: Schema = { type: "integer", format: "int64" };
/** A number without fraction that fits 32 bits. */
export const integer32: Schema = { type: "integer", format: "int32" };
/** True or false. */
export const flag: Schema = { type: "boolean" };
/** A moment, as RFC 3339 writes it. */
export const time: Schema = { type: "string", format: "date-time" };
/** Any object; nothing in it is pruned. */
export const free: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** An object of these fields. */
export function object(fields: Fields, more: Schema = {}): Schema {
  const required = Object.keys(fields).filter(isRequired).map(bareName);
  const properties = Object.fromEntries(Object.entries(fields).map(([name, schema]) => [bareName(name), schema]));
  return { type: "object", ...(required.length > 0 && { required }), properties, ...more };
}

function isRequired(name: string): boolean {
  return name.endsWith("*");
}

function bareName(name: string): string {
  return isRequired(name) ? name.slice(0, -1) : name;
}

/** The keys of list items, for a list with several managers; by default a list has one manager. */
type ListType = { readonly mapBy: string } | "set" | "atomic";

/** A list. Without a list type the server takes it for atomic. */
export function listOf(items: Schema, type?: ListType, more: Schema = {}): Schema {
  return { type: "array", items, ...listTypeOf(type), ...more };
}

function listTypeOf(type: ListType | undefined): Schema {
  if (type === undefined) return {};
  if (typeof type === "string") return { "x-kubernetes-list-type": type };
  return { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [type.mapBy] };
}

/** An object whose keys users choose; its values are texts unless said otherwise. */
export function mapOf(values: Schema = text): Schema {
  return { type: "object", additionalProperties: values };
}

/** One of these texts. */
export function choice(...values: readonly string[]): Schema {
  return { type: "string", enum: values };
}

/** The schema with a default. */
export function defaulted(schema: Schema, value: JsonValue): Schema {
  return { ...schema, default: value };
}

/** The schema with CEL rules, each with the message that a user sees, added to those it has. */
export function checked(schema: Schema, rules: Readonly<Record<string, string>>): Schema {
  const had = schema["x-kubernetes-validations"] ?? [];
  const added = Object.entries(rules).map(([rule, message]) => ({ rule, message }));
  return { ...schema, "x-kubernetes-validations": [...had, ...added] };
}

/** The schema of something that may be set once. */
export function immutable(schema: Schema): Schema {
  return checked(schema, { "self == oldSelf": "Value is immutable" });
}

/** A map that one manager owns as a whole. */
export function atomicMap(schema: Schema): Schema {
  return { ...schema, "x-kubernetes-map-type": "atomic" };
}

/** A column of `kubectl get`. */
export type Column = {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  /** Above 0: shown with `-o wide` only. */
  readonly priority?: number;
};

/** A column that shows a field. */
export function column(name: string, jsonPath: string, type: Column["type"] = "string"): Column {
  return { name, type, jsonPath };
}

/** A column that is shown with `-o wide` only. */
export function wideColumn(name: string, jsonPath: string): Column {
  return { ...column(name, jsonPath), priority: 1 };
}

/** A column that shows the status of a condition. */
export function conditionColumn(name: string, condition: string): Column {
  return column(name, `.status.conditions[?(@.type=='${condition}')].status`);
}

/** How old the object is. */
export const ageColumn: Column = column("AGE", ".metadata.creationTimestamp", "date");

// Shapes that several of our kinds share.

const condition: Schema = object({
  "lastTransitionTime*": time,
  message: text,
  observedGeneration: integer,
  "reason*": text,
  "status*": text,
  "type*": text,
});

function conditionsOf(item: Schema): Schema {
  return listOf(item, { mapBy: "type" }, { description: "Conditions of the resource." });
}

/** The conditions of a kind that an author defines. Crossplane adds no texts to its fields, and neither do we. */
export const bareConditions: Schema = conditionsOf(condition);

/** The conditions of an object, one a type. */
export const conditions: Schema = conditionsOf(
  describeFields(condition, {
    lastTransitionTime: "When the status of this condition last changed.",
    message: "Details for people.",
    observedGeneration: "The metadata.generation that this condition was computed for.",
    reason: "Why the condition has its status, as one word in CamelCase.",
    status: "True, False or Unknown.",
    type: "What the condition is about; unique in the list.",
  }),
);

/** A reference by name in a kind that an author defines. */
export const bareNameRef: Schema = object({ "name*": text });

/** A reference by name. */
export const nameRef: Schema = describeFields(bareNameRef, { name: "Name of the referenced object." });

/** Texts by the path that `kubectl explain` takes, such as `spec.pipeline.step`: items and values have the path of their list or map. */
export type FieldTexts = Readonly<Record<string, string>>;

/** The texts of a part, as texts of the whole that has it at a path. */
export function under(path: string, texts: FieldTexts): FieldTexts {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${path}.${name}`, text]));
}

/** A schema whose fields have the texts of their paths. A field that has a description keeps it. */
export function describeFields(schema: Schema, texts: FieldTexts): Schema {
  return describeAt(schema, "", texts);
}

function describeAt(schema: Schema, path: string, texts: FieldTexts): Schema {
  const described: Record<string, JsonValue> = { ...schema };
  for (const key of ["items", "additionalProperties"] as const) {
    const inner = schema[key];
    if (isJsonObject(inner)) described[key] = describeAt(inner, path, texts);
  }
  if (isJsonObject(schema["properties"]))
    described["properties"] = describeProperties(schema["properties"], path, texts);
  return described;
}

function describeProperties(properties: JsonObject, path: string, texts: FieldTexts): JsonObject {
  const fields = Object.entries(properties).map(([name, field]) => {
    if (!isJsonObject(field)) return [name, field];
    const own = path === "" ? name : `${path}.${name}`;
    const text = texts[own];
    const inner = describeAt(field, own, texts);
    return [name, text === undefined || inner["description"] !== undefined ? inner : { ...inner, description: text }];
  });
  return Object.fromEntries(fields) as JsonObject;
}
