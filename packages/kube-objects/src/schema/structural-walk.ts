// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonArray, type JsonObject } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { fieldPlace, indexPlace, keyPlace, type Place } from "./finding.ts";
import { maxNesting } from "./nesting.ts";
import { type SchemaNode, schemaNode } from "./schema-node.ts";

/** What is done with the lists and objects that a walk comes to. */
interface StructuralVisitor {
  list?(items: JsonArray, node: SchemaNode, place: Place | undefined): void;
  object?(members: JsonObject, node: SchemaNode, place: Place | undefined): void;
}

/**
 * Goes through a value along the parts of its schema that specify it (properties, additionalProperties, items), outer
 * values before inner ones. What the schema does not specify is not visited, nor what is nested absurdly deeply.
 */
export function walkStructure(value: unknown, schema: JsonObject, visitor: StructuralVisitor): void {
  walk({ value, schema, place: undefined, depth: 1 }, visitor);
}

interface Step {
  readonly value: unknown;
  readonly schema: JsonObject | undefined;
  readonly place: Place | undefined;
  readonly depth: number;
}

function walk({ value, schema, place, depth }: Step, visitor: StructuralVisitor): void {
  if (schema === undefined || depth > maxNesting) return;
  const node = schemaNode(schema);
  if (Array.isArray(value)) {
    visitor.list?.(value, node, place);
    for (let i = 0; node.items && i < value.length; i++) {
      walk({ value: value[i], schema: node.items, place: indexPlace(place, i), depth: depth + 1 }, visitor);
    }
  } else if (isJsonObject(value)) {
    visitor.object?.(value, node, place);
    const parent = { members: value, node, place };
    for (const key of Object.keys(value)) walk({ ...memberStep(parent, key), depth: depth + 1 }, visitor);
  }
}

interface Parent {
  readonly members: JsonObject;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
}

function memberStep({ members, node, place }: Parent, key: string): Omit<Step, "depth"> {
  const { properties, additionalProperties } = node;
  const value = ownValue(members, key);
  const property = ownValue(properties, key);
  if (isJsonObject(property)) return { value, schema: property, place: fieldPlace(place, key) };
  const schema = isJsonObject(additionalProperties) ? additionalProperties : undefined;
  return { value, schema, place: keyPlace(place, key) };
}
