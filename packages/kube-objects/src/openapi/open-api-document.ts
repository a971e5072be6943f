// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
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
