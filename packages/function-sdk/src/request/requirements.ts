// SPDX-License-Identifier: Apache-2.0
import {
  Capability,
  type JsonObject,
  type Resource,
  type Resources,
  type RunFunctionRequest,
} from "@purlin/function-protocol";
import { ComposedObject } from "../resource/convert.ts";
import { WATCHED_RESOURCE } from "../resource/well-known.ts";

/** An object the control plane looked up for the function. */
export interface RequiredResource {
  readonly resource: ComposedObject;
  /** The same as `resource.object`: the JSON, frozen. */
  readonly object: JsonObject;
}

/** The outcome of a request for resources: not looked up yet, or what was found, which may be nothing. */
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
 * The resources of a name; empty while they are pending and when nothing matched, which lookupRequiredResources distinguishes
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

/** The outcome for the resources of a name. */
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

/** What a function can know about a capability of the control plane that calls it. */
export type CapabilitySupport = "supported" | "unsupported" | "unknown";

/** True when the control plane says that it supports a capability. False also for one too old to say. */
export function hasCapability(req: RunFunctionRequest, capability: Capability): boolean {
  return req.meta?.capabilities.includes(capability) ?? false;
}

/** True when the control plane lists what it supports, so that a capability it does not list is one it lacks. */
export function advertisesCapabilities(req: RunFunctionRequest): boolean {
  return hasCapability(req, Capability.CAPABILITY_CAPABILITIES);
}

/**
 * `supported` when listed, `unsupported` when the list is complete and lacks it, `unknown` when the control plane
 * predates such lists: the feature may work there.
 */
export function capabilitySupport(req: RunFunctionRequest, capability: Capability): CapabilitySupport {
  if (hasCapability(req, capability)) return "supported";
  return advertisesCapabilities(req) ? "unsupported" : "unknown";
}

/** The outcome of a request for a schema: not requested yet, requested but there is no such kind, or the schema. */
export type SchemaLookup =
  | { readonly state: "pending" }
  | { readonly state: "absent" }
  | { readonly state: "found"; readonly schema: JsonObject };

/** The schema of a name. Undefined while it is pending and when there is no such kind; lookupRequiredSchema distinguishes these. */
export function getRequiredSchema(req: RunFunctionRequest, name: string): JsonObject | undefined {
  return req.requiredSchemas.get(name)?.openapiV3?.value;
}

/** The outcome for the schema of a name. An empty schema is found: it accepts anything. */
export function lookupRequiredSchema(req: RunFunctionRequest, name: string): SchemaLookup {
  const answer = req.requiredSchemas.get(name);
  if (answer === undefined) return { state: "pending" };
  return answer.openapiV3 === undefined ? { state: "absent" } : { state: "found", schema: answer.openapiV3.value };
}

/** All names that were looked up; undefined when there is no such kind. */
export function allRequiredSchemas(req: RunFunctionRequest): Map<string, JsonObject | undefined> {
  return new Map([...req.requiredSchemas].map(([name, answer]) => [name, answer.openapiV3?.value]));
}
