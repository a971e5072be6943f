// SPDX-License-Identifier: Apache-2.0
// The schema of a CustomResourceDefinition as the server publishes it: what its own type for schemas holds, nothing else,
// empty members left out, int-or-string spelled out.
import { isJsonObject, isNumber, type JsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";
import type { OpenAPISchema } from "./open-api-document.ts";

type Draft = Record<string, JsonValue>;

const copiedIfFilled = ["description", "title", "type", "format", "pattern"];
const copiedIfTrue = ["nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"];
const copiedNumbers = [
  ...["minimum", "maximum", "multipleOf", "minLength", "maxLength"],
  ...["minItems", "maxItems", "minProperties", "maxProperties"],
];
const trueExtensions = ["preserve-unknown-fields", "embedded-resource", "int-or-string"];
const ruleFields = ["rule", "message", "messageExpression", "reason", "fieldPath"];

/** Publishes a schema in which `properties`, `items` and `additionalProperties` specify values. */
export function publishSchema(schema: JsonObject): OpenAPISchema {
  const draft: Draft = {};
  const { items, properties, additionalProperties } = schema;
  if (isJsonObject(items)) draft["items"] = publishSchema(items);
  copyProperties(draft, properties, publishSchema);
  if (typeof additionalProperties === "boolean") draft["additionalProperties"] = additionalProperties;
  if (isJsonObject(additionalProperties)) draft["additionalProperties"] = publishSchema(additionalProperties);
  copyKeywords(draft, schema);
  if (draft["x-kubernetes-int-or-string"] === true) spellOutIntOrString(draft);
  return draft;
}

/** Publishes a schema inside allOf, anyOf, oneOf or not, which only restricts values specified elsewhere. */
function publishRestriction(schema: JsonObject): OpenAPISchema {
  const draft: Draft = {};
  const { items, properties } = schema;
  if (isJsonObject(items)) draft["items"] = publishRestriction(items);
  copyProperties(draft, properties, publishRestriction);
  copyKeywords(draft, schema);
  return draft;
}

function copyProperties(draft: Draft, properties: unknown, publish: (schema: JsonObject) => OpenAPISchema): void {
  if (!isJsonObject(properties)) return;
  const published: Draft = {};
  for (const [name, property] of Object.entries(properties)) {
    if (isJsonObject(property)) setOwnValue(published, name, publish(property));
  }
  if (Object.keys(published).length > 0) draft["properties"] = published;
}

function copyKeywords(draft: Draft, schema: JsonObject): void {
  for (const key of copiedIfFilled)
    copyIf(draft, { key, value: schema[key] }, (value) => typeof value === "string" && value !== "");
  for (const key of copiedIfTrue) copyIf(draft, { key, value: schema[key] }, (value) => value === true);
  for (const key of copiedNumbers) copyIf(draft, { key, value: schema[key] }, isNumber);
  for (const key of ["default", "example"]) copyIf(draft, { key, value: schema[key] }, (value) => value !== null);
  for (const key of ["enum", "required"]) copyIf(draft, { key, value: schema[key] }, isFilledList);
  copyIf(draft, { key: "externalDocs", value: schema["externalDocs"] }, isJsonObject);
  for (const key of ["allOf", "anyOf", "oneOf"]) {
    const members = schema[key];
    if (isFilledList(members)) draft[key] = members.filter(isJsonObject).map(publishRestriction);
  }
  const { not } = schema;
  if (isJsonObject(not)) draft["not"] = publishRestriction(not);
  copyExtensions(draft, schema);
}

function copyExtensions(draft: Draft, schema: JsonObject): void {
  for (const name of trueExtensions)
    copyIf(draft, { key: extension(name), value: schema[extension(name)] }, (value) => value === true);
  for (const name of ["list-type", "map-type"]) {
    copyIf(draft, { key: extension(name), value: schema[extension(name)] }, (value) => typeof value === "string");
  }
  copyIf(draft, { key: extension("list-map-keys"), value: schema[extension("list-map-keys")] }, isFilledList);
  const rules = schema[extension("validations")];
  if (isFilledList(rules)) draft[extension("validations")] = rules.filter(isJsonObject).map(publishRule);
}

function publishRule(rule: JsonObject): JsonObject {
  const draft: Draft = {};
  for (const key of ruleFields) copyIf(draft, { key, value: rule[key] }, (value) => value !== "" || key === "rule");
  copyIf(draft, { key: "optionalOldSelf", value: rule["optionalOldSelf"] }, (value) => typeof value === "boolean");
  return draft;
}

// A reader that knows no extension still sees that both types are allowed.
function spellOutIntOrString(draft: Draft): void {
  const { anyOf, allOf } = draft;
  const first = Array.isArray(allOf) ? (allOf[0] as JsonValue) : undefined;
  if (isEitherType(anyOf) || (isJsonObject(first) && isEitherType(first["anyOf"]))) return;
  const either = [{ type: "integer" }, { type: "string" }];
  if (anyOf === undefined) draft["anyOf"] = either;
  else draft["allOf"] = [{ anyOf: either }, ...(Array.isArray(allOf) ? (allOf as JsonValue[]) : [])];
}

function isEitherType(anyOf: JsonValue | undefined): boolean {
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return false;
  const types = anyOf.map((member: JsonValue) => (isOnlyTyped(member) ? member["type"] : undefined));
  return types[0] === "integer" && types[1] === "string";
}

const isOnlyTyped = (value: JsonValue): value is JsonObject => isJsonObject(value) && Object.keys(value).length === 1;
const extension = (name: string): string => `x-kubernetes-${name}`;
const isFilledList = (value: JsonValue | undefined): value is JsonValue[] => Array.isArray(value) && value.length > 0;

function copyIf(
  draft: Draft,
  { key, value }: { readonly key: string; readonly value: JsonValue | undefined },
  wanted: (value: JsonValue) => boolean,
): void {
  if (value !== undefined && wanted(value)) draft[key] = value;
}
