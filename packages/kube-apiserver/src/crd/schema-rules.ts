// SPDX-License-Identifier: Apache-2.0
import { isPartDone } from "@purlin/base";
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
import { type Problem, pause, printSchema, type SchemaProps, schemaFields } from "./schema-props.ts";

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
export function* schemaProblems(schema: SchemaProps, place: SchemaPlace): Generator<Problem> {
  if (isPartDone()) yield pause;
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
  for (const inside of [schema.items?.schema, schema.additionalProperties?.schema, schema.not]) {
    if (inside !== undefined && hasUnsupportedMembers(inside)) return true;
  }
  if (schema.properties.some(([, property]) => hasUnsupportedMembers(property))) return true;
  return [schema.allOf, schema.anyOf, schema.oneOf].some((children) => children.some(hasUnsupportedMembers));
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

function* additionalProblems(schema: SchemaProps, place: SchemaPlace): Generator<Problem> {
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

function* combinedProblems(schema: SchemaProps, place: SchemaPlace): Generator<Problem> {
  if (schema.not !== undefined) yield* schemaProblems(schema.not, within(place, childPath(place.path, "not")));
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, one] of schema[name].entries()) {
      yield* schemaProblems(one, within(place, indexPath(childPath(place.path, name), index)));
    }
  }
  for (const [name, definition] of schema.definitions) {
    yield* schemaProblems(definition, within(place, keyPath(childPath(place.path, "definitions"), name)));
  }
}

function* itemsProblems(schema: SchemaProps, place: SchemaPlace): Generator<Problem> {
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

const listTypes = ["atomic", "set", "map"];

/** What is wrong with a node's list type, its keys and its items. */
function* listProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  const { listType, listMapKeys } = schema;
  const typePath = childPath(path, "x-kubernetes-list-type");
  if (listType !== undefined && schema.type !== "array") {
    const detail = "must be array if x-kubernetes-list-type is specified";
    const at = childPath(path, "type");
    yield schema.type === "" ? requiredValue(at, detail) : invalidValue(at, schema.type, detail);
  } else if (listType === "set") {
    yield* setItemProblems(schema, path);
  }
  if (listType !== undefined && !listTypes.includes(listType)) yield unsupportedValue(typePath, listType, listTypes);
  if (listMapKeys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    yield listType === undefined ? requiredValue(typePath, detail) : invalidValue(typePath, listType, detail);
  }
  if (listType === "map") yield* mapProblems(schema, path);
  if (listType === "map" || listType === "set") yield* presenceProblems(schema, path, listType);
}

/** Items of a set are compared as a whole, so a part of one cannot have an owner. */
function* setItemProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  const items = schema.items?.schema;
  if (items === undefined) return;
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const at = childPath(path, "items");
  if (items.type === "array" && items.listType !== undefined && items.listType !== "atomic") {
    yield invalidValue(childPath(at, "x-kubernetes-list-type"), items.listType, detail);
  }
  // The reference prints the list type here although it means the map type.
  if (items.type === "object" && items.mapType !== "atomic") {
    yield invalidValue(childPath(at, "x-kubernetes-map-type"), items.listType ?? null, detail);
  }
}

function* mapProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  const keysPath = childPath(path, "x-kubernetes-list-map-keys");
  const itemsPath = childPath(path, "items");
  const { listMapKeys } = schema;
  if (listMapKeys.length === 0) yield requiredValue(keysPath, "must not be empty if x-kubernetes-list-type is map");
  const items = schema.items?.schema;
  if (schema.items === undefined) yield requiredValue(itemsPath, "must have a schema if x-kubernetes-list-type is map");
  if (items === undefined) return;
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    yield invalidValue(childPath(itemsPath, "type"), items.type, detail);
    return;
  }
  const seen = new Set<string>();
  // Each of these errors shows all keys, so only the first ones are reported.
  let left = mostKeyErrors;
  for (const key of listMapKeys) {
    const property = items.property(key);
    if (property === undefined) {
      if (left-- > 0) yield invalidValue(keysPath, [...listMapKeys], "entries must all be names of item properties");
    } else if (property.type === "array" || property.type === "object") {
      const at = childPath(keyPath(childPath(itemsPath, "properties"), key), "type");
      yield invalidValue(at, items.type, "must be a scalar type if parent array's x-kubernetes-list-type is map");
    }
    if (seen.has(key) && left-- > 0) {
      yield invalidValue(keysPath, [...listMapKeys], "must not contain duplicate entries");
    }
    seen.add(key);
  }
}

/** How often the whole list of keys is shown. */
const mostKeyErrors = 10;

/** A key that may be missing or null could not distinguish two items. */
function* presenceProblems(schema: SchemaProps, path: FieldPath, listType: "map" | "set"): Generator<FieldError> {
  const items = schema.items?.schema;
  if (items === undefined) return;
  const itemsPath = childPath(path, "items");
  if (items.is("nullable")) {
    yield forbiddenValue(
      childPath(itemsPath, "nullable"),
      `cannot be nullable when x-kubernetes-list-type is ${listType}`,
    );
  }
  if (listType === "set") return;
  const required = new Set(items.required);
  for (const key of schema.listMapKeys) {
    const property = items.property(key);
    if (property === undefined) continue;
    const at = keyPath(childPath(itemsPath, "properties"), key);
    const isKey = "this property is in x-kubernetes-list-map-keys, so it";
    if (!required.has(key) && property.default === undefined) {
      yield requiredValue(childPath(at, "default"), `${isKey} must have a default or be a required property`);
    }
    if (property.is("nullable")) yield forbiddenValue(childPath(at, "nullable"), `${isKey} cannot be nullable`);
  }
}
