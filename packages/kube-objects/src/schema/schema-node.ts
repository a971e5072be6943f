// SPDX-License-Identifier: Apache-2.0
// A schema as the checks read it. Schemas come from users, so each keyword is taken only in its proper form and ignored
// otherwise; that is done once per schema and remembered as long as the schema lives.
import { isContainer, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type AllowedValues, readAllowed } from "./allowed-values.ts";
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

/** How a schema is read. */
interface SchemaReading {
  /** Whether `x-kubernetes-int-or-string` has no effect, as where the reference checks defaults. */
  readonly ignoresIntOrString: boolean;
}

const usual: SchemaReading = { ignoresIntOrString: false };

/**
 * The keywords of one schema that the checks understand, in their proper form or absent. Those inside are read when they are first needed: a
 * large schema costs what a value touches.
 */
export class SchemaNode {
  readonly schema: JsonObject;
  /** Empty when any type will do. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  /** Empty when absent, or when it means nothing for the types. */
  readonly format: string;
  readonly enum: readonly JsonValue[];
  readonly pattern: string;
  readonly uniqueItems: boolean;
  /** The schemas of the declared members, in any form. */
  readonly properties: JsonObject;
  readonly required: readonly string[];
  readonly preserveUnknownFields: boolean;
  readonly embeddedResource: boolean;
  readonly listType: string;
  readonly listMapKeys: readonly string[];
  /** Whether it has alternatives: nearly none has. */
  readonly isComposed: boolean;
  readonly #reading: SchemaReading;
  #children: Map<JsonObject, SchemaNode> | undefined;
  #limits: Limits | undefined;
  #allowed: AllowedValues | undefined;

  constructor(schema: JsonObject, reading: SchemaReading = usual) {
    this.schema = schema;
    this.#reading = reading;
    this.types = readTypes(schema, reading);
    const format = stringOf(schema["format"]);
    this.nullable = schema["nullable"] === true;
    this.format = isCheckedFormat(format, this.types) ? format : "";
    this.enum = listOf(schema["enum"]);
    this.pattern = stringOf(schema["pattern"]);
    this.uniqueItems = schema["uniqueItems"] === true;
    this.properties = objectOf(schema["properties"]) ?? {};
    this.required = stringsOf(schema["required"]);
    this.preserveUnknownFields = schema["x-kubernetes-preserve-unknown-fields"] === true;
    this.embeddedResource = schema["x-kubernetes-embedded-resource"] === true;
    this.listType = stringOf(schema["x-kubernetes-list-type"]);
    this.listMapKeys = stringsOf(schema["x-kubernetes-list-map-keys"]);
    this.isComposed = ["allOf", "anyOf", "oneOf", "not"].some((keyword) => isContainer(schema[keyword]));
  }

  get limits(): Limits {
    this.#limits ??= readLimits(this.schema);
    return this.#limits;
  }

  /** The values of `enum`, prepared for a look-up. */
  get allowed(): AllowedValues {
    this.#allowed ??= readAllowed(this.enum);
    return this.#allowed;
  }

  get items(): SchemaNode | undefined {
    return this.#child(this.schema["items"]);
  }

  get additionalProperties(): SchemaNode | boolean | undefined {
    const { additionalProperties } = this.schema;
    return typeof additionalProperties === "boolean" ? additionalProperties : this.#child(additionalProperties);
  }

  get allOf(): readonly SchemaNode[] {
    return this.#alternatives("allOf");
  }

  get anyOf(): readonly SchemaNode[] {
    return this.#alternatives("anyOf");
  }

  get oneOf(): readonly SchemaNode[] {
    return this.#alternatives("oneOf");
  }

  get not(): SchemaNode | undefined {
    return this.#child(this.schema["not"]);
  }

  /** The schema that `properties` has for a member. */
  property(name: string): SchemaNode | undefined {
    return Object.hasOwn(this.properties, name) ? this.#child(this.properties[name]) : undefined;
  }

  /** The schema for a member: of `properties` if they have its name, else of `additionalProperties`. */
  member(name: string): SchemaNode | undefined {
    if (Object.hasOwn(this.properties, name)) return this.#child(this.properties[name]);
    return this.#child(this.schema["additionalProperties"]);
  }

  #alternatives(keyword: "allOf" | "anyOf" | "oneOf"): readonly SchemaNode[] {
    const listed = this.schema[keyword];
    if (!Array.isArray(listed)) return none;
    return (listed as readonly JsonValue[]).map((one) => this.#child(one)).filter((node) => node !== undefined);
  }

  #child(value: JsonValue | undefined): SchemaNode | undefined {
    if (!isJsonObject(value)) return undefined;
    this.#children ??= new Map();
    const known = this.#children.get(value);
    if (known !== undefined) return known;
    const made = new SchemaNode(value, this.#reading);
    this.#children.set(value, made);
    return made;
  }
}

const none: readonly never[] = [];

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

/** Whole schemas only: a weak map with each node of them would make full garbage collections slow. */
const roots = new WeakMap<JsonObject, SchemaNode>();

/** The node of a whole schema; the same one for the same object. */
export function schemaNode(schema: JsonObject): SchemaNode {
  const known = roots.get(schema);
  if (known) return known;
  const node = new SchemaNode(schema);
  roots.set(schema, node);
  return node;
}

function readTypes(schema: JsonObject, { ignoresIntOrString }: SchemaReading): readonly string[] {
  if (!ignoresIntOrString && schema["x-kubernetes-int-or-string"] === true) return ["integer", "string"];
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
