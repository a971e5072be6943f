// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { compareUtf8 } from "../json/utf8.ts";
import { closestName } from "./closest-name.ts";
import { bracketedText, fieldPlace, indexPlace, type Place, type SchemaFinding } from "./finding.ts";
import { maxNesting } from "./nesting.ts";
import { type SchemaNode, schemaNode } from "./schema-node.ts";

/** A field that a schema does not know. */
interface UnknownField {
  /** Where it is, such as `spec.ports[0].prot`. */
  readonly path: string;
  /** A field the schema does know whose name is only a typing error away, if there is one. */
  readonly suggestion: string | undefined;
}

/**
 * The fields of an object that its schema does not specify, sorted by path. A field is known when `properties` or
 * `additionalProperties` cover it, here or in a schema under allOf, anyOf or oneOf. Objects for which nothing is
 * specified at all are free-form, as are those that preserve unknown fields; below those, only known fields are looked
 * into. `apiVersion`, `kind` and `metadata` are known in the object itself and in embedded resources.
 */
export function findUnknownFields(value: unknown, schema: JsonObject): UnknownField[] {
  const found: UnknownField[] = [];
  search({ value, schemas: [schema], place: undefined, depth: 1 }, found);
  return found.sort((a, b) => compareUtf8(a.path, b.path));
}

/** The same as findings, for people: with the name that was probably meant. */
export function checkUnknownFields(value: unknown, schema: JsonObject): SchemaFinding[] {
  return findUnknownFields(value, schema).map(({ path, suggestion }) => {
    const hint = suggestion === undefined ? "" : `, did you mean "${suggestion}"?`;
    return { type: "UnknownField", field: path, path, body: `unknown field "${path}"${hint}` };
  });
}

interface Search {
  readonly value: unknown;
  readonly schemas: readonly JsonObject[];
  readonly place: Place | undefined;
  readonly depth: number;
}

function search({ value, schemas, place, depth }: Search, found: UnknownField[]): void {
  if (depth > maxNesting || schemas.length === 0) return;
  const nodes = withAlternatives(schemas);
  if (Array.isArray(value)) {
    const items = nodes.map((node) => node.items).filter((schema) => schema !== undefined);
    for (let i = 0; i < value.length; i++) {
      search({ value: value[i], schemas: items, place: indexPlace(place, i), depth: depth + 1 }, found);
    }
  } else if (isJsonObject(value)) {
    const isOpen = nodes.some((node) => node.preserveUnknownFields) || !nodes.some(specifiesMembers);
    const isResource = place === undefined || nodes.some((node) => node.embeddedResource);
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue;
      const inner = fieldPlace(place, key);
      const known = schemasOf(nodes, key);
      if (known) search({ value: member, schemas: known, place: inner, depth: depth + 1 }, found);
      else if (!isOpen && !(isResource && metaFields.has(key))) found.push(unknownField(nodes, key, inner));
    }
  }
}

const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

function unknownField(nodes: readonly SchemaNode[], key: string, place: Place): UnknownField {
  const names = nodes.flatMap((node) => Object.keys(node.properties));
  return { path: bracketedText(place), suggestion: closestName(key, names) };
}

const specifiesMembers = (node: SchemaNode): boolean =>
  Object.keys(node.properties).length > 0 || (node.additionalProperties ?? false) !== false;

/** The schemas for a member; undefined when it is unknown, empty when anything will do. */
function schemasOf(nodes: readonly SchemaNode[], key: string): JsonObject[] | undefined {
  const properties = nodes.map((node) => ownValue(node.properties, key)).filter((schema) => schema !== undefined);
  if (properties.length > 0) return properties.filter(isJsonObject);
  const additional = nodes.map((node) => node.additionalProperties ?? false).filter((schema) => schema !== false);
  return additional.length > 0 ? additional.filter(isJsonObject) : undefined;
}

/** The nodes of schemas and of all that they are composed of. */
function withAlternatives(schemas: readonly JsonObject[]): SchemaNode[] {
  const pending = new Set(schemas);
  const nodes: SchemaNode[] = [];
  for (const schema of pending) {
    const node = schemaNode(schema);
    nodes.push(node);
    for (const part of [node.allOf, node.anyOf, node.oneOf]) for (const next of part) pending.add(next);
  }
  return nodes;
}
