// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { formatApiVersion } from "@purlin/kube-objects/object";
import type { ApiGroup, ApiGroupVersion, Catalog } from "../registry/registry.ts";
import type { ResourceType, Subresource } from "../registry/resource-type.ts";
import type { ApiRequest, CompleteResponse } from "../request/api-request.ts";
import { createNegotiation, type Negotiated } from "../request/negotiate.ts";
import { documentPayload, encodedPayload } from "../request/payload.ts";

const aggregated = { as: "APIGroupDiscoveryList", group: "apidiscovery.k8s.io", version: "v2" };
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const negotiateRoots = createNegotiation(
  ({ as, group, version }, mediaType) =>
    as === aggregated.as &&
    group === aggregated.group &&
    version === aggregated.version &&
    mediaType === "application/json",
);
const negotiatePlain = createNegotiation(() => false);

/** Answers everything discovery asks; undefined for a path that is not discovery's, or a group or version that is not served. */
export function createDiscovery(
  catalogOf: () => Catalog,
  serverAddress: () => string,
): (request: ApiRequest) => CompleteResponse | undefined {
  const documents = new AggregatedDocuments(catalogOf);
  return (request) => {
    const [root, ...rest] = request.path.split("/").filter((part) => part !== "");
    if (root !== "api" && root !== "apis") return undefined;
    if (rest.length === 0) {
      const negotiated = negotiateRoots(request.headers["accept"]);
      const plain = (): JsonObject =>
        root === "api" ? apiVersions(serverAddress()) : apiGroupList(catalogOf().groups.filter(isNamed));
      return negotiated.transform === undefined ? document(plain(), negotiated) : documents.answer(root, request);
    }
    const found = root === "api" ? coreDocument(catalogOf(), rest) : groupDocument(catalogOf(), rest);
    return found && document(found, negotiatePlain(request.headers["accept"]));
  };
}

const isNamed = ({ name }: { readonly name: string }): boolean => name !== "";

function coreDocument(catalog: Catalog, [version, ...rest]: readonly string[]): JsonObject | undefined {
  return rest.length === 0 && version !== undefined ? versionDocument(catalog, "", version) : undefined;
}

function groupDocument(catalog: Catalog, [name = "", version, ...rest]: readonly string[]): JsonObject | undefined {
  const group = catalog.group(name);
  if (group === undefined || name === "" || rest.length > 0) return undefined;
  return version === undefined ? apiGroup(group) : versionDocument(catalog, name, version);
}

function versionDocument(catalog: Catalog, name: string, version: string): JsonObject | undefined {
  const served = catalog.group(name)?.versions.find((candidate) => candidate.version === version);
  return served && apiResourceList(name, served);
}

function document(value: JsonValue, { mediaType, pretty }: Negotiated): CompleteResponse {
  return { kind: "complete", code: 200, payload: documentPayload(value, { mediaType, pretty }) };
}

/** The aggregated documents, made once for each state of the catalog, since every client asks for them. */
class AggregatedDocuments {
  readonly #catalogOf: () => Catalog;
  #generation = 0;
  #made = new Map<string, { readonly value: JsonObject; readonly bytes: Uint8Array; readonly tag: string }>();

  constructor(catalogOf: () => Catalog) {
    this.#catalogOf = catalogOf;
  }

  answer(root: "api" | "apis", request: ApiRequest): CompleteResponse {
    const { value, bytes, tag } = this.#document(root);
    const headers = { etag: tag, vary: "Accept", "cache-control": "public" };
    if (request.headers["if-none-match"] === tag) return { kind: "complete", code: 304, headers };
    const payload = encodedPayload(
      () => [bytes],
      () => value,
    );
    return { kind: "complete", code: 200, headers, payload: { ...payload, contentType: aggregatedType } };
  }

  #document(root: "api" | "apis"): { readonly value: JsonObject; readonly bytes: Uint8Array; readonly tag: string } {
    const catalog = this.#catalogOf();
    if (this.#generation !== catalog.generation) {
      this.#generation = catalog.generation;
      this.#made = new Map();
    }
    const known = this.#made.get(root);
    if (known !== undefined) return known;
    const value = apiGroupDiscoveryList(catalog.groups.filter((group) => isNamed(group) === (root === "apis")));
    const bytes = Buffer.from(printJson(value));
    const tag = `"${createHash("sha512").update(bytes).digest("hex").toUpperCase()}"`;
    const made = { value, bytes, tag };
    this.#made.set(root, made);
    return made;
  }
}

/** All groups with all their resources in one document: what new clients ask for. */
function apiGroupDiscoveryList(groups: readonly ApiGroup[]): JsonObject {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name === "" ? {} : { name },
      versions: versions.map(versionBody),
    })),
  };
}

function versionBody({ version, resources }: ApiGroupVersion): JsonObject {
  return { version, resources: resources.map(resourceBody), freshness: "Current" };
}

function resourceBody(type: ResourceType): JsonObject {
  const { resource, namespaced, singular, verbs, shortNames, categories, subresources } = type;
  return {
    resource,
    responseKind: ownKind(type),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0 ? { subresources: subresources.map((one) => subresourceBody(type, one)) } : {}),
  };
}

function subresourceBody(type: ResourceType, { name, verbs, kind }: Subresource): JsonObject {
  return { subresource: name, responseKind: kind === undefined ? ownKind(type) : { ...kind }, verbs };
}

// Built-in types leave group and version empty: the same as around them.
function ownKind({ custom, group, version, kind }: ResourceType): JsonObject {
  return custom ? { group, version, kind } : { group: "", version: "", kind };
}

/** The answer to `/api`. */
function apiVersions(serverAddress: string): JsonObject {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** The answer to `/apis`. */
function apiGroupList(groups: readonly ApiGroup[]): JsonObject {
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupBody) };
}

/** The answer to `/apis/<group>`. */
function apiGroup(group: ApiGroup): JsonObject {
  return { kind: "APIGroup", apiVersion: "v1", ...groupBody(group) };
}

/** The answer to `/api/v1` and `/apis/<group>/<version>`. */
function apiResourceList(group: string, { version, resources }: ApiGroupVersion): JsonObject {
  return {
    kind: "APIResourceList",
    // The core group alone leaves it out, for clients older than groups.
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: formatApiVersion({ group, version }),
    resources: resources.flatMap(resourceRows),
  };
}

function groupBody({ name, versions }: ApiGroup): JsonObject {
  const rows = versions.map(({ version }) => ({ groupVersion: formatApiVersion({ group: name, version }), version }));
  return { name, versions: rows, preferredVersion: rows[0] ?? {} };
}

function resourceRows(type: ResourceType): JsonObject[] {
  const { resource, singular, namespaced, kind, verbs, shortNames, categories } = type;
  const isStored = verbs.includes("watch");
  const main = {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(isStored ? { storageVersionHash: storageVersionHash(type) } : {}),
  };
  const rest = type.subresources.map(({ name, kind: other, verbs: own }) => ({
    name: `${resource}/${name}`,
    singularName: "",
    namespaced,
    ...subresourceKind(type, other),
    verbs: own,
  }));
  return [main, ...rest];
}

/** The kind of a subresource; in the group version of its resource, the group and version are left out. */
function subresourceKind({ kind }: ResourceType, other: Subresource["kind"]): JsonObject {
  if (other === undefined) return { kind };
  return other.version === "" ? { kind: other.kind } : { ...other };
}

function storageVersionHash({ storage, kind }: ResourceType): string {
  const text = `${storage.group}/${storage.version}/${kind}`;
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}
