// SPDX-License-Identifier: Apache-2.0
import { finish, isPartDone, type Work } from "@purlin/base";
import type { FieldError } from "@purlin/kube-objects/errors";
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

/** The readers of whole schemas. A weak map of all their nodes would make each full garbage collection slow. */
const roots = new WeakMap<JsonObject, SchemaProps>();

/** The reader of a schema, made when first asked for. */
export function schemaProps(schema: JsonObject): SchemaProps {
  return finish(readingSchemaProps(schema));
}

/** {@link schemaProps} in parts. */
export function* readingSchemaProps(schema: JsonObject): Work<SchemaProps> {
  const known = roots.get(schema);
  if (known !== undefined) return known;
  const root = yield* readingNode(schema);
  roots.set(schema, root);
  return root;
}

/** The nodes inside are made before the one that has them. */
function* readingNode(json: JsonObject): Work<SchemaProps> {
  const made: Children = new Map();
  for (const member of ["properties", "definitions"]) {
    const children = ownValue(json, member);
    if (isJsonObject(children)) yield* readingChildren(Object.values(children), made);
  }
  const { items, additionalProperties, not, allOf, anyOf, oneOf } = json;
  for (const children of [items, allOf, anyOf, oneOf]) {
    if (Array.isArray(children)) yield* readingChildren(children, made);
  }
  yield* readingChildren([items, additionalProperties, not], made);
  if (isPartDone()) yield;
  return new SchemaProps(json, made);
}

type Children = Map<JsonObject, SchemaProps>;

function* readingChildren(children: readonly (JsonValue | undefined)[], made: Children): Work<void> {
  for (const child of children) if (isJsonObject(child)) made.set(child, yield* readingNode(child));
}

/** Stands between parts of the checks of a large schema. */
export const pause: unique symbol = Symbol("pause");

/** Something that is wrong with a schema, or the end of a part of its checks. */
export type Problem = FieldError | typeof pause;

/** Yields a pause wherever the work yields. */
export function* pausing<T>(work: Work<T>): Generator<typeof pause, T> {
  for (let part = work.next(); ; part = work.next()) {
    if (part.done) return part.value;
    yield pause;
  }
}

/**
 * Reads one node of a CRD's schema, whatever a user wrote there. A definition can have tens of thousands of nodes: they share methods and
 * empty lists.
 */
export class SchemaProps {
  readonly json: JsonObject;
  readonly type: string;
  readonly properties: readonly (readonly [string, SchemaProps])[];
  readonly definitions: readonly (readonly [string, SchemaProps])[];
  readonly additionalProperties: { readonly allows: boolean; readonly schema: SchemaProps | undefined } | undefined;
  readonly items: { readonly schema: SchemaProps | undefined; readonly schemas: readonly SchemaProps[] } | undefined;
  readonly allOf: readonly SchemaProps[];
  readonly anyOf: readonly SchemaProps[];
  readonly oneOf: readonly SchemaProps[];
  readonly not: SchemaProps | undefined;
  #byName: ReadonlyMap<string, SchemaProps> | undefined;

  /** @param children the nodes inside, by what they read. */
  constructor(json: JsonObject, children: Children) {
    this.json = json;
    this.type = this.text("type");
    this.properties = named(ownValue(json, "properties"), children);
    this.definitions = named(ownValue(json, "definitions"), children);
    this.additionalProperties = additionalOf(ownValue(json, "additionalProperties"), children);
    this.items = itemsOf(ownValue(json, "items"), children);
    this.allOf = list(ownValue(json, "allOf"), children);
    this.anyOf = list(ownValue(json, "anyOf"), children);
    this.oneOf = list(ownValue(json, "oneOf"), children);
    this.not = single(ownValue(json, "not"), children);
  }

  get required(): readonly string[] {
    return strings(ownValue(this.json, "required"));
  }

  get default(): JsonValue | undefined {
    return ownValue(this.json, "default") ?? undefined;
  }

  get listType(): string | undefined {
    return optionalText(ownValue(this.json, "x-kubernetes-list-type"));
  }

  get mapType(): string | undefined {
    return optionalText(ownValue(this.json, "x-kubernetes-map-type"));
  }

  get listMapKeys(): readonly string[] {
    return strings(ownValue(this.json, "x-kubernetes-list-map-keys"));
  }

  get rules(): readonly JsonObject[] {
    return objects(ownValue(this.json, "x-kubernetes-validations"));
  }

  /** One of the properties. */
  property(name: string): SchemaProps | undefined {
    this.#byName ??= new Map(this.properties);
    return this.#byName.get(name);
  }

  /** Whether a member is `true`. */
  is(name: string): boolean {
    return ownValue(this.json, name) === true;
  }

  /** A member that is a non-empty string, or the empty string. */
  text(name: string): string {
    const value = ownValue(this.json, name);
    return typeof value === "string" ? value : "";
  }
}

const nothing: readonly never[] = Object.freeze([]);

function single(value: JsonValue | undefined, children: Children): SchemaProps | undefined {
  return isJsonObject(value) ? children.get(value) : undefined;
}

/** Named schemas in the order of their names, which is the order of messages about them. */
function named(value: JsonValue | undefined, children: Children): SchemaProps["properties"] {
  if (!isJsonObject(value)) return nothing;
  return sortedKeys(value).flatMap((name) => {
    const schema = single(ownValue(value, name), children);
    return schema === undefined ? [] : [[name, schema] as const];
  });
}

function list(value: JsonValue | undefined, children: Children): readonly SchemaProps[] {
  const found = objects(value);
  return found.length === 0
    ? nothing
    : found.map((one) => single(one, children)).filter((schema) => schema !== undefined);
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as JsonValue[]).filter(isJsonObject) : nothing;
}

function strings(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? (value as JsonValue[]).filter((item) => typeof item === "string") : nothing;
}

function optionalText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function additionalOf(value: JsonValue | undefined, children: Children): SchemaProps["additionalProperties"] {
  if (typeof value === "boolean") return { allows: value, schema: undefined };
  return isJsonObject(value) ? { allows: true, schema: single(value, children) } : undefined;
}

function itemsOf(value: JsonValue | undefined, children: Children): SchemaProps["items"] {
  if (Array.isArray(value)) return { schema: undefined, schemas: list(value, children) };
  return isJsonObject(value) ? { schema: single(value, children), schemas: [] } : undefined;
}

// Schemas as messages of the reference print them: as the structures it has in memory, every field of them.

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
const printList: Print = (value) => (Array.isArray(value) ? (value as readonly JsonValue[]).map(one) : value);
const printNamed: Print = (value) =>
  isJsonObject(value)
    ? Object.fromEntries(sortedKeys(value).map((name) => [name, one(ownValue(value, name) ?? null)]))
    : value;
const orBool: Print = (value) => ({
  Allows: value !== false,
  Schema: isJsonObject(value) ? schemaStruct(value) : null,
});
const orArray: Print = (value) =>
  Array.isArray(value) ? { Schema: null, JSONSchemas: printList(value) } : { Schema: one(value), JSONSchemas: null };
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
  field("AllOf", null, { print: printList }),
  field("OneOf", null, { print: printList }),
  field("AnyOf", null, { print: printList }),
  field("Not", null, { print: one }),
  field("Properties", null, { print: printNamed }),
  field("AdditionalProperties", null, { print: orBool }),
  field("PatternProperties", null, { print: printNamed }),
  field("Dependencies"),
  field("AdditionalItems", null, { print: orBool }),
  field("Definitions", null, { print: printNamed }),
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
