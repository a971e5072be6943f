// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects";
import type { Catalog } from "../registry/registry.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import { createNegotiation, type Negotiated } from "../request/negotiate.ts";
import { documentPayload, encodedPayload } from "../request/payload.ts";
import { apiGroupDiscoveryList } from "./aggregated.ts";
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from "./classic.ts";

const AGGREGATED = { as: "APIGroupDiscoveryList", group: "apidiscovery.k8s.io", version: "v2" };
const AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const negotiateRoots = createNegotiation(
  ({ as, group, version }, mediaType) =>
    as === AGGREGATED.as &&
    group === AGGREGATED.group &&
    version === AGGREGATED.version &&
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
    if (root !== "api" && root !== "apis") {
      return undefined;
    }
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
  if (group === undefined || name === "" || rest.length > 0) {
    return undefined;
  }
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
    if (request.headers["if-none-match"] === tag) {
      return { kind: "complete", code: 304, headers };
    }
    const payload = encodedPayload(
      () => [bytes],
      () => value,
    );
    return { kind: "complete", code: 200, headers, payload: { ...payload, contentType: AGGREGATED_TYPE } };
  }

  #document(root: "api" | "apis"): { readonly value: JsonObject; readonly bytes: Uint8Array; readonly tag: string } {
    const catalog = this.#catalogOf();
    if (this.#generation !== catalog.generation) {
      this.#generation = catalog.generation;
      this.#made = new Map();
    }
    const known = this.#made.get(root);
    if (known !== undefined) {
      return known;
    }
    const value = apiGroupDiscoveryList(catalog.groups.filter((group) => isNamed(group) === (root === "apis")));
    const bytes = Buffer.from(printJson(value));
    const tag = `"${createHash("sha512").update(bytes).digest("hex").toUpperCase()}"`;
    const made = { value, bytes, tag };
    this.#made.set(root, made);
    return made;
  }
}
