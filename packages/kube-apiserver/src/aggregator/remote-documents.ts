// SPDX-License-Identifier: Apache-2.0
// What other servers say about the APIs that they serve: discovery and OpenAPI.
import { countJsonValues, isJsonObject, type JsonObject, parseJson } from "@purlin/kube-objects/json";
import { memberAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { aggregatorUser, type RemoteApi } from "./api-service.ts";
import { type BackendAnswer, type Backends, userHeaders } from "./backends.ts";

/** The documents of one group version. A document that the server does not have, or has in a wrong form, is undefined. */
export interface RemoteDocuments {
  /** Its resources, as aggregated discovery lists them. */
  readonly resources: readonly JsonObject[] | undefined;
  /** The address of its OpenAPI v3 document. */
  readonly v3Address: string | undefined;
  /** Its OpenAPI v2 document. */
  readonly v2: JsonObject | undefined;
}

/** Nothing is known yet. */
export const noDocuments: RemoteDocuments = { resources: undefined, v3Address: undefined, v2: undefined };

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const aggregatedForm = /^application\/json;g=apidiscovery\.k8s\.io;v=v2(?:beta1)?;as=APIGroupDiscoveryList/;
const readMs = 5_000;
/** A document with more is refused: reading it would hold the event loop. */
const maxDocumentValues = 100_000;

type Read = (path: string, accept: string) => Promise<BackendAnswer>;

/** Reads all documents of a group version. Never rejects: a server may have some of them only. */
export async function readDocuments(
  remote: RemoteApi,
  backends: Backends,
  signal: AbortSignal,
): Promise<RemoteDocuments> {
  const read: Read = (path, accept) =>
    backends.read(remote, {
      path,
      headers: { accept, "user-agent": "kube-apiserver", ...userHeaders(aggregatorUser) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(readMs)]),
    });
  const [resources, v3Address, v2] = await Promise.all([
    resourcesOf(remote, read).catch(nothing),
    v3AddressOf(remote, read).catch(nothing),
    v2Of(read).catch(nothing),
  ]);
  return { resources, v3Address, v2 };
}

const nothing = (): undefined => undefined;

function documentOf({ code, body }: BackendAnswer): JsonObject | undefined {
  const text = code === 200 ? body.toString() : "";
  if (text === "" || countJsonValues(text) > maxDocumentValues) return undefined;
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

async function resourcesOf(remote: RemoteApi, read: Read): Promise<readonly JsonObject[] | undefined> {
  const beta = aggregatedType.replace("v=v2;", "v=v2beta1;");
  const all = await read("/apis", `${aggregatedType},${beta}`).catch(nothing);
  const document = all !== undefined && aggregatedForm.test(all.contentType) ? documentOf(all) : undefined;
  if (document !== undefined) {
    const group = objectsAt(document, ["items"]).find((one) => stringAt(one, ["metadata", "name"]) === remote.group);
    const version = objectsAt(group ?? {}, ["versions"]).find((one) => one["version"] === remote.version);
    if (version !== undefined) return objectsAt(version, ["resources"]);
  }
  const list = documentOf(await read(`/apis/${remote.group}/${remote.version}`, "application/json"));
  return list && listedResources(objectsAt(list, ["resources"]));
}

/** The rows of an APIResourceList as aggregated discovery has them: subresources within their resource. Of equal names the first counts. */
function listedResources(rows: readonly JsonObject[]): JsonObject[] {
  const byName = new Map(rows.toReversed().map((row) => [stringAt(row, ["name"]), row] as const));
  const named = [...byName].reverse().filter(([name]) => name !== "");
  const subresources = Map.groupBy(
    named.filter(([name]) => name.includes("/")),
    ([name]) => name.split("/", 1)[0] ?? "",
  );
  return named
    .filter(([name]) => !name.includes("/"))
    .map(([name, row]) => {
      const own = (subresources.get(name) ?? []).map(([, one]) => subresourceOf(one));
      return {
        resource: name,
        responseKind: kindOf(row),
        scope: row["namespaced"] === true ? "Namespaced" : "Cluster",
        singularResource: stringAt(row, ["singularName"]),
        verbs: textsAt(row, ["verbs"]),
        ...someOf(row, "shortNames"),
        ...someOf(row, "categories"),
        ...(own.length === 0 ? {} : { subresources: own }),
      };
    });
}

function subresourceOf(row: JsonObject): JsonObject {
  const [, ...rest] = stringAt(row, ["name"]).split("/");
  return { subresource: rest.join("/"), responseKind: kindOf(row), verbs: textsAt(row, ["verbs"]) };
}

function kindOf(row: JsonObject): JsonObject {
  return { group: stringAt(row, ["group"]), version: stringAt(row, ["version"]), kind: stringAt(row, ["kind"]) };
}

function someOf(row: JsonObject, field: string): JsonObject {
  const texts = textsAt(row, [field]);
  return texts.length === 0 ? {} : { [field]: texts };
}

async function v3AddressOf({ group, version }: RemoteApi, read: Read): Promise<string | undefined> {
  const index = documentOf(await read("/openapi/v3", "application/json"));
  const address = memberAt(index ?? {}, ["paths", `apis/${group}/${version}`, "serverRelativeURL"]);
  return typeof address === "string" && address.startsWith("/openapi/v3/") ? address : undefined;
}

async function v2Of(read: Read): Promise<JsonObject | undefined> {
  const document = documentOf(await read("/openapi/v2", "application/json"));
  return document !== undefined && isJsonObject(document["paths"]) ? document : undefined;
}

/** A group version of another server, as clients may see it. */
export interface RemoteVersion {
  readonly remote: RemoteApi;
  readonly isAvailable: boolean;
  readonly documents: RemoteDocuments;
}

/** A group of this server with what a document says about each of its versions. */
interface LocalGroup<T> {
  readonly name: string;
  readonly priority: number;
  readonly versions: readonly { readonly version: string; readonly priority: number; readonly entry: T }[];
}

/** A group with what a document says about each version. */
interface MergedGroup<T> {
  readonly name: string;
  readonly versions: readonly T[];
}

/** All groups, those of a higher priority first. A version that another server serves replaces one of this server. */
export function mergeGroups<T>(
  local: readonly LocalGroup<T>[],
  remotes: readonly RemoteVersion[],
  entryOf: (version: RemoteVersion) => T,
): MergedGroup<T>[] {
  const groups = new Map(local.map((group) => [group.name, group]));
  for (const version of remotes) {
    const { group: name, groupPriority, version: own, versionPriority } = version.remote;
    const known = groups.get(name);
    const others = (known?.versions ?? []).filter((one) => one.version !== own);
    const entry = { version: own, priority: versionPriority, entry: entryOf(version) };
    const before = others.filter(({ priority }) => priority >= versionPriority);
    const versions = [...before, entry, ...others.filter((one) => !before.includes(one))];
    groups.set(name, { name, priority: Math.max(known?.priority ?? 0, groupPriority), versions });
  }
  const sorted = remotes.length === 0 ? [...groups.values()] : [...groups.values()].sort(byPriority);
  return sorted.map(({ name, versions }) => ({ name, versions: versions.map(({ entry }) => entry) }));
}

function byPriority(a: LocalGroup<unknown>, b: LocalGroup<unknown>): number {
  return b.priority - a.priority || (a.name < b.name ? -1 : 1);
}

/** A version in aggregated discovery. What an unavailable server served before is not listed. */
export function remoteVersionBody({ remote, isAvailable, documents }: RemoteVersion): JsonObject {
  const { version } = remote;
  if (!isAvailable || documents.resources === undefined) return { version, freshness: "Stale" };
  return { version, resources: documents.resources, freshness: "Current" };
}
