// SPDX-License-Identifier: Apache-2.0

import { isContainer, type JsonObject } from "../json/json-value.ts";
import { type GroupVersion, type GroupVersionKind, parseApiVersion } from "../object/kube-object.ts";
import { builtinSchemaJson } from "./gen/builtin-schemas.ts";
import {
  findSchema,
  inlineReferences,
  kindsExtension,
  type OpenAPIDocument,
  type OpenAPISchema,
  openAPIPathKey,
  parseOpenAPIPathKey,
  referredComponent,
} from "./open-api-document.ts";

/** The generated facts about the built-in kinds; made by tools/builtin-schemas, which describes each member. */
interface BuiltinData {
  readonly source: string;
  readonly release: string;
  readonly documents: Readonly<Record<string, readonly string[]>>;
  readonly crossRegistered: readonly string[];
  readonly clientGroupVersions: readonly string[];
  readonly schemas: Readonly<Record<string, OpenAPISchema>>;
}

let parsed: BuiltinData | undefined;

/** OpenAPI v3 documents by the path key of the index at `/openapi/v3`. */
export interface OpenAPIDocuments {
  /** The Kubernetes release the documents describe, such as `v1.36.3`. */
  readonly release: string;
  /** Where the schemas come from, and under which licence. */
  readonly source: string;
  /** The keys of all documents, sorted: `api/v1`, `apis/apps/v1`, … */
  readonly keys: readonly string[];
  /** The document of one key, built on first use and then the same object; undefined for an unknown key. */
  document(key: string): OpenAPIDocument | undefined;
}

let documents: OpenAPIDocuments | undefined;

/**
 * The OpenAPI v3 documents of the built-in kinds as the reference release serves them, reduced to the kinds of the
 * embedded API server and without descriptions. `paths` is empty: what is served is the server's to say. Nothing is
 * parsed before the first call.
 */
export function builtinOpenAPI(): OpenAPIDocuments {
  documents ??= createBuiltinOpenAPI(builtinData());
  return documents;
}

function createBuiltinOpenAPI(data: BuiltinData): OpenAPIDocuments {
  const built = new Map<string, OpenAPIDocument>();
  return {
    release: data.release,
    source: data.source,
    keys: Object.keys(data.documents).sort(),
    document(key) {
      const roots = Object.hasOwn(data.documents, key) ? data.documents[key] : undefined;
      const known = built.get(key);
      if (known !== undefined || roots === undefined) return known;
      const document = buildDocument(data, key, roots);
      built.set(key, document);
      return document;
    },
  };
}

function buildDocument(data: BuiltinData, key: string, roots: readonly string[]): OpenAPIDocument {
  const schemas = componentClosure(data.schemas, roots);
  const own = parseOpenAPIPathKey(key);
  if (own && own.group !== "") registerKinds(data, schemas, [own]);
  return { openapi: "3.0.0", info: { title: "Kubernetes", version: data.release }, paths: {}, components: { schemas } };
}

/**
 * Components of the built-in kinds that the document of a custom resource needs, listing the kinds that they list there:
 * every group-version that the reference server's client library knows, and not the custom resource's own.
 */
export function builtinComponentsForCustomResources(names: readonly string[]): Record<string, OpenAPISchema> {
  const data = builtinData();
  const schemas = componentClosure(data.schemas, names);
  const groupVersions = data.clientGroupVersions.map(parseApiVersion).filter(({ group }) => group !== "");
  registerKinds(data, schemas, groupVersions);
  return schemas;
}

// DeleteOptions and WatchEvent belong to every group-version, and say so in the document of each.
function registerKinds(
  data: BuiltinData,
  schemas: Record<string, OpenAPISchema>,
  groupVersions: readonly GroupVersion[],
): void {
  for (const name of data.crossRegistered) {
    const schema = schemas[name];
    if (schema) schemas[name] = withKinds(schema, groupVersions);
  }
}

function withKinds(schema: OpenAPISchema, groupVersions: readonly GroupVersion[]): OpenAPISchema {
  const kinds = schema[kindsExtension] as readonly GroupVersionKind[];
  const kind = kinds[0]?.kind ?? "";
  const added = groupVersions.map(({ group, version }) => ({ group, kind, version }));
  return { ...schema, [kindsExtension]: [...kinds, ...added] };
}

/** The data, parsed on first use: importing this package alone does not pay for it. */
function builtinData(): BuiltinData {
  parsed ??= JSON.parse(builtinSchemaJson) as BuiltinData;
  return parsed;
}

/**
 * The components that `roots` refer to, directly or not, themselves included, in the order of their names: what a
 * document must define for its references to resolve. Names that `components` lacks are left out.
 */
export function componentClosure(
  components: Readonly<Record<string, OpenAPISchema>>,
  roots: Iterable<string>,
): Record<string, OpenAPISchema> {
  const names = new Set(roots);
  for (const name of names) {
    if (Object.hasOwn(components, name)) addReferences(components[name], names);
  }
  const closure: Record<string, OpenAPISchema> = {};
  for (const name of [...names].sort()) {
    const schema = Object.hasOwn(components, name) ? components[name] : undefined;
    if (schema !== undefined) closure[name] = schema;
  }
  return closure;
}

// Most of a schema is plain values: only what can hold a reference is kept for later.
function addReferences(root: unknown, names: Set<string>): void {
  const pending: object[] = isContainer(root) ? [root] : [];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const container = next as Readonly<Record<string, unknown>>;
    for (const key of Object.keys(container)) {
      const member = container[key];
      const name = key === "$ref" && typeof member === "string" ? referredComponent(member) : undefined;
      if (name !== undefined) names.add(name);
      else if (isContainer(member)) pending.push(member);
    }
  }
}

/** The schema of a built-in kind with its references inlined; undefined when the kind is not built in. */
export function builtinSchema(gvk: GroupVersionKind): JsonObject | undefined {
  const document = builtinOpenAPI().document(openAPIPathKey(gvk));
  const component = document && findSchema(document, gvk);
  return document === undefined || component === undefined ? undefined : inlineReferences(document, component);
}
