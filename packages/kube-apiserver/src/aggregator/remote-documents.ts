// SPDX-License-Identifier: Apache-2.0
// What other servers say about the APIs that they serve: discovery and OpenAPI.
import { isJsonObject, type JsonObject, parseJson } from "@purlin/kube-objects/json";
import { memberAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import type { RemoteApi } from "./api-service.ts";
import { aggregatorUser } from "./availability.ts";
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
  const value = code === 200 ? parseJson(body.toString()) : undefined;
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

/** The rows of an APIResourceList as aggregated discovery has them: subresources within their resource. */
function listedResources(rows: readonly JsonObject[]): JsonObject[] {
  const names = rows.map((row) => stringAt(row, ["name"]));
  const subresources = Map.groupBy(rows, (row) => stringAt(row, ["name"]).split("/", 1)[0] ?? "");
  return rows.flatMap((row, index) => {
    const name = names[index] ?? "";
    if (name === "" || name.includes("/")) return [];
    const own = (subresources.get(name) ?? []).filter((one) => one !== row).map(subresourceOf);
    return [
      {
        resource: name,
        responseKind: kindOf(row),
        scope: row["namespaced"] === true ? "Namespaced" : "Cluster",
        singularResource: stringAt(row, ["singularName"]),
        verbs: textsAt(row, ["verbs"]),
        ...someOf(row, "shortNames"),
        ...someOf(row, "categories"),
        ...(own.length === 0 ? {} : { subresources: own }),
      },
    ];
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
