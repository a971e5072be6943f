// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { formatApiVersion } from "@purlin/kube-objects/object";
import { mergeGroups, type RemoteVersion, remoteVersionBody } from "../aggregator/remote-documents.ts";
import type { ApiGroup, ApiGroupVersion, Catalog, ResourceType, Subresource } from "../registry/registry.ts";
import { type ApiRequest, type CompleteResponse, documentPayload, encodedPayload } from "../request/api-request.ts";
import { createNegotiation, type Negotiated } from "../request/negotiate.ts";

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
  remotes: RemoteGroups = noRemoteGroups,
): (request: ApiRequest) => CompleteResponse | undefined {
  const documents = new AggregatedDocuments(catalogOf, remotes);
  return (request) => {
    const [root, ...rest] = request.path.split("/").filter((part) => part !== "");
    if (root !== "api" && root !== "apis") return undefined;
    if (rest.length === 0) {
      const negotiated = negotiateRoots(request.headers["accept"]);
      const plain = (): JsonObject =>
        root === "api" ? apiVersions(serverAddress()) : apiGroupList(listedGroups(catalogOf(), remotes));
      return negotiated.transform === undefined ? document(plain(), negotiated) : documents.answer(root, request);
    }
    const found =
      root === "api"
        ? coreDocument(catalogOf(), rest)
        : (remoteGroupDocument(catalogOf(), remotes, rest) ?? groupDocument(catalogOf(), rest));
    return found && document(found, negotiatePlain(request.headers["accept"]));
  };
}

/** The groups of other servers. */
interface RemoteGroups {
  /** Increases with every change. */
  readonly generation: number;
  readonly versions: readonly RemoteVersion[];
}

const noRemoteGroups: RemoteGroups = { generation: 0, versions: [] };

/** Local versions as APIServices rank them. */
const [customPriority, builtinPriority] = [100, 15];

/** All groups but the core one, with what `entryOf` makes of each version. */
function mergedGroups(
  { groups }: Catalog,
  { versions }: RemoteGroups,
  entries: {
    readonly local: (group: ApiGroup, version: ApiGroupVersion) => JsonObject;
    readonly remote: (version: RemoteVersion) => JsonObject;
  },
): { readonly name: string; readonly versions: readonly JsonObject[] }[] {
  const local = groups.filter(isNamed).map((group) => ({
    name: group.name,
    priority: Math.max(...group.versions.flatMap((one) => one.resources.map((type) => type.groupPriority))),
    versions: group.versions.map((one) => ({
      version: one.version,
      priority: one.resources.every((type) => type.custom) ? customPriority : builtinPriority,
      entry: entries.local(group, one),
    })),
  }));
  return mergeGroups(local, versions, entries.remote);
}

function listedGroups(catalog: Catalog, remotes: RemoteGroups): JsonObject[] {
  const row = (name: string, version: string): JsonObject => ({
    groupVersion: formatApiVersion({ group: name, version }),
    version,
  });
  return mergedGroups(catalog, remotes, {
    local: ({ name }, { version }) => row(name, version),
    remote: ({ remote }) => row(remote.group, remote.version),
  }).map(({ name, versions }) => ({ name, versions, preferredVersion: versions[0] ?? {} }));
}

/** The document of a group that another server serves, if only in part. */
function remoteGroupDocument(
  catalog: Catalog,
  remotes: RemoteGroups,
  [name, ...rest]: readonly string[],
): JsonObject | undefined {
  if (rest.length > 0 || !remotes.versions.some(({ remote }) => remote.group === name)) return undefined;
  const found = listedGroups(catalog, remotes).find((group) => group["name"] === name);
  return found && { kind: "APIGroup", apiVersion: "v1", ...found };
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
  readonly #remotes: RemoteGroups;
  #generation = "";
  #made = new Map<string, { readonly value: JsonObject; readonly bytes: Uint8Array; readonly tag: string }>();

  constructor(catalogOf: () => Catalog, remotes: RemoteGroups) {
    this.#catalogOf = catalogOf;
    this.#remotes = remotes;
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
    const generation = `${catalog.generation} ${this.#remotes.generation}`;
    if (this.#generation !== generation) {
      this.#generation = generation;
      this.#made = new Map();
    }
    const known = this.#made.get(root);
    if (known !== undefined) return known;
    const value = apiGroupDiscoveryList(
      root === "api" ? catalog.groups.filter((group) => !isNamed(group)).map(coreBody) : this.#groups(catalog),
    );
    const bytes = Buffer.from(printJson(value));
    const tag = `"${createHash("sha512").update(bytes).digest("hex").toUpperCase()}"`;
    const made = { value, bytes, tag };
    this.#made.set(root, made);
    return made;
  }

  #groups(catalog: Catalog): JsonObject[] {
    return mergedGroups(catalog, this.#remotes, {
      local: (_group, version) => versionBody(version),
      remote: remoteVersionBody,
    }).map(({ name, versions }) => ({ metadata: { name }, versions }));
  }
}

/** All groups with all their resources in one document: what new clients ask for. */
function apiGroupDiscoveryList(items: readonly JsonObject[]): JsonObject {
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
}

function coreBody({ versions }: ApiGroup): JsonObject {
  return { metadata: {}, versions: versions.map(versionBody) };
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
function apiGroupList(groups: readonly JsonObject[]): JsonObject {
  return { kind: "APIGroupList", apiVersion: "v1", groups };
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
