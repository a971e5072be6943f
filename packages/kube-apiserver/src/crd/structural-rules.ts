// SPDX-License-Identifier: Apache-2.0
import { isPartDone, sorting } from "@purlin/base";
import {
  childPath,
  type FieldError,
  type FieldPath,
  fieldErrorText,
  forbiddenValue,
  indexPath,
  invalidValue,
  keyPath,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { jsonEqual } from "@purlin/kube-objects/json";
import { linearPattern } from "@purlin/kube-objects/regexp";
import { type Problem, pause, pausing, type SchemaProps } from "./schema-props.ts";

type Level = "root" | "item" | "field";

/** What keeps a schema from being structural, sorted by text as the reference server does. */
export function* structuralProblems(schema: SchemaProps, path: FieldPath): Generator<typeof pause, FieldError[]> {
  const found: { readonly text: string; readonly problem: FieldError }[] = [];
  for (const problems of [nodeProblems(schema, "root", path), undeclaredProblems(schema, path)]) {
    for (const problem of problems) {
      if (problem === pause) yield pause;
      else found.push({ text: fieldErrorText(problem), problem });
    }
  }
  const sorted = yield* pausing(sorting(found, (a, b) => (a.text < b.text ? -1 : 1)));
  return sorted.map(({ problem }) => problem);
}

function* nodeProblems(schema: SchemaProps, level: Level, path: FieldPath): Generator<Problem> {
  if (isPartDone()) yield pause;
  const items = schema.items?.schema;
  if (schema.type === "array" && schema.items === undefined) {
    yield requiredValue(childPath(path, "items"), "must be specified");
  }
  if (items !== undefined) yield* nodeProblems(items, "item", childPath(path, "items"));
  for (const [name, property] of schema.properties) yield* nodeProblems(property, "field", propertyPath(path, name));
  yield* additionalProblems(schema, level, path);
  yield* extensionProblems(schema, path);
  yield* valueProblems(schema, path, {
    skipAnyOf: isIntOrString(schema.anyOf),
    skipInFirstAllOf: isIntOrString(schema.allOf[0]?.anyOf),
  });
  yield* typeProblems(schema, level, path);
  yield* metaProblems(schema, level, path);
}

function propertyPath(path: FieldPath, name: string): FieldPath {
  return keyPath(childPath(path, "properties"), name);
}

function* additionalProblems(schema: SchemaProps, level: Level, path: FieldPath): Generator<Problem> {
  const additional = schema.additionalProperties;
  if (additional === undefined) return;
  const at = childPath(path, "additionalProperties");
  if (level === "root") yield forbiddenValue(at, "must not be used at the root");
  if (additional.schema !== undefined) yield* nodeProblems(additional.schema, "field", at);
}

function* extensionProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  if (!schema.is("x-kubernetes-int-or-string")) return;
  for (const name of ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"]) {
    if (schema.is(name))
      yield invalidValue(childPath(path, name), true, "must be false if x-kubernetes-int-or-string is true");
  }
}

interface Skips {
  readonly skipAnyOf: boolean;
  readonly skipInFirstAllOf: boolean;
}

const skipNothing: Skips = { skipAnyOf: false, skipInFirstAllOf: false };

function* valueProblems(schema: SchemaProps, path: FieldPath, skips: Skips): Generator<Problem> {
  if (!skips.skipAnyOf) {
    for (const [index, one] of schema.anyOf.entries())
      yield* nestedProblems(one, indexPath(childPath(path, "anyOf"), index));
  }
  for (const [index, one] of schema.allOf.entries()) {
    const inner = { skipAnyOf: skips.skipInFirstAllOf && index === 0, skipInFirstAllOf: false };
    yield* nestedProblems(one, indexPath(childPath(path, "allOf"), index), inner);
  }
  for (const [index, one] of schema.oneOf.entries())
    yield* nestedProblems(one, indexPath(childPath(path, "oneOf"), index));
  if (schema.not !== undefined) yield* nestedProblems(schema.not, childPath(path, "not"));
  const pattern = schema.text("pattern");
  const problem = pattern === "" ? undefined : linearPattern(pattern).problem;
  if (problem !== undefined) {
    yield invalidValue(
      childPath(path, "pattern"),
      pattern,
      `must be a valid regular expression, but isn't: ${problem}`,
    );
  }
}

/** Members that may not stand inside allOf, anyOf, oneOf and not, and the word their message uses. */
const forbiddenInside: readonly (readonly [
  string,
  "empty" | "undefined" | "false",
  (schema: SchemaProps) => boolean,
])[] = [
  ["type", "empty", (schema) => schema.type !== ""],
  ["additionalProperties", "undefined", (schema) => schema.additionalProperties !== undefined],
  ["default", "undefined", (schema) => schema.default !== undefined],
  ["title", "empty", (schema) => schema.text("title") !== ""],
  ["description", "empty", (schema) => schema.text("description") !== ""],
  ["nullable", "false", (schema) => schema.is("nullable")],
  ["x-kubernetes-preserve-unknown-fields", "false", (schema) => schema.is("x-kubernetes-preserve-unknown-fields")],
  ["x-kubernetes-embedded-resource", "false", (schema) => schema.is("x-kubernetes-embedded-resource")],
  ["x-kubernetes-int-or-string", "false", (schema) => schema.is("x-kubernetes-int-or-string")],
  ["x-kubernetes-list-map-keys", "empty", (schema) => schema.listMapKeys.length > 0],
  ["x-kubernetes-list-type", "undefined", (schema) => schema.listType !== undefined],
  ["x-kubernetes-map-type", "undefined", (schema) => schema.mapType !== undefined],
  ["x-kubernetes-validations", "empty", (schema) => schema.rules.length > 0],
];

function* nestedProblems(schema: SchemaProps, path: FieldPath, skips: Skips = skipNothing): Generator<Problem> {
  if (isPartDone()) yield pause;
  yield* valueProblems(schema, path, skips);
  if (schema.items?.schema !== undefined) yield* nestedProblems(schema.items.schema, childPath(path, "items"));
  for (const [name, property] of schema.properties) yield* nestedProblems(property, propertyPath(path, name));
  for (const [name, word, isSet] of forbiddenInside) {
    if (isSet(schema)) yield forbiddenValue(childPath(path, name), `must be ${word} to be structural`);
  }
  if (schema.properties.some(([name]) => name === "metadata")) {
    yield forbiddenValue(propertyPath(path, "metadata"), "must not be specified in a nested context");
  }
}

const emptyType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function* typeProblems(schema: SchemaProps, level: Level, path: FieldPath): Generator<FieldError> {
  const at = childPath(path, "type");
  const embedded = schema.is("x-kubernetes-embedded-resource");
  const untyped = schema.is("x-kubernetes-int-or-string") || schema.is("x-kubernetes-preserve-unknown-fields");
  if (embedded && schema.type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    yield schema.type === "" ? requiredValue(at, detail) : invalidValue(at, schema.type, detail);
  } else if (schema.type === "" && !untyped) {
    yield requiredValue(at, emptyType[level]);
  }
  if (embedded && schema.additionalProperties !== undefined) {
    yield forbiddenValue(
      childPath(path, "additionalProperties"),
      "must not be used if x-kubernetes-embedded-resource is set",
    );
  }
  if (level === "root" && schema.type !== "" && schema.type !== "object") {
    yield invalidValue(at, schema.type, "must be object at the root");
  }
}

function* metaProblems(schema: SchemaProps, level: Level, path: FieldPath): Generator<FieldError> {
  const embedded = schema.is("x-kubernetes-embedded-resource");
  const isResource = level === "root" || embedded;
  for (const [name, property] of schema.properties) {
    const at = propertyPath(path, name);
    if ((name === "kind" || name === "apiVersion") && isResource && property.type !== "string") {
      yield invalidValue(childPath(at, "type"), property.type, "must be string");
    }
    if (name === "metadata") yield* metadataProblems(property, { level, isResource, path: at });
  }
  if (embedded && !schema.is("x-kubernetes-preserve-unknown-fields") && schema.properties.length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    yield requiredValue(childPath(path, "properties"), detail);
  }
}

function* metadataProblems(
  schema: SchemaProps,
  { level, isResource, path }: { readonly level: Level; readonly isResource: boolean; readonly path: FieldPath },
): Generator<FieldError> {
  if (isResource && schema.type !== "object")
    yield invalidValue(childPath(path, "type"), schema.type, "must be object");
  if (level !== "root") return;
  const onlyNames = schema.properties.every(([name]) => name === "name" || name === "generateName");
  // The description is a generic member like any other: a root metadata that has one says too much.
  const rest = Object.keys(schema.json).filter((name) => !["type", "properties", "default"].includes(name));
  if (onlyNames && rest.length === 0) return;
  const detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
  yield forbiddenValue(path, detail);
}

const intOrString = [{ type: "integer" }, { type: "string" }];

function isIntOrString(schemas: readonly SchemaProps[] | undefined): boolean {
  return schemas?.length === 2 && schemas.every((one, index) => jsonEqual(one.json, intOrString[index] ?? {}));
}

/** What a schema declares at a place, and the place. */
interface Declared {
  readonly schema: SchemaProps | undefined;
  readonly path: FieldPath;
}

/**
 * What the root of a schema says about fields in `allOf`, `anyOf`, `oneOf` and `not` only: they have to be declared outside of
 * these too. The reference server looks at the root alone, not at what other nodes say in the same way.
 */
export function* undeclaredProblems(root: SchemaProps, path: FieldPath): Generator<Problem> {
  yield* combinedProblems(root, path, { schema: root, path });
}

function* combinedProblems(said: SchemaProps, at: FieldPath, declared: Declared): Generator<Problem> {
  if (said.not !== undefined) yield* undeclaredInNested(said.not, childPath(at, "not"), declared);
  for (const name of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [index, one] of said[name].entries()) {
      yield* undeclaredInNested(one, indexPath(childPath(at, name), index), declared);
    }
  }
}

function* undeclaredInNested(said: SchemaProps, at: FieldPath, { schema, path }: Declared): Generator<Problem> {
  if (isPartDone()) yield pause;
  if (schema === undefined) {
    yield requiredValue(path, `because it is defined in ${at}`);
    return;
  }
  yield* combinedProblems(said, at, { schema, path });
  const items = said.items?.schema;
  if (items !== undefined) {
    yield* undeclaredInNested(items, childPath(at, "items"), {
      schema: schema.items?.schema,
      path: childPath(path, "items"),
    });
  }
  for (const [name, property] of said.properties) {
    const inside = (place: FieldPath): FieldPath => keyPath(childPath(place, "properties"), name);
    yield* undeclaredInNested(property, inside(at), { schema: schema.property(name), path: inside(path) });
  }
}
