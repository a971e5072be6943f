// SPDX-License-Identifier: Apache-2.0
// Schemas as messages of the reference print them: as the structures it has in memory, every field of them.
import {
  goJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  parseJson,
  printJson,
  sortedKeys,
} from "@purlin/kube-objects/json";

type Print = (value: JsonValue) => JsonValue;

interface Field {
  readonly name: string;
  /** What it is called in a definition. */
  readonly member: string;
  /** What it is when it is not given. */
  readonly zero: JsonValue;
  readonly print: Print;
}

const same: Print = (value) => value;
/** Values that are JSON to the reference too: maps in the order of their keys. */
const json: Print = (value) => parseJson(goJson(value));
const one: Print = (value) => (isJsonObject(value) ? schemaStruct(value) : value);
const list: Print = (value) => (Array.isArray(value) ? (value as readonly JsonValue[]).map(one) : value);
const named: Print = (value) =>
  isJsonObject(value)
    ? Object.fromEntries(sortedKeys(value).map((name) => [name, one(ownValue(value, name) ?? null)]))
    : value;
const orBool: Print = (value) => ({
  Allows: value !== false,
  Schema: isJsonObject(value) ? schemaStruct(value) : null,
});
const orArray: Print = (value) =>
  Array.isArray(value) ? { Schema: null, JSONSchemas: list(value) } : { Schema: one(value), JSONSchemas: null };
const rules: Print = (value) =>
  Array.isArray(value)
    ? (value as readonly JsonValue[]).map((rule) => (isJsonObject(rule) ? ruleStruct(rule) : rule))
    : value;

function ruleStruct(rule: JsonObject): JsonObject {
  return {
    Rule: ownValue(rule, "rule") ?? "",
    Message: ownValue(rule, "message") ?? "",
    MessageExpression: ownValue(rule, "messageExpression") ?? "",
    Reason: ownValue(rule, "reason") ?? null,
    FieldPath: ownValue(rule, "fieldPath") ?? "",
    OptionalOldSelf: ownValue(rule, "optionalOldSelf") ?? null,
  };
}

function field(name: string, zero: JsonValue = null, more: Partial<Field> = {}): Field {
  const member = name.startsWith("X")
    ? `x-kubernetes-${dashed(name.slice(1))}`
    : name[0]?.toLowerCase() + name.slice(1);
  return { name, member, zero, print: same, ...more };
}

function dashed(name: string): string {
  return name.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}

/** The fields of a schema, in their order. */
export const schemaFields: readonly Field[] = [
  field("ID", "", { member: "id" }),
  field("Schema", "", { member: "$schema" }),
  field("Ref", null, { member: "$ref" }),
  field("Description", ""),
  field("Type", ""),
  field("Nullable", false),
  field("Format", ""),
  field("Title", ""),
  field("Default", null, { print: json }),
  field("Maximum"),
  field("ExclusiveMaximum", false),
  field("Minimum"),
  field("ExclusiveMinimum", false),
  field("MaxLength"),
  field("MinLength"),
  field("Pattern", ""),
  field("MaxItems"),
  field("MinItems"),
  field("UniqueItems", false),
  field("MultipleOf"),
  field("Enum", null, { print: json }),
  field("MaxProperties"),
  field("MinProperties"),
  field("Required"),
  field("Items", null, { print: orArray }),
  field("AllOf", null, { print: list }),
  field("OneOf", null, { print: list }),
  field("AnyOf", null, { print: list }),
  field("Not", null, { print: one }),
  field("Properties", null, { print: named }),
  field("AdditionalProperties", null, { print: orBool }),
  field("PatternProperties", null, { print: named }),
  field("Dependencies"),
  field("AdditionalItems", null, { print: orBool }),
  field("Definitions", null, { print: named }),
  field("ExternalDocs"),
  field("Example", null, { print: json }),
  field("XPreserveUnknownFields"),
  field("XEmbeddedResource", false),
  field("XIntOrString", false),
  field("XListMapKeys"),
  field("XListType"),
  field("XMapType"),
  field("XValidations", null, { print: rules }),
];

/** A schema as messages show it. */
export function printSchema(schema: JsonObject): string {
  return printJson(schemaStruct(schema), { htmlSafe: true });
}

/** A schema as its structure. */
export function schemaStruct(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    schemaFields.map(({ name, member, zero, print }) => {
      const value = ownValue(schema, member) ?? undefined;
      return [name, value === undefined ? zero : print(value)];
    }),
  );
}
