// SPDX-License-Identifier: Apache-2.0
// A schema as the checks read it. Schemas come from users, so each keyword is taken only in its proper form and ignored
// otherwise; that is done once per schema and remembered as long as the schema lives.
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { isCheckedFormat } from "./formats.ts";

/** An integer as JSON readers hand it over: those beyond 2^53 may be bigints. */
type JsonInteger = number | bigint;

/** One entry of `x-kubernetes-validations`. */
export type ValidationRule = {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
};

/** An OpenAPI v3 schema as CRDs carry it. It is JSON; keywords that are not listed here may be there as well. */
export type Schema = {
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly not?: Schema;
  readonly required?: readonly string[];
  readonly default?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly nullable?: boolean;
  readonly minimum?: JsonInteger;
  readonly maximum?: JsonInteger;
  readonly minLength?: JsonInteger;
  readonly maxLength?: JsonInteger;
  readonly minItems?: JsonInteger;
  readonly maxItems?: JsonInteger;
  readonly minProperties?: JsonInteger;
  readonly maxProperties?: JsonInteger;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
};

/** The keywords of one schema that the checks understand, in their proper form or absent. */
export interface SchemaNode {
  /** Empty when any type will do. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  /** Empty when absent, or when it means nothing for the types. */
  readonly format: string;
  readonly enum: readonly JsonValue[];
  readonly pattern: string;
  readonly limits: Limits;
  readonly uniqueItems: boolean;
  readonly items: JsonObject | undefined;
  readonly properties: JsonObject;
  readonly additionalProperties: JsonObject | boolean | undefined;
  readonly required: readonly string[];
  readonly allOf: readonly JsonObject[];
  readonly anyOf: readonly JsonObject[];
  readonly oneOf: readonly JsonObject[];
  readonly not: JsonObject | undefined;
  readonly preserveUnknownFields: boolean;
  readonly embeddedResource: boolean;
  readonly listType: string;
  readonly listMapKeys: readonly string[];
}

/** The numeric keywords of a schema. */
interface Limits {
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
}

const nodes = new WeakMap<JsonObject, SchemaNode>();

/** The node of a schema; the same one for the same object. */
export function schemaNode(schema: JsonObject): SchemaNode {
  const known = nodes.get(schema);
  if (known) return known;
  const node = readNode(schema);
  nodes.set(schema, node);
  return node;
}

function readNode(schema: JsonObject): SchemaNode {
  const types = readTypes(schema);
  const format = stringOf(schema["format"]);
  const additional = schema["additionalProperties"];
  return {
    types,
    nullable: schema["nullable"] === true,
    format: isCheckedFormat(format, types) ? format : "",
    enum: listOf(schema["enum"]),
    pattern: stringOf(schema["pattern"]),
    limits: readLimits(schema),
    uniqueItems: schema["uniqueItems"] === true,
    items: objectOf(schema["items"]),
    properties: objectOf(schema["properties"]) ?? {},
    additionalProperties: typeof additional === "boolean" ? additional : objectOf(additional),
    required: stringsOf(schema["required"]),
    allOf: listOf(schema["allOf"]).filter(isJsonObject),
    anyOf: listOf(schema["anyOf"]).filter(isJsonObject),
    oneOf: listOf(schema["oneOf"]).filter(isJsonObject),
    not: objectOf(schema["not"]),
    preserveUnknownFields: schema["x-kubernetes-preserve-unknown-fields"] === true,
    embeddedResource: schema["x-kubernetes-embedded-resource"] === true,
    listType: stringOf(schema["x-kubernetes-list-type"]),
    listMapKeys: stringsOf(schema["x-kubernetes-list-map-keys"]),
  };
}

function readTypes(schema: JsonObject): readonly string[] {
  if (schema["x-kubernetes-int-or-string"] === true) return ["integer", "string"];
  const { type } = schema;
  return typeof type === "string" && type !== "" ? [type] : stringsOf(type);
}

function readLimits(schema: JsonObject): Limits {
  return {
    minimum: numberOf(schema["minimum"]),
    exclusiveMinimum: schema["exclusiveMinimum"] === true,
    maximum: numberOf(schema["maximum"]),
    exclusiveMaximum: schema["exclusiveMaximum"] === true,
    multipleOf: numberOf(schema["multipleOf"]),
    minLength: numberOf(schema["minLength"]),
    maxLength: numberOf(schema["maxLength"]),
    minItems: numberOf(schema["minItems"]),
    maxItems: numberOf(schema["maxItems"]),
    minProperties: numberOf(schema["minProperties"]),
    maxProperties: numberOf(schema["maxProperties"]),
  };
}

function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === "bigint") return Number(value);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

const stringOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
const objectOf = (value: JsonValue | undefined): JsonObject | undefined => (isJsonObject(value) ? value : undefined);
const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);
const stringsOf = (value: JsonValue | undefined): string[] => listOf(value).filter((item) => typeof item === "string");
