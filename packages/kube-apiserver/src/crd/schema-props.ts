// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, ownValue, sortedKeys } from "@purlin/kube-objects/json";

/** Reads one node of a CRD's schema, whatever a user wrote there. */
export interface SchemaProps {
  readonly json: JsonObject;
  readonly type: string;
  readonly properties: readonly (readonly [string, SchemaProps])[];
  readonly additionalProperties: { readonly allows: boolean; readonly schema: SchemaProps | undefined } | undefined;
  readonly items: { readonly schema: SchemaProps | undefined; readonly schemas: readonly SchemaProps[] } | undefined;
  readonly allOf: readonly SchemaProps[];
  readonly anyOf: readonly SchemaProps[];
  readonly oneOf: readonly SchemaProps[];
  readonly not: SchemaProps | undefined;
  readonly required: readonly string[];
  readonly default: JsonValue | undefined;
  readonly listType: string | undefined;
  readonly mapType: string | undefined;
  readonly listMapKeys: readonly string[];
  readonly rules: readonly JsonObject[];
  /** Whether a member is `true`. */
  is(name: string): boolean;
  /** A member that is a non-empty string, or the empty string. */
  text(name: string): string;
}

const nodes = new WeakMap<JsonObject, SchemaProps>();

/** The reader of a schema node; one for each node, made when first asked for. */
export function schemaProps(json: JsonObject): SchemaProps {
  const known = nodes.get(json);
  if (known !== undefined) return known;
  const node = createProps(json);
  nodes.set(json, node);
  return node;
}

function createProps(json: JsonObject): SchemaProps {
  const text = (name: string): string => {
    const value = ownValue(json, name);
    return typeof value === "string" ? value : "";
  };
  return {
    json,
    type: text("type"),
    properties: named(json, "properties"),
    additionalProperties: additionalOf(ownValue(json, "additionalProperties")),
    items: itemsOf(ownValue(json, "items")),
    allOf: list(json, "allOf"),
    anyOf: list(json, "anyOf"),
    oneOf: list(json, "oneOf"),
    not: single(ownValue(json, "not")),
    required: strings(ownValue(json, "required")),
    default: ownValue(json, "default") ?? undefined,
    listType: optionalText(ownValue(json, "x-kubernetes-list-type")),
    mapType: optionalText(ownValue(json, "x-kubernetes-map-type")),
    listMapKeys: strings(ownValue(json, "x-kubernetes-list-map-keys")),
    rules: objects(ownValue(json, "x-kubernetes-validations")),
    is: (name) => ownValue(json, name) === true,
    text,
  };
}

function single(value: JsonValue | undefined): SchemaProps | undefined {
  return isJsonObject(value) ? schemaProps(value) : undefined;
}

/** Named schemas in the order of their names, which is the order of messages about them. */
export function named(json: JsonObject, member: string): (readonly [string, SchemaProps])[] {
  const value = ownValue(json, member);
  if (!isJsonObject(value)) return [];
  return sortedKeys(value).flatMap((name) => {
    const schema = single(ownValue(value, name));
    return schema === undefined ? [] : [[name, schema] as const];
  });
}

function list(json: JsonObject, member: string): SchemaProps[] {
  return objects(ownValue(json, member)).map(schemaProps);
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? (value as JsonValue[]).filter(isJsonObject) : [];
}

function strings(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? (value as JsonValue[]).filter((item) => typeof item === "string") : [];
}

function optionalText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function additionalOf(value: JsonValue | undefined): SchemaProps["additionalProperties"] {
  if (typeof value === "boolean") return { allows: value, schema: undefined };
  return isJsonObject(value) ? { allows: true, schema: schemaProps(value) } : undefined;
}

function itemsOf(value: JsonValue | undefined): SchemaProps["items"] {
  if (Array.isArray(value)) return { schema: undefined, schemas: objects(value).map(schemaProps) };
  return isJsonObject(value) ? { schema: schemaProps(value), schemas: [] } : undefined;
}
