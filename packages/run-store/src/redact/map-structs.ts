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

/** A copy of a request with other objects. Everything else stays, unknown fields included. */
export function mapRequest(request: RunFunctionRequest, change: StructChange): RunFunctionRequest {
  const { input, context, requiredSchemas } = request;
  return {
    ...request,
    observed: mapState(request.observed, change),
    desired: mapState(request.desired, change),
    input: input && change(input, "input"),
    context: context && change(context, "context"),
    extraResources: mapRequired(request.extraResources, change),
    requiredResources: mapRequired(request.requiredResources, change),
    requiredSchemas: mapValues(requiredSchemas, (schema) =>
      schema.openapiV3 === undefined ? schema : { ...schema, openapiV3: change(schema.openapiV3, "schema") },
    ),
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
  const { composite, resources } = state;
  return {
    ...state,
    composite: composite && mapResource(composite, change, "composite"),
    resources: mapValues(resources, (one) => mapResource(one, change, "resource")),
  };
}

function mapRequired(required: ReadonlyMap<string, Resources>, change: StructChange): Map<string, Resources> {
  return mapValues(required, (one) => ({
    ...one,
    items: one.items.map((item) => mapResource(item, change, "resource")),
  }));
}

function mapResource(resource: Resource, change: StructChange, place: StructPlace): Resource {
  return resource.resource === undefined ? resource : { ...resource, resource: change(resource.resource, place) };
}

export function mapValues<T, U>(map: ReadonlyMap<string, T>, change: (value: T) => U): Map<string, U> {
  const changed = new Map<string, U>();
  for (const [key, value] of map) changed.set(key, change(value));
  return changed;
}
