// SPDX-License-Identifier: Apache-2.0
// Definitions hold schemas as free-form objects that no API server has validated. The API server validates the schemas of the derived
// CRD; this file checks that they have the shape of schemas, and reports where they do not.
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

type Check = (value: JsonValue, path: string) => void;

/** The schema, if it has the shape of one. Otherwise throws an error with the path and the expected type. */
export function checkSchemaShape(schema: JsonValue | undefined, path: string): JsonObject {
  try {
    if (schema === undefined) throw misfit(path, "it is missing");
    aSchema(schema, path);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new Error(`cannot parse validation schema: cannot parse validation schema: ${error.message}`);
  }
  return schema as JsonObject;
}

class ShapeError extends Error {}

function misfit(path: string, what: string): ShapeError {
  return new ShapeError(`${path}: ${what}`);
}

const aSchema: Check = (value, path) => {
  if (!isJsonObject(value)) throw misfit(path, "must be a schema, an object");
  for (const [keyword, member] of Object.entries(value)) {
    const check = Object.hasOwn(checks, keyword) ? checks[keyword] : undefined;
    // A YAML key without a value is null; the API server treats it as absent.
    if (member !== null) check?.(member, `${path}.${keyword}`);
  }
};

const aText: Check = (value, path) => {
  if (typeof value !== "string") throw misfit(path, "must be a string");
};
const aNumber: Check = (value, path) => {
  if (typeof value !== "number" && typeof value !== "bigint") throw misfit(path, "must be a number");
};
const aCount: Check = (value, path) => {
  if (typeof value !== "number" || !Number.isInteger(value)) throw misfit(path, "must be an integer");
};
const aFlag: Check = (value, path) => {
  if (typeof value !== "boolean") throw misfit(path, "must be true or false");
};
const aRule: Check = (value, path) => {
  if (!isJsonObject(value)) throw misfit(path, "must be an object with rule and message");
};

function aListOf(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) throw misfit(path, "must be a list");
    for (const [index, item] of (value as readonly JsonValue[]).entries()) check(item, `${path}[${index}]`);
  };
}

const schemasByName: Check = (value, path) => {
  if (!isJsonObject(value)) throw misfit(path, "must be an object of schemas by field name");
  for (const [name, schema] of Object.entries(value)) aSchema(schema, `${path}.${name}`);
};

const aSchemaOrFlag: Check = (value, path) => {
  if (typeof value !== "boolean") aSchema(value, path);
};

const anything: Check = () => {};

const checks: Readonly<Record<string, Check>> = {
  $ref: aText,
  additionalProperties: aSchemaOrFlag,
  allOf: aListOf(aSchema),
  anyOf: aListOf(aSchema),
  description: aText,
  enum: aListOf(anything),
  exclusiveMaximum: aFlag,
  exclusiveMinimum: aFlag,
  format: aText,
  items: aSchema,
  maxItems: aCount,
  maxLength: aCount,
  maxProperties: aCount,
  maximum: aNumber,
  minItems: aCount,
  minLength: aCount,
  minProperties: aCount,
  minimum: aNumber,
  multipleOf: aNumber,
  not: aSchema,
  nullable: aFlag,
  oneOf: aListOf(aSchema),
  pattern: aText,
  properties: schemasByName,
  required: aListOf(aText),
  title: aText,
  type: aText,
  uniqueItems: aFlag,
  "x-kubernetes-embedded-resource": aFlag,
  "x-kubernetes-int-or-string": aFlag,
  "x-kubernetes-list-map-keys": aListOf(aText),
  "x-kubernetes-list-type": aText,
  "x-kubernetes-map-type": aText,
  "x-kubernetes-preserve-unknown-fields": aFlag,
  "x-kubernetes-validations": aListOf(aRule),
};

/** The keywords whose shape is checked. */
export const schemaKeywords: readonly string[] = Object.keys(checks);
