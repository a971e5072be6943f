// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  indexPath,
  invalidPrinted,
  invalidValue,
  keyPath,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { listProblems } from "./list-rules.ts";
import { named, type SchemaProps } from "./schema-props.ts";
import { printSchema, schemaFields } from "./schema-struct.ts";

/** What the place of a node forbids. */
interface SchemaPlace {
  readonly path: FieldPath;
  readonly isRoot: boolean;
  /** Why a default may not be given here, if so. */
  readonly noDefaults: string | undefined;
  readonly insideMeta: boolean;
}

const types = ["array", "boolean", "integer", "number", "object", "string"];
const preserve = "x-kubernetes-preserve-unknown-fields";
const metaFields = ["apiVersion", "kind", "metadata"];

/** What is wrong with a schema apart from its structure: members that are not supported, list types. */
export function* schemaProblems(schema: SchemaProps, place: SchemaPlace): Generator<FieldError> {
  yield* standardProblems(schema, place);
  yield* additionalProblems(schema, place);
  for (const [name, property] of schema.properties) yield* schemaProblems(property, propertyPlace(schema, place, name));
  yield* combinedProblems(schema, place);
  yield* itemsProblems(schema, place);
  yield* extensionProblems(schema, place.path);
  yield* listProblems(schema, place.path);
}

function within(place: SchemaPlace, path: FieldPath): SchemaPlace {
  return { ...place, path, isRoot: false };
}

function propertyPlace(schema: SchemaProps, place: SchemaPlace, name: string): SchemaPlace {
  const inner = within(place, keyPath(childPath(place.path, "properties"), name));
  const isMeta = (place.isRoot || schema.is("x-kubernetes-embedded-resource")) && metaFields.includes(name);
  if (!isMeta) return inner;
  return { ...inner, insideMeta: true, noDefaults: place.isRoot ? ` in top-level ${name}` : inner.noDefaults };
}

const unsupported = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] as const;

/** Whether a schema uses something no structural schema can express; the rest of its structure is then not looked at. */
export function hasUnsupportedMembers(schema: SchemaProps): boolean {
  if (unsupported.some((name) => isUnsupported(schema, name)) || (schema.items?.schemas.length ?? 0) > 0) return true;
  if (ownValue(schema.json, preserve) === false || isUnsupported(schema, "$schema")) return true;
  const inside = [schema.items?.schema, schema.additionalProperties?.schema, schema.not].filter(
    (one) => one !== undefined,
  );
  const children = [
    ...schema.properties.map(([, property]) => property),
    ...schema.allOf,
    ...schema.anyOf,
    ...schema.oneOf,
  ];
  return [...inside, ...children].some(hasUnsupportedMembers);
}

function isUnsupported(schema: SchemaProps, name: string): boolean {
  const value = ownValue(schema.json, name);
  return value !== undefined && value !== "";
}

function* standardProblems(schema: SchemaProps, { path, noDefaults, insideMeta }: SchemaPlace): Generator<FieldError> {
  if (schema.type !== "" && !types.includes(schema.type))
    yield unsupportedValue(childPath(path, "type"), schema.type, types);
  if (schema.default !== undefined && noDefaults !== undefined) {
    yield forbiddenValue(childPath(path, "default"), `must not be set${noDefaults}`);
  }
  for (const name of unsupported) {
    if (isUnsupported(schema, name)) yield forbiddenValue(childPath(path, name), `${name} is not supported`);
  }
  if (schema.type === "null") {
    yield forbiddenValue(childPath(path, "type"), "type cannot be set to null, use nullable as an alternative");
  }
  if ((schema.items?.schemas.length ?? 0) > 0) {
    yield forbiddenValue(childPath(path, "items"), "items must be a schema object and not an array");
  }
  if (insideMeta && schema.is("x-kubernetes-embedded-resource")) {
    yield forbiddenValue(childPath(path, "x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
  }
  if (schema.is("uniqueItems")) {
    const detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    yield forbiddenValue(childPath(path, "uniqueItems"), detail);
  }
}

function* additionalProblems(schema: SchemaProps, place: SchemaPlace): Generator<FieldError> {
  const additional = schema.additionalProperties;
  if (additional === undefined) return;
  const path = childPath(place.path, "additionalProperties");
  if (schema.properties.length > 0 && (!additional.allows || additional.schema !== undefined)) {
    yield forbiddenValue(path, "additionalProperties and properties are mutual exclusive");
  }
  const reason = " inside additionalProperties applying to object metadata";
  const inner = { ...within(place, path), noDefaults: place.insideMeta ? reason : place.noDefaults };
  if (additional.schema !== undefined) yield* schemaProblems(additional.schema, inner);
}

function* combinedProblems(schema: SchemaProps, place: SchemaPlace): Generator<FieldError> {
  if (schema.not !== undefined) yield* schemaProblems(schema.not, within(place, childPath(place.path, "not")));
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, one] of schema[name].entries()) {
      yield* schemaProblems(one, within(place, indexPath(childPath(place.path, name), index)));
    }
  }
  for (const [name, definition] of named(schema.json, "definitions")) {
    yield* schemaProblems(definition, within(place, keyPath(childPath(place.path, "definitions"), name)));
  }
}

function* itemsProblems(schema: SchemaProps, place: SchemaPlace): Generator<FieldError> {
  const path = childPath(place.path, "items");
  if (schema.items?.schema !== undefined) yield* schemaProblems(schema.items.schema, within(place, path));
  for (const [index, one] of (schema.items?.schemas ?? []).entries()) {
    yield* schemaProblems(one, within(place, indexPath(path, index)));
  }
}

function* extensionProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  if (ownValue(schema.json, preserve) === false) {
    yield invalidValue(childPath(path, preserve), false, "must be true or undefined");
  }
  const { mapType } = schema;
  if (mapType === undefined) return;
  if (schema.type !== "object") {
    const detail = "must be object if x-kubernetes-map-type is specified";
    yield schema.type === ""
      ? requiredValue(childPath(path, "type"), detail)
      : invalidValue(childPath(path, "type"), schema.type, detail);
  }
  if (mapType !== "atomic" && mapType !== "granular") {
    yield unsupportedValue(childPath(path, "x-kubernetes-map-type"), mapType, ["atomic", "granular"]);
  }
}

/** What a root may say that does not get lost when the status is validated by itself. */
const allowed: readonly string[] = [
  ...["Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"],
  ...["MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"],
  ...["Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"],
];

/** What the root of a schema says that it may not, where the status is a resource of its own; the first such thing only. */
export function* rootProblems(schema: JsonObject, path: FieldPath): Generator<FieldError> {
  const enabled = "at the root of the schema if the status subresource is enabled";
  for (const { name, member, zero } of schemaFields) {
    const value = ownValue(schema, member) ?? zero;
    if (value === zero) continue;
    if (name === "Type" && value !== "object") {
      yield invalidValue(childPath(path, "type"), value, `only "object" is allowed as the type ${enabled}`);
      return;
    }
    if (!allowed.includes(name)) {
      yield invalidPrinted(path, printSchema(schema), `only [${allowed.join(" ")}] fields are allowed ${enabled}`);
      return;
    }
  }
}
