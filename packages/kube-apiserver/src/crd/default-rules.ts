// SPDX-License-Identifier: Apache-2.0
import { createRuleSet, validateRules } from "@purlin/cel";
import { childPath, type FieldError, type FieldPath, invalidValue, keyPath } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { checkEmbeddedResources, checkValue, type Schema, type SchemaFinding } from "@purlin/kube-objects/schema";
import { prune } from "@purlin/kube-objects/structural";
import type { SchemaProps } from "./schema-props.ts";

/** What is wrong with the defaults of a structural schema: they must be valid and hold nothing that would be pruned. */
export function defaultProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  return nodeProblems(schema, path, true);
}

function* nodeProblems(schema: SchemaProps, path: FieldPath, isRoot: boolean): Generator<FieldError> {
  const isResource = isRoot || schema.is("x-kubernetes-embedded-resource");
  if (schema.default !== undefined) {
    const at = childPath(path, "default");
    // A whole object is a resource like one inside another: it says what it is.
    const own = isRoot ? { ...schema.json, "x-kubernetes-embedded-resource": true } : schema.json;
    if (!isClean(own, schema.default)) yield invalidValue(at, schema.default, "must not have unknown fields");
    yield* firstProblems(own, schema.default, { path: at, isResource });
  }
  const items = schema.items?.schema;
  if (items !== undefined) yield* nodeProblems(items, childPath(path, "items"), false);
  for (const [name, property] of schema.properties) {
    yield* nodeProblems(property, keyPath(childPath(path, "properties"), name), false);
  }
}

interface DefaultPlace {
  readonly path: FieldPath;
  readonly isResource: boolean;
}

/** What the first check that finds anything finds: resources inside, then values, then rules. */
function firstProblems(schema: JsonObject, value: JsonValue, place: DefaultPlace): readonly FieldError[] {
  const resources = checkEmbeddedResources(value, schema);
  const findings = resources.length > 0 ? resources : checkValue(value, withoutIntOrString(schema));
  return findings.length > 0
    ? findings.flatMap((finding) => atDefault(finding, place.path))
    : ruleProblems(schema, value, place);
}

/** The schema as the reference checks defaults: a value that is to be an integer or a string can be anything there. */
function withoutIntOrString(schema: JsonObject): JsonObject {
  const { "x-kubernetes-int-or-string": _, ...rest } = schema;
  const { properties, items, additionalProperties } = rest;
  const inside = (value: JsonValue): JsonValue => (isJsonObject(value) ? withoutIntOrString(value) : value);
  return {
    ...rest,
    ...(isJsonObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, inside(property)])),
    }),
    ...(items !== undefined && { items: inside(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: inside(additionalProperties) }),
  };
}

/** The reference puts a point even before the index of an item. */
function atDefault({ type, body, field }: SchemaFinding, path: FieldPath): FieldError[] {
  if (type === "UnknownField") return [];
  return [{ type, body, field: field === "<nil>" ? path : `${path}.${field}` }];
}

/** A default has to be valid as a value that stays, and as one that comes. */
function ruleProblems(schema: JsonObject, value: JsonValue, { path, isResource }: DefaultPlace): readonly FieldError[] {
  const rules = createRuleSet(schema as Schema, isResource);
  if (rules === undefined) return [];
  const staying = validateRules(rules, value, { path, oldValue: value });
  const { errors } = staying.errors.length > 0 ? staying : validateRules(rules, value, { path });
  return errors;
}

function isClean(schema: JsonObject, value: JsonValue): boolean {
  // Pruning works on whole objects; the value stands in one under a name of its own.
  const around = { type: "object", properties: { value: schema } };
  const { object } = prune({ value }, around);
  return jsonEqual(isJsonObject(object) ? (object["value"] ?? null) : null, value);
}
