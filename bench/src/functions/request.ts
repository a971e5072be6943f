// SPDX-License-Identifier: Apache-2.0
import {
  allCapabilities,
  create,
  type JsonObject,
  RequestMeta,
  Resource,
  RunFunctionRequest,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { Workload } from "./workload.ts";

/** The tag of every request of the benchmarks: as long as a real one. */
export const tag: string = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/** The request a runner sends for a workload. Encodes every object. */
export function toRequest({ composite, observed, desired }: Workload): RunFunctionRequest {
  return create(RunFunctionRequest, {
    meta: create(RequestMeta, { tag, capabilities: [...allCapabilities] }),
    observed: create(State, { composite: toResource(composite), resources: toResources(observed) }),
    desired: create(State, { resources: toResources(desired) }),
    context: Struct.from({ "apiextensions.crossplane.io/environment": { region: "eu-central-1" } }),
  });
}

function toResources(objects: Readonly<Record<string, JsonObject>>): Map<string, Resource> {
  const resources = new Map<string, Resource>();
  for (const name in objects) resources.set(name, toResource(objects[name] as JsonObject));
  return resources;
}

function toResource(object: JsonObject): Resource {
  return create(Resource, { resource: Struct.from(object) });
}

/** The same request as plain JSON, for JSON.stringify and JSON.parse. */
export function toPlainJson({ composite, observed, desired }: Workload): JsonObject {
  return {
    meta: { tag, capabilities: [...allCapabilities] },
    observed: { composite: { resource: composite }, resources: wrapped(observed) },
    desired: { resources: wrapped(desired) },
    context: { "apiextensions.crossplane.io/environment": { region: "eu-central-1" } },
  };
}

function wrapped(objects: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(Object.entries(objects).map(([name, resource]) => [name, { resource }]));
}

/** Shows every Struct of a request to a visitor, at next to no cost of its own. */
export function visitStructs(
  { observed, desired, context }: RunFunctionRequest,
  visit: (struct: Struct) => void,
): void {
  if (observed?.composite?.resource) visit(observed.composite.resource);
  for (const state of [observed, desired]) {
    for (const { resource } of state?.resources.values() ?? []) if (resource !== undefined) visit(resource);
  }
  if (context !== undefined) visit(context);
}

/** The resources of a request beside the objects they were made from. */
export function contentsOf(
  { observed, desired }: RunFunctionRequest,
  workload: Workload,
): { readonly resource: Resource; readonly object: JsonObject }[] {
  const pair = (resource: Resource | undefined, object: JsonObject) => {
    if (resource === undefined) throw new Error("the request lacks a resource of its workload");
    return { resource, object };
  };
  return [
    pair(observed?.composite, workload.composite),
    ...Object.entries(workload.observed).map(([name, object]) => pair(observed?.resources.get(name), object)),
    ...Object.entries(workload.desired).map(([name, object]) => pair(desired?.resources.get(name), object)),
  ];
}
