// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";
import type { ApiGroup, ApiGroupVersion } from "../registry/registry.ts";
import type { ResourceType, Subresource } from "../registry/resource-type.ts";

/** All groups with all their resources in one document: what new clients ask for. */
export function apiGroupDiscoveryList(groups: readonly ApiGroup[]): JsonObject {
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
