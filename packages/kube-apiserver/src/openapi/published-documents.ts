// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { JsonObject } from "@purlin/kube-objects/json";
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
import { referenceRelease } from "../endpoints/version.ts";
import type { Catalog } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import {
  type Content,
  codeTexts,
  type Operation,
  operationNames,
  type Parameter,
  type PathOperations,
  sharedParameters,
} from "./operation.ts";
import { resourcePaths } from "./resource-operations.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

const documentTypes = ["application/json", "application/yaml"];

/** A document ready to be sent. */
export interface PublishedDocument {
  readonly value: JsonObject;
  readonly bytes: Uint8Array;
  /** SHA-512 of the bytes, in upper case: changes when and only when the document does. */
  readonly hash: string;
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

  /** The keys of all documents: `api`, `api/v1`, `apis`, `apis/apps`, `apis/apps/v1`, …, sorted. */
  keys(): string[] {
    const { groups } = this.#now().catalog;
    const groupVersions = groups.flatMap(({ name, versions }) =>
      versions.map(({ version }) => openAPIPathKey({ group: name, version })),
    );
    const served = new Set(groups.map(({ name }) => `apis/${name}`));
    const others = otherKeys().filter((key) => !key.startsWith("apis/") || served.has(key));
    return [...groupVersions, ...others].sort();
  }

  document(key: string): PublishedDocument | undefined {
    const groupVersion = parseOpenAPIPathKey(key);
    const { catalog, crds } = this.#now();
    const served = catalog
      .group(groupVersion?.group ?? "")
      ?.versions.find(({ version }) => version === groupVersion?.version);
    if (groupVersion === undefined || served === undefined) return this.#other(key);
    const own = crds.filter((crd) => (crd["spec"] as JsonObject | undefined)?.["group"] === groupVersion.group);
    return this.#known(key, [...own, ...served.resources], () => describe(key, own, served.resources));
  }

  /** Drops what is no longer served. */
  forgetUnserved(): void {
    const served = new Set(this.keys());
    for (const key of this.#made.keys()) if (!served.has(key)) this.#made.delete(key);
  }

  #other(key: string): PublishedDocument | undefined {
    return this.keys().includes(key) ? this.#known(key, [], () => describeOther(key)) : undefined;
  }

  #known(key: string, from: readonly unknown[], make: () => PublishedDocument): PublishedDocument {
    const known = this.#made.get(key);
    if (known !== undefined && sameItems(known.from, from)) return known.document;
    const document = make();
    this.#made.set(key, { from, document });
    return document;
  }
}

/** The keys of documents that are of no group-version. */
function otherKeys(): string[] {
  return builtinOpenAPI().keys.filter((key) => parseOpenAPIPathKey(key) === undefined);
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function describe(key: string, crds: readonly JsonObject[], resources: readonly ResourceType[]): PublishedDocument {
  const builtin = builtinOpenAPI().document(key);
  const custom = crds.flatMap((crd) => crdToOpenAPI(crd).get(key) ?? []);
  const [first, ...others] = builtin === undefined ? custom : [builtin, ...custom];
  const merged = first === undefined ? emptyDocument : mergeOpenAPI(first, ...others);
  const paths = resources.flatMap((type) => resourcePaths(type, (kind) => findSchema(merged, kind)));
  return publish(merged, builtin === undefined ? paths : [discoveryPath(`/${key}/`), ...paths]);
}

function describeOther(key: string): PublishedDocument {
  const path = key === "version" ? versionPath() : discoveryPath(`/${key}/`);
  return publish(builtinOpenAPI().document(key) ?? emptyDocument, [path]);
}

const emptyDocument: OpenAPIDocument = {
  openapi: "3.0.0",
  info: { title: "Kubernetes", version: "unversioned" },
  paths: {},
  components: { schemas: {} },
};

function publish(document: OpenAPIDocument, paths: readonly PathOperations[]): PublishedDocument {
  const { info, components } = document;
  const isBuiltin = info.title === "Kubernetes";
  const value: JsonObject = {
    openapi: document.openapi,
    info: isBuiltin ? { ...info, version: documentVersion } : info,
    paths: v3Paths(paths),
    components: isBuiltin ? { ...components, securitySchemes: { BearerToken: bearerToken } } : components,
  };
  const bytes = Buffer.from(JSON.stringify(value));
  const hash = createHash("sha512").update(bytes).digest("hex").toUpperCase();
  return { value, bytes, hash, paths, schemas: components.schemas };
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

/** The `paths` of an OpenAPI v3 document, by path. */
function v3Paths(paths: readonly PathOperations[]): JsonObject {
  const sorted = paths.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return Object.fromEntries(sorted.map(({ path, operations }) => [path, pathItem(operations)]));
}

function pathItem(operations: readonly Operation[]): JsonObject {
  const { shared, own } = sharedParameters(operations);
  const methods = operations.map((one) => [one.method, operationObject(one, own(one))] as const);
  return { ...Object.fromEntries(methods), ...(shared.length > 0 && { parameters: shared.map(parameterObject) }) };
}

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
