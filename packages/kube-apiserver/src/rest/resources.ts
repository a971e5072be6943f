// SPDX-License-Identifier: Apache-2.0
import { methodNotSupported } from "@purlin/kube-objects";
import type { ResourceAccess } from "../auth/authorizer.ts";
import { hasSubresource, type ResourceType } from "../registry/resource-type.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { ApiResponse } from "../request/api-response.ts";
import { createObject } from "./create.ts";
import { deleteObject } from "./delete.ts";
import { deleteCollection } from "./delete-collection.ts";
import { getObject } from "./get.ts";
import { listObjects } from "./list.ts";
import type { Endpoint } from "./object-strategy.ts";
import { patchObject } from "./patch.ts";
import type { RestRequest, RestServices } from "./rest-context.ts";
import { updateObject } from "./update.ts";
import { type OpenWatches, watchObjects } from "./watch.ts";

/** Answers requests for one resource or subresource in a way of its own; undefined: not mine. */
export type SpecialResource = (rest: RestRequest) => Promise<ApiResponse> | undefined;

export interface ResourcesOptions {
  readonly services: RestServices;
  readonly watches: OpenWatches;
  /** Asked in turn before anything else. */
  readonly special: readonly SpecialResource[];
}

/** Answers every request for a resource; undefined when nothing like it is served. */
export function createResources(
  options: ResourcesOptions,
): (request: ApiRequest, target: ResourceAccess) => Promise<ApiResponse | undefined> {
  const { services, special } = options;
  return async (request, target) => {
    const type = services.catalog().find(target.group, target.version, target.resource);
    if (type === undefined || !isInScope(type, target) || !hasTarget(type, target)) {
      return undefined;
    }
    requireVerb(type, target);
    const rest: RestRequest = { ...services, request, target, type, strategy: services.strategyOf(type) };
    for (const answer of special) {
      const response = answer(rest);
      if (response !== undefined) {
        return response;
      }
    }
    return dispatch(rest, options.watches);
  };
}

/** Objects of the cluster are not in a namespace; objects in namespaces are listed and watched across them, and nothing else. */
function isInScope({ namespaced, custom, resource }: ResourceType, { namespace, verb }: ResourceAccess): boolean {
  if (!namespaced) {
    return namespace === "" || resource === "namespaces";
  }
  return namespace !== "" || verb === "list" || verb === "watch" || !custom;
}

function hasTarget(type: ResourceType, { subresource }: ResourceAccess): boolean {
  return subresource === "" || hasSubresource(type, subresource);
}

function requireVerb(type: ResourceType, { verb, subresource, namespace }: ResourceAccess): void {
  const { verbs } = type.subresources.find(({ name }) => name === subresource) ?? type;
  const isAcross = type.namespaced && namespace === "" && verb !== "list" && verb !== "watch";
  if (!verbs.includes(verb) || isAcross) {
    throw methodNotSupported(type, verb);
  }
}

function dispatch(rest: RestRequest, watches: OpenWatches): Promise<ApiResponse> {
  const { verb, subresource } = rest.target;
  const endpoint = subresource as Endpoint;
  switch (verb) {
    case "get":
      return getObject(rest);
    case "list":
      return listObjects(rest);
    case "watch":
      return watchObjects(rest, watches);
    case "create":
      return createObject(rest);
    case "update":
      return updateObject(rest, endpoint);
    case "patch":
      return patchObject(rest, endpoint);
    case "delete":
      return deleteObject(rest);
    case "deletecollection":
      return deleteCollection(rest);
    default:
      throw methodNotSupported(rest.type, verb);
  }
}
