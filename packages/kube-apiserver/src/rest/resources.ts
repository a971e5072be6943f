// SPDX-License-Identifier: Apache-2.0
import { badRequest, methodNotSupported, notFound, StatusError, unclassifiedError } from "@purlin/kube-objects/errors";
import type { ResourceAccess } from "../auth/authorizer.ts";
import { hasSubresource, objectKey, type ResourceType } from "../registry/registry.ts";
import type { ApiRequest, ApiResponse, CompleteResponse } from "../request/api-request.ts";
import {
  errorResponse,
  isUnexpected,
  listTypes,
  methodNotAllowed,
  noSuchResource,
  requireProducible,
  unsupportedPatchType,
} from "../request/negotiate.ts";
import { watchedName } from "../request/request-target.ts";
import type { Endpoint } from "../strategy/object-strategy.ts";
import { createObject } from "./create.ts";
import { deleteCollection, deleteObject } from "./delete.ts";
import { listObjects } from "./list.ts";
import { badVersionText, parseResourceVersion, waitForRevision } from "./list-options.ts";
import { convertedEntry } from "./object-codec.ts";
import { entryResponse, negotiateForm } from "./object-response.ts";
import type { RestRequest, RestServices } from "./rest-context.ts";
import { patchObject, updateObject } from "./update.ts";
import { type OpenWatches, watchObjects } from "./watch.ts";

const noContainers = "this API server runs no containers";

/** 501 for a subresource that other clusters serve; 404 for one of an object that does not exist; else undefined. */
function unservedSubresource(
  type: ResourceType,
  { name, namespace, subresource }: ResourceAccess,
  { store }: Pick<RestServices, "store">,
): StatusError | undefined {
  const [first = ""] = subresource.split("/");
  const action = type.unserved && Object.hasOwn(type.unserved, first) ? type.unserved[first] : undefined;
  if (action === undefined) return undefined;
  if (store.get(objectKey(type, namespace, name)) === undefined) return notFound(type, name);
  const message = `cannot ${action} ${type.kind.toLowerCase()} "${name}": ${noContainers}`;
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: "NotImplemented",
    details: { name, kind: `${type.resource}/${first}` },
    code: 501,
  });
}

/** Answers requests for one resource or subresource in a way of its own; undefined: not mine. */
export type SpecialResource = (rest: RestRequest) => Promise<ApiResponse> | undefined;

interface ResourcesOptions {
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
    if (type === undefined || !isInScope(type, target) || target.name.includes("/")) return undefined;
    if (target.subresource !== "" && !hasSubresource(type, target.subresource)) {
      throw missingSubresource(type, target, services);
    }
    requireMethod(type, request, target);
    requireForm(type, request, target);
    const strategy = services.strategyOf(type);
    const rest: RestRequest = {
      ...services,
      request,
      target,
      type,
      strategy,
      notes: [...(strategy.validator.requestWarnings?.() ?? [])],
    };
    return withNotes(rest, () => specialAnswer(special, rest) ?? dispatch(rest, options.watches));
  };
}

function missingSubresource(type: ResourceType, target: ResourceAccess, services: RestServices): StatusError {
  if (type.custom) return notFound(type, target.name);
  return unservedSubresource(type, target, services) ?? noSuchResource();
}

/** The answer with the warnings and audit annotations of the request, also when it failed. */
async function withNotes(rest: RestRequest, answer: () => Promise<ApiResponse>): Promise<ApiResponse> {
  try {
    const response = await answer();
    const warnings = [...rest.notes, ...(response.warnings ?? [])];
    return warnings.length === 0 ? response : { ...response, warnings };
  } catch (error) {
    if (rest.notes.length === 0 || isUnexpected(error)) throw error;
    return { ...errorResponse(error, rest.request), warnings: rest.notes };
  }
}

function specialAnswer(special: readonly SpecialResource[], rest: RestRequest): Promise<ApiResponse> | undefined {
  for (const answer of special) {
    const response = answer(rest);
    if (response !== undefined) return response;
  }
  return undefined;
}

/** Objects of the cluster are not in a namespace; one object in a namespace is not found across them. */
function isInScope({ namespaced, custom, resource }: ResourceType, { namespace, verb, name }: ResourceAccess): boolean {
  if (!namespaced) return namespace === "" || (resource === "namespaces" && name === namespace);
  const isAcross = namespace === "" && verb !== "list" && verb !== "watch";
  return !isAcross || (!custom && name === "");
}

/** Which methods a path of a resource has. */
function requireMethod(type: ResourceType, request: ApiRequest, target: ResourceAccess): void {
  const { verb, subresource, namespace, name } = target;
  const { verbs } = type.subresources.find((one) => one.name === subresource) ?? type;
  const isCollection = name === "" || verb === "list" || verb === "watch" || verb === "deletecollection";
  if (type.custom) {
    if (isCollection && (verb === "update" || verb === "patch")) throw badRequest("name must be provided");
    // While its kind is being deleted an object can be changed, although discovery does not list it; a create is refused with its name.
    if (!verbs.includes(verb) && subresource !== "") throw methodNotSupported(type, verb);
    return;
  }
  if (name !== "" && !type.verbs.includes("get")) throw noSuchResource();
  requireWatchPath(type, request, target);
  const isAcross = type.namespaced && namespace === "" && verb !== "list" && verb !== "watch";
  const isMisplaced = isCollection ? verb === "update" || verb === "patch" : verb === "create" && subresource === "";
  if (!verbs.includes(verb) || isAcross || isMisplaced || request.method === "HEAD") throw methodNotAllowed();
}

/** Paths with `/watch/` exist for what can be watched: collections, and objects where they live. They are only read. */
function requireWatchPath(type: ResourceType, request: ApiRequest, { namespace, subresource }: ResourceAccess): void {
  const name = watchedName(request.path);
  if (name === undefined) return;
  const isMisplaced = name !== "" && type.namespaced && namespace === "";
  if (!type.verbs.includes("watch") || subresource !== "" || isMisplaced) throw noSuchResource();
  if (request.method !== "GET") throw methodNotAllowed();
}

const patchType = /^application\/((json|merge|strategic-merge)-patch\+json|apply-patch\+yaml)($|;)/;

/** Built-in resources know what they take and give before they look at what is asked for. */
function requireForm({ custom }: ResourceType, { headers }: ApiRequest, { verb }: ResourceAccess): void {
  if (custom) return;
  if (verb === "patch" && !patchType.test(headers["content-type"] ?? "")) throw unsupportedPatchType();
  requireProducible(headers["accept"], verb === "list" || verb === "watch" ? { types: listTypes } : {});
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

/** Answers with one object as it is now, or as it will be when the store has reached the resourceVersion asked for. */
async function getObject(rest: RestRequest): Promise<CompleteResponse> {
  const { request, target, type, store } = rest;
  const form = negotiateForm(request);
  const asked = request.query.get("resourceVersion") ?? "";
  const revision = parseResourceVersion(asked);
  if (revision === undefined) throw unclassifiedError(badVersionText(asked));
  if (revision > store.revision) await waitForRevision(store, revision, request.signal);
  const entry = store.get(objectKey(type, target.namespace, target.name));
  if (entry === undefined) throw notFound(type, target.name);
  return entryResponse(rest, await convertedEntry(rest.strategy, entry), form);
}
