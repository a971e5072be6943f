// SPDX-License-Identifier: Apache-2.0
// Definitions hold schemas as free-form objects that no API server has validated. The API server validates the schemas of the derived
// CRD; this file checks that they have the shape of schemas, and reports where they do not.
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { closestName } from "@purlin/kube-objects/schema";

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
const schemaKeywords: readonly string[] = Object.keys(checks);

/** A keyword of a schema that API servers do not support. */
interface UnknownKeyword {
  /** Where it is, from the schema that was searched. */
  readonly path: readonly (string | number)[];
  /** The keyword that was probably meant. */
  readonly closest: string | undefined;
}

type Path = readonly (string | number)[];

/** Schema keywords that API servers accept and definitions do not check. */
const otherKeywords = [
  "$schema",
  "additionalItems",
  "default",
  "definitions",
  "dependencies",
  "example",
  "externalDocs",
];
const known: ReadonlySet<string> = new Set([...schemaKeywords, ...otherKeywords, "id", "patternProperties"]);
const byName: ReadonlySet<string> = new Set(["properties", "patternProperties", "definitions"]);
const nested: ReadonlySet<string> = new Set(["items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"]);

/** Finds misspelled keywords: an API server drops them silently from the CRD of a definition. Extensions of others (`x-…`) are left alone. */
export function unknownKeywords(schema: JsonValue | undefined, path: Path = []): UnknownKeyword[] {
  if (Array.isArray(schema)) return schema.flatMap((item, index) => unknownKeywords(item, [...path, index]));
  if (schema === undefined || !isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const at = [...path, keyword];
    if (byName.has(keyword)) return inEach(value, at);
    if (nested.has(keyword)) return unknownKeywords(value, at);
    const isKnown = known.has(keyword) || (keyword.startsWith("x-") && !keyword.startsWith("x-kubernetes-"));
    return isKnown ? [] : [{ path: at, closest: closestName(keyword, [...known]) }];
  });
}

function inEach(schemas: JsonValue | undefined, path: Path): UnknownKeyword[] {
  if (schemas === undefined || !isJsonObject(schemas)) return [];
  return Object.entries(schemas).flatMap(([name, schema]) => unknownKeywords(schema, [...path, name]));
}
