// SPDX-License-Identifier: Apache-2.0
import { finish } from "@purlin/base";
import {
  compareUtf8,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Mapped,
  mapItems,
  mapMembers,
  ownValue,
  removed,
} from "../json/json-value.ts";
import { type CheckValueOptions, checkValue } from "./check-value.ts";
import { bracketedText, fieldPlace, indexPlace, type Place, type SchemaFinding } from "./outcome.ts";
import { type SchemaNode, schemaNode } from "./schema-node.ts";
import { checkingEmbeddedResources, checkListTypes } from "./structural-checks.ts";
import { maxNesting } from "./value-kind.ts";

/** How an object is checked. */
export interface CheckSchemaOptions extends CheckValueOptions {
  /** Whether fields that the schema does not declare are findings, which catches typing errors. Ignored by default. */
  readonly unknownFields?: "report" | "ignore";
  /** What a member that is null without being allowed to means: a mistake (the default), or that it is not there. */
  readonly nulls?: "reject" | "absent";
}

/**
 * Checks an object against an OpenAPI v3 schema without references: the keywords, the uniqueness of lists that are sets
 * or maps, embedded resources and, when asked for, unknown fields. Finds what the reference server finds in a custom
 * resource, in the same words; rules in CEL are not evaluated. An empty list means that the object fits.
 *
 * Never throws. Takes time proportional to the sizes of the object and the schema, and a bounded time per pattern.
 */
export function checkSchema(object: unknown, schema: JsonObject, options: CheckSchemaOptions = {}): SchemaFinding[] {
  const value = options.nulls === "absent" ? withoutForbiddenNulls(object, schema) : object;
  return [
    ...checkValue(value, schema, options),
    ...checkListTypes(value, schema),
    ...(options.partial ? [] : finish(checkingEmbeddedResources(value, schema))),
    ...(options.unknownFields === "report" ? checkUnknownFields(value, schema) : []),
  ];
}

/** A finding as one line for people: where, and what. */
export function findingText({ path, body }: SchemaFinding): string {
  return path === "" ? body : `${path}: ${body}`;
}

/**
 * A value without the members that are null although their schema does not allow it, which is how a server reads them,
 * whatever default the schema has. Items of lists stay, as does null where nothing is specified. Parts without such
 * members are not copied.
 */
export function withoutForbiddenNulls(value: unknown, schema: JsonObject): unknown {
  return dropFrom(value as JsonValue, schemaNode(schema), 1);
}

function dropFrom(value: JsonValue, node: SchemaNode | undefined, depth: number): JsonValue {
  if (node === undefined || depth > maxNesting) return value;
  if (isJsonArray(value)) return mapItems(value, (item) => dropFrom(item, node.items, depth + 1));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (member, key): Mapped => {
    const inner = node.member(key);
    const isForbidden = member === null && inner !== undefined && !acceptsNull(inner);
    return isForbidden ? removed : dropFrom(member, inner, depth + 1);
  });
}

function acceptsNull(node: SchemaNode): boolean {
  return node.nullable || node.types.length === 0 || node.types.includes("null");
}

/** A field that a schema does not declare. */
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
  search({ value, schemas: [schemaNode(schema)], place: undefined, depth: 1 }, found);
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
  readonly schemas: readonly SchemaNode[];
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
function schemasOf(nodes: readonly SchemaNode[], key: string): SchemaNode[] | undefined {
  const declaring = nodes.filter((node) => ownValue(node.properties, key) !== undefined);
  if (declaring.length > 0) return declaring.map((node) => node.property(key)).filter((schema) => schema !== undefined);
  const additional = nodes.map((node) => node.additionalProperties ?? false).filter((schema) => schema !== false);
  return additional.length > 0 ? additional.filter((schema) => schema !== true) : undefined;
}

/** The nodes of schemas and of all that they are composed of. */
function withAlternatives(schemas: readonly SchemaNode[]): SchemaNode[] {
  const nodes = new Set(schemas);
  for (const node of nodes)
    for (const part of [node.allOf, node.anyOf, node.oneOf]) for (const next of part) nodes.add(next);
  return [...nodes];
}

const longestName = 64;

/**
 * The name that was probably meant: the closest of `names`, at most a third of its letters away (missing, added, changed
 * or swapped with their neighbour; case does not count). Undefined when none is close.
 */
export function closestName(name: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  if (name.length > longestName) return undefined;
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= bestDistance || candidate.length > longestName) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const change = a[row - 1] === b[column - 1] ? 0 : 1;
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + change,
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
