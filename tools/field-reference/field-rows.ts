// SPDX-License-Identifier: Apache-2.0
// An OpenAPI schema as rows of a table: one for each field.
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

/** A field of a kind. */
export interface FieldRow {
  /** Such as `spec.pipeline[].step`; a map's values are at `.*`. */
  readonly path: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** As JSON. */
  readonly defaultValue: string | undefined;
  readonly validations: readonly string[];
  readonly description: string;
}

/** Paths whose fields are described elsewhere, with the place. */
export type BorrowedFields = ReadonlyMap<string, string>;

/** The fields below a schema, depth first, in the order of their names; those of every object first. */
export function fieldRows(schema: JsonObject, borrowed: BorrowedFields, path = ""): readonly FieldRow[] {
  const properties = objectOf(schema["properties"]);
  const required = listOf(schema["required"]);
  return Object.entries(properties)
    .sort(([a], [b]) => (path === "" ? rank(a) - rank(b) : 0) || (a < b ? -1 : 1))
    .flatMap(([name, value]) => {
      const field = objectOf(value);
      const own = path === "" ? name : `${path}.${name}`;
      const place = borrowed.get(own);
      const row = rowOf(own, field, required.includes(name));
      if (place !== undefined) return [{ ...row, description: `${row.description} ${place}`.trim() }];
      return [row, ...innerRows(field, own, borrowed)];
    });
}

function rank(name: string): number {
  const usual = ["apiVersion", "kind", "metadata", "spec", "status"];
  return usual.includes(name) ? usual.indexOf(name) : usual.length;
}

function innerRows(field: JsonObject, path: string, borrowed: BorrowedFields): readonly FieldRow[] {
  const { items, additionalProperties: values } = field;
  if (isJsonObject(items)) return innerRows(items, `${path}[]`, borrowed);
  if (isJsonObject(values)) return innerRows(values, `${path}.*`, borrowed);
  return fieldRows(field, borrowed, path);
}

function rowOf(path: string, field: JsonObject, isRequired: boolean): FieldRow {
  const { description, default: value } = field;
  return {
    path,
    type: typeOf(field),
    isRequired,
    defaultValue: value === undefined ? undefined : JSON.stringify(value),
    validations: validationsOf(field),
    description: typeof description === "string" ? description : "",
  };
}

/** The type of a schema, such as `list of string`. */
export function typeOf(field: JsonObject): string {
  const { type, format, items, additionalProperties: values } = field;
  if (field["x-kubernetes-int-or-string"] === true) return "integer or string";
  if (isJsonObject(items)) return `list of ${typeOf(items)}`;
  if (isJsonObject(values)) return `map of ${typeOf(values)}`;
  if (field["x-kubernetes-preserve-unknown-fields"] === true)
    return type === "object" ? "object with any fields" : "any";
  if (type === undefined) return "any";
  return typeof format === "string" ? `${String(type)} (${format})` : String(type);
}

const limits: ReadonlyArray<readonly [keyword: string, text: (value: string) => string]> = [
  ["minimum", (value) => `at least ${value}`],
  ["maximum", (value) => `at most ${value}`],
  ["minLength", (value) => `at least ${plural(value, "character")}`],
  ["maxLength", (value) => `at most ${plural(value, "character")}`],
  ["minItems", (value) => `at least ${plural(value, "item")}`],
  ["maxItems", (value) => `at most ${plural(value, "item")}`],
  ["minProperties", (value) => `at least ${value} keys`],
  ["maxProperties", (value) => `at most ${value} keys`],
  ["pattern", (value) => `matches \`${value}\``],
];

function plural(count: string, noun: string): string {
  return count === "1" ? `1 ${noun}` : `${count} ${noun}s`;
}

/** What the API server checks of a field, beside its type. Rules of items stand with their list. */
function validationsOf(field: JsonObject): readonly string[] {
  const choices = listOf(field["enum"]).map((value) => `\`${String(value)}\``);
  const bounds = limits.flatMap(([keyword, text]) => {
    const value = field[keyword];
    return value === undefined ? [] : [text(String(value))];
  });
  const keys = listOf(field["x-kubernetes-list-map-keys"]).map((key) => `\`${String(key)}\``);
  const isSet = field["x-kubernetes-list-type"] === "set";
  const rules = listOf(field["x-kubernetes-validations"]).map((rule) => ruleText(objectOf(rule)));
  const { items, additionalProperties: values } = field;
  const inner = isJsonObject(items) ? items : isJsonObject(values) ? values : undefined;
  const ofInner = inner === undefined ? [] : validationsOf(inner).map((text) => `each: ${text}`);
  return [
    ...(choices.length > 0 ? [`one of ${choices.join(", ")}`] : []),
    ...bounds,
    ...(keys.length > 0 ? [`unique by ${keys.join(", ")}`] : []),
    ...(isSet ? ["no duplicates"] : []),
    ...rules,
    ...ofInner,
  ];
}

function ruleText({ rule, message }: JsonObject): string {
  return typeof message === "string" ? message : `\`${String(rule)}\``;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
