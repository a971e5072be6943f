// SPDX-License-Identifier: Apache-2.0

import type {
  Resource,
  Resources,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";

/** Which part of a message an object is. */
export type StructPlace = "composite" | "resource" | "input" | "context" | "output" | "schema";

/** Changes one object of a message. */
export type StructChange = (struct: Struct, place: StructPlace) => Struct;

/** A copy of a request with other objects. Everything else stays, unknown fields included. Parts without another object are not copied. */
export function mapRequest(request: RunFunctionRequest, change: StructChange): RunFunctionRequest {
  const { input, context } = request;
  return {
    ...request,
    observed: mapState(request.observed, change),
    desired: mapState(request.desired, change),
    input: input && change(input, "input"),
    context: context && change(context, "context"),
    extraResources: mapRequired(request.extraResources, change),
    requiredResources: mapRequired(request.requiredResources, change),
    requiredSchemas: mapValues(request.requiredSchemas, (schema) => {
      const openapiV3 = schema.openapiV3 && change(schema.openapiV3, "schema");
      return openapiV3 === schema.openapiV3 ? schema : { ...schema, openapiV3 };
    }),
  };
}

/** As {@link mapRequest}, for a response. */
export function mapResponse(response: RunFunctionResponse, change: StructChange): RunFunctionResponse {
  const { context, output } = response;
  return {
    ...response,
    desired: mapState(response.desired, change),
    context: context && change(context, "context"),
    output: output && change(output, "output"),
  };
}

function mapState(state: State | undefined, change: StructChange): State | undefined {
  if (state === undefined) return undefined;
  const composite = state.composite && mapResource(state.composite, change, "composite");
  const resources = mapValues(state.resources, (one) => mapResource(one, change, "resource"));
  return composite === state.composite && resources === state.resources ? state : { ...state, composite, resources };
}

function mapRequired(required: Map<string, Resources>, change: StructChange): Map<string, Resources> {
  return mapValues(required, (one) => {
    const items = one.items.map((item) => mapResource(item, change, "resource"));
    return items.every((item, index) => item === one.items[index]) ? one : { ...one, items };
  });
}

function mapResource(resource: Resource, change: StructChange, place: StructPlace): Resource {
  const changed = resource.resource && change(resource.resource, place);
  return changed === resource.resource ? resource : { ...resource, resource: changed };
}

/** A copy of a map with other values, in the same order; the map itself when no value is another one. */
export function mapValues<T>(map: Map<string, T>, change: (value: T) => T): Map<string, T> {
  if (map.size === 0) return map;
  const changed = new Map<string, T>();
  let isChanged = false;
  for (const [key, value] of map) {
    const next = change(value);
    isChanged ||= next !== value;
    changed.set(key, next);
  }
  return isChanged ? changed : map;
}

/** Called with each object of a message. */
export type StructVisit = (struct: Struct, place: StructPlace) => void;

/** Visits all objects of a request, without a copy. */
export function visitRequest(request: RunFunctionRequest, visit: StructVisit): void {
  const { observed, desired, input, context, extraResources, requiredResources, requiredSchemas } = request;
  visitState(observed, visit);
  visitState(desired, visit);
  if (input !== undefined) visit(input, "input");
  if (context !== undefined) visit(context, "context");
  for (const required of [extraResources, requiredResources]) {
    for (const { items } of required.values())
      for (const { resource } of items) if (resource !== undefined) visit(resource, "resource");
  }
  for (const { openapiV3 } of requiredSchemas.values()) if (openapiV3 !== undefined) visit(openapiV3, "schema");
}

/** As {@link visitRequest}, for a response. */
export function visitResponse({ desired, context, output }: RunFunctionResponse, visit: StructVisit): void {
  visitState(desired, visit);
  if (context !== undefined) visit(context, "context");
  if (output !== undefined) visit(output, "output");
}

function visitState(state: State | undefined, visit: StructVisit): void {
  if (state?.composite?.resource !== undefined) visit(state.composite.resource, "composite");
  for (const { resource } of state?.resources.values() ?? []) if (resource !== undefined) visit(resource, "resource");
}
