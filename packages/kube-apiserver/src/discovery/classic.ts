// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { formatApiVersion, type JsonObject } from "@purlin/kube-objects";
import type { ApiGroup, ApiGroupVersion } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";

/** The answer to `/api`. */
export function apiVersions(serverAddress: string): JsonObject {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** The answer to `/apis`. */
export function apiGroupList(groups: readonly ApiGroup[]): JsonObject {
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupBody) };
}

/** The answer to `/apis/<group>`. */
export function apiGroup(group: ApiGroup): JsonObject {
  return { kind: "APIGroup", apiVersion: "v1", ...groupBody(group) };
}

/** The answer to `/api/v1` and `/apis/<group>/<version>`. */
export function apiResourceList(group: string, { version, resources }: ApiGroupVersion): JsonObject {
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
  const isStored = verbs.includes("list");
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
    ...(other === undefined ? { kind } : { group: other.group, version: other.version, kind: other.kind }),
    verbs: own,
  }));
  return [main, ...rest];
}

function storageVersionHash({ storage, kind }: ResourceType): string {
  const text = `${storage.group}/${storage.version}/${kind}`;
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}
