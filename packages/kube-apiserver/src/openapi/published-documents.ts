// SPDX-License-Identifier: Apache-2.0
import { memoize, type Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import {
  builtinOpenAPI,
  crdToOpenAPI,
  findSchema,
  mergeOpenAPI,
  type OpenAPIDocument,
  openAPIPathKey,
  parseOpenAPIPathKey,
  referenceTo,
} from "@purlin/kube-objects/openapi";
import { referenceRelease } from "../endpoints/health.ts";
import type { Catalog, ResourceType } from "../registry/registry.ts";
import {
  type Content,
  codeTexts,
  type Operation,
  operationNames,
  type Parameter,
  type PathOperations,
  sharedParameters,
} from "./operation.ts";
import { type PrintedDocument, printDocument } from "./printed-parts.ts";
import { resourcePaths } from "./resource-operations.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

const documentTypes = ["application/json", "application/yaml"];

/** A document ready to be sent. */
export interface PublishedDocument extends PrintedDocument {
  readonly value: JsonObject;
  /** What its paths were made from. */
  readonly paths: readonly PathOperations[];
  readonly schemas: OpenAPIDocument["components"]["schemas"];
}

/** What is served now: the catalog, and the CRDs behind its custom part. */
interface ServedNow {
  readonly catalog: Catalog;
  readonly crds: readonly JsonObject[];
}

/** The release as documents name it. */
export const documentVersion: string = referenceRelease.slice(1).split(".").slice(0, 2).join(".");

/** How clients show who they are. */
export const bearerToken: JsonObject = { type: "apiKey", name: "authorization", in: "header" };

/**
 * The OpenAPI v3 documents of everything that is served: one a group-version, and those of discovery and of the server's version. A
 * document is made when it is first asked for, and again only when what it describes has changed.
 */
export class PublishedDocuments {
  readonly #now: () => ServedNow;
  readonly #made = new Map<string, { readonly from: readonly unknown[]; readonly document: PublishedDocument }>();

  constructor(now: () => ServedNow) {
    this.#now = now;
  }

  /** What is served now. Another object when anything of it changes. */
  get catalog(): Catalog {
    return this.#now().catalog;
  }

  /** All documents by their keys, in the order of the keys. Forgets documents that are no longer served. */
  *all(): Work<ReadonlyMap<string, PublishedDocument>> {
    const { catalog, crds } = this.#now();
    const ofGroup = Map.groupBy(crds, (crd) => stringAt(crd, ["spec", "group"]));
    const documents = new Map<string, PublishedDocument>();
    for (const key of keysOf(catalog)) {
      yield;
      const own = ofGroup.get(parseOpenAPIPathKey(key)?.group ?? "") ?? [];
      documents.set(key, yield* this.#make(key, catalog, own));
    }
    for (const key of this.#made.keys()) if (!documents.has(key)) this.#made.delete(key);
    return documents;
  }

  *#make(key: string, catalog: Catalog, crds: readonly JsonObject[]): Work<PublishedDocument> {
    const groupVersion = parseOpenAPIPathKey(key);
    const { resources } =
      catalog.group(groupVersion?.group ?? "")?.versions.find(({ version }) => version === groupVersion?.version) ?? {};
    const from = groupVersion === undefined || resources === undefined ? [] : [...crds, ...resources];
    const known = this.#made.get(key);
    if (known !== undefined && sameItems(known.from, from)) return known.document;
    const document = yield* resources === undefined ? describeOther(key) : describe(key, crds, resources);
    this.#made.set(key, { from, document });
    return document;
  }
}

/** The keys of all documents: `api`, `api/v1`, `apis`, `apis/apps`, `apis/apps/v1`, …, sorted. */
function keysOf({ groups }: Catalog): string[] {
  const groupVersions = groups.flatMap(({ name, versions }) =>
    versions.map(({ version }) => openAPIPathKey({ group: name, version })),
  );
  const served = new Set(groups.map(({ name }) => `apis/${name}`));
  const others = otherKeys().filter((key) => !key.startsWith("apis/") || served.has(key));
  return [...groupVersions, ...others].sort();
}

/** The keys of documents that are of no group-version. */
function otherKeys(): string[] {
  return builtinOpenAPI().keys.filter((key) => parseOpenAPIPathKey(key) === undefined);
}

/** Whether two lists have the same objects in the same order. */
export function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function* describe(
  key: string,
  crds: readonly JsonObject[],
  resources: readonly ResourceType[],
): Work<PublishedDocument> {
  const builtin = builtinOpenAPI().document(key);
  const custom: OpenAPIDocument[] = [];
  for (const crd of crds) {
    const document = openApiOf(crd).get(key);
    if (document !== undefined) custom.push(document);
    yield;
  }
  const [first, ...others] = builtin === undefined ? custom : [builtin, ...custom];
  const merged = first === undefined ? emptyDocument : mergeOpenAPI(first, ...others);
  yield;
  const paths = builtin === undefined ? [] : [discoveryPath(`/${key}/`)];
  for (const type of resources) {
    paths.push(...pathsOf(type, merged));
    yield;
  }
  return yield* publish(merged, paths);
}

const openApiOf = memoize(crdToOpenAPI);

const knownPaths = new WeakMap<ResourceType, readonly PathOperations[]>();

/** The paths of a resource; kept once the document has a component for each kind that they name. */
function pathsOf(type: ResourceType, document: OpenAPIDocument): readonly PathOperations[] {
  const known = knownPaths.get(type);
  if (known !== undefined) return known;
  let isComplete = true;
  const paths = resourcePaths(type, (kind) => {
    const component = findSchema(document, kind);
    isComplete &&= component !== undefined;
    return component;
  });
  if (isComplete) knownPaths.set(type, paths);
  return paths;
}

function describeOther(key: string): Work<PublishedDocument> {
  const path = key === "version" ? versionPath() : discoveryPath(`/${key}/`);
  return publish(builtinOpenAPI().document(key) ?? emptyDocument, [path]);
}

const emptyDocument: OpenAPIDocument = {
  openapi: "3.0.0",
  info: { title: "Kubernetes", version: "unversioned" },
  paths: {},
  components: { schemas: {} },
};

function* publish(document: OpenAPIDocument, paths: readonly PathOperations[]): Work<PublishedDocument> {
  const { info, components } = document;
  const isBuiltin = info.title === "Kubernetes";
  const value = {
    openapi: document.openapi,
    info: isBuiltin ? { ...info, version: documentVersion } : info,
    paths: yield* describedPaths(paths, pathItem),
    components: isBuiltin ? { ...components, securitySchemes: { BearerToken: bearerToken } } : components,
  };
  const printed = yield* printDocument(value, [value.paths, components.schemas]);
  return { value, ...printed, paths, schemas: components.schemas };
}

/** The root of the core group, of all others, of one group, or of one version of it. */
export function discoveryPath(path: string): PathOperations {
  const parts = path.split("/").filter((part) => part !== "");
  const [what, component] = answerOf(parts);
  return reading(path, what, { component: `${meta}.${component}`, types: documentTypes });
}

function answerOf(parts: readonly string[]): readonly [what: string, component: string] {
  if (parts.length === 1) return parts[0] === "api" ? ["APIVersions", "APIVersions"] : ["APIVersions", "APIGroupList"];
  const isGroup = parts[0] === "apis" && parts.length === 2;
  return isGroup ? ["APIGroup", "APIGroup"] : ["APIResources", "APIResourceList"];
}

/** Where the server says what it is. */
export function versionPath(): PathOperations {
  const component = "io.k8s.apimachinery.pkg.version.Info";
  return reading("/version/", "CodeVersion", { component, types: ["application/json"] });
}

function reading(
  path: string,
  what: string,
  { component, types }: { readonly component: string; readonly types: readonly string[] },
): PathOperations {
  const names = operationNames("get", what, path);
  const operation = {
    method: "get",
    ...names,
    parameters: [],
    consumes: types,
    produces: types,
    responses: { 200: { component } },
  } as const;
  return { path, operations: [operation] };
}

/** The `paths` of a document: what `describePath` makes of each, sorted by path. */
export function* describedPaths(
  paths: readonly PathOperations[],
  describePath: (path: PathOperations) => JsonObject,
): Work<JsonObject> {
  const items: [string, JsonObject][] = [];
  for (const one of paths.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    items.push([one.path, describePath(one)]);
    yield;
  }
  return Object.fromEntries(items);
}

const pathItem = memoize(({ operations }: PathOperations): JsonObject => {
  const { shared, own } = sharedParameters(operations);
  const methods = operations.map((one) => [one.method, operationObject(one, own(one))] as const);
  return { ...Object.fromEntries(methods), ...(shared.length > 0 && { parameters: shared.map(parameterObject) }) };
});

function operationObject(operation: Operation, parameters: readonly Parameter[]): JsonObject {
  const { id, tag, action, kind, body, consumes, produces, responses } = operation;
  const answers = Object.entries(responses).map(([code, content]) => [code, answer(Number(code), content, produces)]);
  return {
    tags: [tag],
    operationId: id,
    ...(parameters.length > 0 && { parameters: parameters.map(parameterObject) }),
    ...(body !== undefined && {
      requestBody: { content: contents(body, consumes), ...(body.required && { required: true }) },
    }),
    responses: { ...Object.fromEntries(answers), 401: { description: codeTexts[401] ?? "" } },
    ...(action !== undefined && { "x-kubernetes-action": action }),
    ...(kind !== undefined && { "x-kubernetes-group-version-kind": { ...kind } }),
  };
}

function answer(code: number, content: Content, types: readonly string[]): JsonObject {
  return { description: codeTexts[code] ?? "", content: contents(content, types) };
}

function contents({ component }: Content, types: readonly string[]): JsonObject {
  const schema = component === undefined ? {} : { $ref: referenceTo(component) };
  return Object.fromEntries(types.toSorted().map((type) => [type, { schema }]));
}

function parameterObject({ name, in: where, type }: Parameter): JsonObject {
  return { name, in: where, ...(where === "path" && { required: true }), schema: { type, uniqueItems: true } };
}
