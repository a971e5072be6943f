// SPDX-License-Identifier: Apache-2.0

/** An integer as JSON readers hand it over: those beyond 2^53 may be bigints. */
export type JsonInteger = number | bigint;

/** One entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** The parts of a structural OpenAPI v3 schema that CEL looks at; others may be there. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly not?: Schema;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly maxLength?: JsonInteger;
  readonly maxItems?: JsonInteger;
  readonly maxProperties?: JsonInteger;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

/** The schema of the values of a map, if it has one. */
export function valueSchema({ additionalProperties }: Schema): Schema | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

const text: Schema = { type: "string" };
const objectMeta: Schema = { type: "object", properties: { name: text, generateName: text } };

/** A resource root: apiVersion, kind and the two names of its metadata can always be read, and no other metadata. */
export function withResourceFields(schema: Schema): Schema {
  const { properties } = schema;
  const metadata = properties?.["metadata"];
  const isComplete =
    properties?.["kind"]?.type === "string" &&
    properties["apiVersion"]?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties?.["name"]?.type === "string" &&
    metadata.properties["generateName"]?.type === "string";
  if (isComplete) return schema;
  const { items: _items, ...rest } = schema;
  return { ...rest, properties: { ...properties, kind: text, apiVersion: text, metadata: objectMeta } };
}
