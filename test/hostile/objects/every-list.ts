// SPDX-License-Identifier: Apache-2.0
// For every list and every map of every built-in kind: an object in which it is as long as a request allows.
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { builtinSchema } from "@purlin/kube-objects/openapi";

/** A kind that the server creates objects of. */
export interface CreatedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Where its objects are created. */
  readonly path: string;
}

/** An object with one long list or map. */
export interface LongObject {
  /** The field, such as `spec.containers[].env`. */
  readonly field: string;
  readonly object: JsonObject;
}

/** As many values as the server reads of one body, apart from the few around a list. */
const mostValues = 95_000;
const mostBytes = 2_800_000;
const mostDepth = 12;

const scalars = new Set(["string", "integer", "number", "boolean"]);

/** Every list and map of a kind. Metadata and templates of Pods are the same everywhere: those of one kind are looked into. */
export function* longObjects({ group, version, kind }: CreatedKind): Generator<LongObject> {
  const schema = builtinSchema({ group, version, kind });
  if (schema === undefined) return;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const isWanted = (field: string): boolean =>
    (kind === "ConfigMap" || !/\bmetadata$/.test(field)) &&
    (kind === "Pod" || !/\btemplate$/.test(field)) &&
    !/^spec\.(init|ephemeral)Containers\[\]/.test(field);
  for (const { field, value } of longValues(schema, { at: "", depth: 0, isWanted })) {
    const object = objectOf(value);
    const metadata = { name: "long", ...objectOf(object["metadata"]) };
    yield { field, object: { ...object, apiVersion, kind, metadata } };
  }
}

interface LongValue {
  readonly field: string;
  readonly value: JsonValue;
}

interface Walk {
  readonly at: string;
  readonly depth: number;
  readonly isWanted: (field: string) => boolean;
}

function* longValues(schema: JsonObject, { at, depth, isWanted }: Walk): Generator<LongValue> {
  if (depth > mostDepth || !isWanted(at)) return;
  const below = (place: string): Walk => ({ at: place, depth: depth + 1, isWanted });
  for (const [name, member] of Object.entries(objectOf(schema["properties"]))) {
    for (const { field, value } of longValues(objectOf(member), below(at === "" ? name : `${at}.${name}`))) {
      yield { field, value: { [name]: value } };
    }
  }
  const [items, members] = [schema["items"], schema["additionalProperties"]];
  if (items !== undefined) {
    const keys = textsOf(schema["x-kubernetes-list-map-keys"]);
    yield { field: at, value: many((index) => exampleOf(objectOf(items), index, keys)) };
    for (const { field, value } of longValues(objectOf(items), below(`${at}[]`))) yield { field, value: [value] };
  }
  if (members !== undefined) {
    const entries = many((index) => exampleOf(objectOf(members), index, []));
    yield { field: at, value: Object.fromEntries(entries.map((value, index) => [`k${index}`, value])) };
    for (const { field, value } of longValues(objectOf(members), below(`${at}{}`)))
      yield { field, value: { k: value } };
  }
}

const textsOf = (value: JsonValue | undefined): readonly string[] =>
  isJsonArray(value ?? null) ? (value as readonly string[]) : [];
const objectOf = (value: JsonValue | undefined): JsonObject =>
  isJsonObject(value ?? null) ? (value as JsonObject) : {};

/** As many different values as fit into a request. */
function many(example: (index: number) => JsonValue): JsonValue[] {
  const one = example(99_999);
  const count = Math.min(mostValues / valuesOf(one), mostBytes / (JSON.stringify(one).length + 12));
  return Array.from({ length: Math.floor(count) }, (_, index) => example(index));
}

/** As how many values the server counts one item: an object or a list counts also when it is empty. */
function valuesOf(value: JsonValue): number {
  if (!isJsonObject(value) && !isJsonArray(value)) return 1;
  const inside = Object.values(value).reduce<number>((sum, one) => sum + valuesOf(one as JsonValue), 0);
  return Math.max(2, 1 + inside);
}

/** A value that fits a schema; that of another index is different. */
function exampleOf(schema: JsonObject, index: number, keys: readonly string[]): JsonValue {
  const { type, format } = schema;
  if (format === "date-time") return "2026-01-01T00:00:00Z";
  if (format === "byte") return Buffer.from(String(index)).toString("base64");
  if (type === "integer" || type === "number" || format === "int-or-string") return index + 1;
  if (type === "boolean") return true;
  // Digits are a name as well as a quantity.
  if (type === "string" || schema["oneOf"] !== undefined) return String(index + 1);
  if (type === "array") return [];
  const properties = Object.entries(objectOf(schema["properties"]));
  const wanted = new Set([...keys, ...textsOf(schema["required"])]);
  const plain = properties.filter(([, member]) => scalars.has(String(objectOf(member)["type"])));
  if (wanted.size === 0) for (const [name] of plain.slice(0, 2)) wanted.add(name);
  const chosen = properties
    .filter(([name]) => wanted.has(name))
    .map(([name, member]) => [name, exampleOf(objectOf(member), index, [])]);
  return Object.fromEntries(chosen);
}
