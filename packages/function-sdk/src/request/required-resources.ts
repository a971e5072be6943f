// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, Resource, Resources, RunFunctionRequest } from "@purlin/function-protocol";
import { ComposedObject } from "../resource/composed-object.ts";
import { WATCHED_RESOURCE } from "../resource/well-known.ts";

/** An object the control plane looked up for the function. */
export interface RequiredResource {
  readonly resource: ComposedObject;
  /** The same as `resource.object`: the JSON, frozen. */
  readonly object: JsonObject;
}

/** What became of a request for resources: not looked up yet, or what was found, which may be nothing. */
export type ResourcesLookup =
  | { readonly resolved: false }
  | { readonly resolved: true; readonly items: RequiredResource[] };

class RequiredItem implements RequiredResource {
  readonly resource: ComposedObject;

  constructor(message: Resource) {
    this.resource = new ComposedObject(message.resource);
  }

  get object(): JsonObject {
    return this.resource.object;
  }
}

/**
 * The resources of a name; empty while they are pending and when nothing matched, which lookupRequiredResources tells
 * apart. Without a name, all of them.
 */
export function getRequiredResources(req: RunFunctionRequest, name: string): RequiredResource[];
export function getRequiredResources(req: RunFunctionRequest): Map<string, RequiredResource[]>;
export function getRequiredResources(
  req: RunFunctionRequest,
  name?: string,
): RequiredResource[] | Map<string, RequiredResource[]> {
  return name === undefined ? allRequiredResources(req) : itemsOf(req.requiredResources.get(name));
}

/** The first resource of a name. */
export function getRequiredResource(req: RunFunctionRequest, name: string): RequiredResource | undefined {
  return itemsOf(req.requiredResources.get(name))[0];
}

/** What became of the resources of a name. */
export function lookupRequiredResources(req: RunFunctionRequest, name: string): ResourcesLookup {
  const answer = req.requiredResources.get(name);
  return answer === undefined ? { resolved: false } : { resolved: true, items: itemsOf(answer) };
}

/** All names that were looked up, each with what was found. */
export function allRequiredResources(req: RunFunctionRequest): Map<string, RequiredResource[]> {
  return allOf(req.requiredResources);
}

/** As {@link allRequiredResources}, for releases before 2.0. @deprecated Use required resources. */
export function allExtraResources(req: RunFunctionRequest): Map<string, RequiredResource[]> {
  return allOf(req.extraResources);
}

/** The object that triggered a WatchOperation. */
export function getWatchedResource(req: RunFunctionRequest): RequiredResource | undefined {
  return getRequiredResource(req, WATCHED_RESOURCE);
}

function allOf(answers: ReadonlyMap<string, Resources>): Map<string, RequiredResource[]> {
  return new Map([...answers].map(([name, answer]) => [name, itemsOf(answer)]));
}

function itemsOf(answer: Resources | undefined): RequiredResource[] {
  return answer?.items.map((item) => new RequiredItem(item)) ?? [];
}
