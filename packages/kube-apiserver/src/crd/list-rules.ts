// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  keyPath,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { SchemaProps } from "./schema-props.ts";

const listTypes = ["atomic", "set", "map"];

/** What is wrong with a node's list type, its keys and its items. */
export function* listProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
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
  const properties = new Map(items.properties);
  // Each of these errors shows all keys, so only the first ones are reported.
  let left = mostKeyErrors;
  for (const key of listMapKeys) {
    const property = properties.get(key);
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

/** A key that may be missing or null could not tell two items apart. */
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
  const [properties, required] = [new Map(items.properties), new Set(items.required)];
  for (const key of schema.listMapKeys) {
    const property = properties.get(key);
    if (property === undefined) continue;
    const at = keyPath(childPath(itemsPath, "properties"), key);
    const isKey = "this property is in x-kubernetes-list-map-keys, so it";
    if (!required.has(key) && property.default === undefined) {
      yield requiredValue(childPath(at, "default"), `${isKey} must have a default or be a required property`);
    }
    if (property.is("nullable")) yield forbiddenValue(childPath(at, "nullable"), `${isKey} cannot be nullable`);
  }
}
