// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, ownValue, setOwnValue } from "../json/json-value.ts";
import type { GroupVersion, GroupVersionKind } from "../object/kube-object.ts";

/** An OpenAPI v3 schema: plain read-only JSON. */
export type OpenAPISchema = JsonObject;

/** The OpenAPI v3 document of one group-version, as `/openapi/v3/…` serves it. */
export interface OpenAPIDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: JsonObject;
  readonly components: { readonly schemas: Readonly<Record<string, OpenAPISchema>> };
}

/** A document as it arrives from a server or a file: whatever is missing or odd is treated as absent. */
export interface OpenAPISource {
  readonly components?: unknown;
}

/** The extension by which a schema names the kinds it describes. */
export const kindsExtension = "x-kubernetes-group-version-kind";

/** The key of a group-version in the index at `/openapi/v3`: `apis/apps/v1`, or `api/v1` for the core group. */
export function openAPIPathKey({ group, version }: GroupVersion): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** The group-version a key stands for; undefined for keys of other documents, such as `version` or `apis/apps`. */
export function parseOpenAPIPathKey(key: string): GroupVersion | undefined {
  const [root, first = "", second = "", ...rest] = key.split("/");
  if (rest.length > 0) return undefined;
  if (root === "api" && first !== "" && second === "") return { group: "", version: first };
  if (root === "apis" && first !== "" && second !== "") return { group: first, version: second };
  return undefined;
}

const prefix = "#/components/schemas/";

/** The local reference to a component: `#/components/schemas/<name>`, escaped as a JSON pointer. */
export function referenceTo(component: string): string {
  return prefix + component.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The component a reference names, or undefined when it does not point to a component of its own document. */
export function referredComponent(reference: string): string | undefined {
  if (!reference.startsWith(prefix)) return undefined;
  return reference.slice(prefix.length).replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The components of a document by name; empty when it has none. */
export function componentsOf(document: OpenAPISource): Readonly<Record<string, OpenAPISchema>> {
  const { components } = document;
  const schemas = isJsonObject(components) ? components["schemas"] : undefined;
  return isJsonObject(schemas) ? (schemas as Readonly<Record<string, OpenAPISchema>>) : {};
}

/**
 * The reference a schema stands for: its own `$ref`, or the first one found in its `allOf`, which is how OpenAPI v3
 * lets a reference carry a default or a description.
 */
export function referenceOf(schema: OpenAPISchema): string | undefined {
  const pending: unknown[] = [schema];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!isJsonObject(next)) continue;
    const reference = next["$ref"];
    if (typeof reference === "string") return reference;
    const members = next["allOf"];
    if (!Array.isArray(members)) continue;
    for (let i = members.length - 1; i >= 0; i--) pending.push(members[i]);
  }
  return undefined;
}

/**
 * One document from several of the same group-version, as a server publishes its built-in and custom kinds together.
 * Where two define the same path or component, the first one's stays. Components come out in the order of their names.
 */
export function mergeOpenAPI(first: OpenAPIDocument, ...others: readonly OpenAPIDocument[]): OpenAPIDocument {
  if (others.length === 0) return first;
  const documents = [first, ...others];
  const schemas = firstOfEach(documents.map(({ components }) => components.schemas));
  const paths = firstOfEach(documents.map((document) => document.paths));
  return { ...first, paths, components: { schemas } };
}

function firstOfEach<T>(parts: readonly Readonly<Record<string, T>>[]): Record<string, T> {
  const merged = new Map<string, T>();
  for (const part of parts) {
    for (const [name, member] of Object.entries(part)) if (!merged.has(name)) merged.set(name, member);
  }
  return Object.fromEntries([...merged].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const brand = createErrorBrand<OpenAPIError>("purlin.dev/kube-objects/OpenAPIError");

/** A document or a CustomResourceDefinition that cannot be used. The message names the component or field. */
export class OpenAPIError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OpenAPIError";
    brand.mark(this);
  }
}

/** Whether the value is an OpenAPIError, of this or another copy of the package. */
export function isOpenAPIError(value: unknown): value is OpenAPIError {
  return brand.has(value);
}

/**
 * The name of the component that describes a kind: the first in the document's order whose extension
 * `x-kubernetes-group-version-kind` is an array with exactly that one entry. Components of several kinds, such as
 * DeleteOptions, describe none of them. Undefined when there is no such component.
 */
export function findSchema(document: OpenAPISource, gvk: GroupVersionKind): string | undefined {
  const components = componentsOf(document);
  const known = indexes.get(components) ?? indexOf(components);
  indexes.set(components, known);
  return known.get(keyOf(gvk));
}

/** Names of components by the kind they describe. A server asks for every kind of a document in turn, and documents do not change. */
const indexes = new WeakMap<object, ReadonlyMap<string, string>>();

function indexOf(components: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, schema] of Object.entries(components)) {
    const kind = isJsonObject(schema) ? describedKind(schema[kindsExtension]) : undefined;
    if (kind !== undefined && !names.has(kind)) names.set(kind, name);
  }
  return names;
}

function describedKind(kinds: unknown): string | undefined {
  if (!Array.isArray(kinds) || kinds.length !== 1 || !isJsonObject(kinds[0])) return undefined;
  const { group = "", version = "", kind = "" } = kinds[0] as Partial<GroupVersionKind>;
  return keyOf({ group, version, kind });
}

const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}/${kind}`;

/** How far inlining may go before it is refused; the largest built-in kind needs a hundredth of the first. */
export const inliningLimits: { readonly schemas: number; readonly depth: number } = { schemas: 500_000, depth: 500 };

/**
 * A component with every reference replaced by what it refers to, so that it can be read without its document. A schema
 * that refers, by `$ref` or inside `allOf`, is replaced entirely; a reference to a component it is already inside of
 * becomes `{"type":"object"}`. Only `properties`, `additionalProperties` and `items` are followed.
 *
 * The result shares parts with the document and with itself: treat it as frozen. Throws an {@link OpenAPIError} when a
 * reference leads nowhere or the result would be larger than {@link inliningLimits}.
 */
export function inlineReferences(document: OpenAPISource, component: string): OpenAPISchema {
  const inlining: Inlining = {
    root: component,
    components: componentsOf(document),
    finished: new Map(),
    open: new Map(),
    lowestCycle: Number.POSITIVE_INFINITY,
    schemas: 0,
    depth: 0,
  };
  return inlineComponent(inlining, component);
}

interface Inlined {
  readonly schema: OpenAPISchema;
  /** How many schemas it consists of, shared ones counted each time: the size of its JSON, not of its memory. */
  readonly schemas: number;
}

interface Inlining {
  readonly root: string;
  readonly components: Readonly<Record<string, OpenAPISchema>>;
  /** Components on no cycle look the same wherever they are used, so they are inlined once. */
  readonly finished: Map<string, Inlined>;
  /** The components around the current schema, with their depth. */
  readonly open: Map<string, number>;
  /** The outermost open component that a reference led back to. */
  lowestCycle: number;
  schemas: number;
  depth: number;
}

const cycle: OpenAPISchema = { type: "object" };

function inlineComponent(inlining: Inlining, name: string): OpenAPISchema {
  const finished = inlining.finished.get(name);
  if (finished) {
    count(inlining, finished.schemas);
    return finished.schema;
  }
  const openAt = inlining.open.get(name);
  if (openAt !== undefined) {
    inlining.lowestCycle = Math.min(inlining.lowestCycle, openAt);
    count(inlining, 1);
    return cycle;
  }
  const component = ownValue(inlining.components, name);
  if (!isJsonObject(component))
    throw new OpenAPIError(`component ${inlining.root} refers to ${name}, which is not defined`);
  return inlineUnseen(inlining, name, component);
}

function inlineUnseen(inlining: Inlining, name: string, component: OpenAPISchema): OpenAPISchema {
  const openAt = inlining.open.size;
  const outerCycle = inlining.lowestCycle;
  const before = inlining.schemas;
  inlining.open.set(name, openAt);
  inlining.lowestCycle = Number.POSITIVE_INFINITY;
  const schema = inlineSchema(inlining, component);
  inlining.open.delete(name);
  // A way back to this component or one around it makes the result depend on where we came from.
  if (inlining.lowestCycle > openAt) inlining.finished.set(name, { schema, schemas: inlining.schemas - before });
  inlining.lowestCycle = Math.min(outerCycle, inlining.lowestCycle);
  return schema;
}

function inlineSchema(inlining: Inlining, schema: OpenAPISchema): OpenAPISchema {
  if (++inlining.depth > inliningLimits.depth) {
    throw new OpenAPIError(`component ${inlining.root} is nested deeper than ${inliningLimits.depth} schemas`);
  }
  const reference = referenceOf(schema);
  const inlined = reference === undefined ? inlineChildren(inlining, schema) : inlineReference(inlining, reference);
  inlining.depth--;
  return inlined;
}

function inlineReference(inlining: Inlining, reference: string): OpenAPISchema {
  const name = referredComponent(reference);
  if (name === undefined) throw new OpenAPIError(`component ${inlining.root} has the foreign reference ${reference}`);
  return inlineComponent(inlining, name);
}

function inlineChildren(inlining: Inlining, schema: OpenAPISchema): OpenAPISchema {
  count(inlining, 1);
  const { properties, additionalProperties, items } = schema;
  const changes: Record<string, JsonValue> = {};
  if (isJsonObject(properties)) changes["properties"] = inlineProperties(inlining, properties);
  if (isJsonObject(additionalProperties)) {
    changes["additionalProperties"] = inlineSchema(inlining, additionalProperties);
  }
  if (isJsonObject(items)) changes["items"] = inlineSchema(inlining, items);
  const changed = Object.keys(changes).some((key) => changes[key] !== schema[key]);
  return changed ? { ...schema, ...changes } : schema;
}

function inlineProperties(inlining: Inlining, properties: OpenAPISchema): OpenAPISchema {
  const inlined: Record<string, JsonValue> = {};
  let changed = false;
  for (const [name, property] of Object.entries(properties)) {
    const value = isJsonObject(property) ? inlineSchema(inlining, property) : property;
    if (value !== property) changed = true;
    setOwnValue(inlined, name, value);
  }
  return changed ? inlined : properties;
}

function count(inlining: Inlining, schemas: number): void {
  inlining.schemas += schemas;
  if (inlining.schemas <= inliningLimits.schemas) return;
  throw new OpenAPIError(`component ${inlining.root} grows beyond ${inliningLimits.schemas} schemas when inlined`);
}
