// SPDX-License-Identifier: Apache-2.0
import type {
  Duration,
  Resource,
  ResponseMeta,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
} from "@purlin/function-protocol";
import { DEFAULT_TTL, type Ttl, toDuration } from "./ttl.ts";

/** Options of {@link to}. */
export interface ToOptions {
  /** How long the response may be reused. Default one minute; null leaves it unsaid. */
  readonly ttl?: Ttl | undefined;
}

/**
 * The response to start from: the request's tag, everything earlier steps want, and their context. Nothing done to it
 * shows in the request. Objects are shared, not copied, because they cannot be changed, only replaced.
 */
export function to(req: RunFunctionRequest, { ttl = DEFAULT_TTL }: ToOptions = {}): RunFunctionResponse {
  return responseTo(req, toDuration(ttl));
}

/** As {@link to}, with the TTL already in the form in which it travels. */
export function responseTo(req: RunFunctionRequest, ttl: Duration | undefined): RunFunctionResponse {
  const meta: ResponseMeta = { tag: req.meta?.tag ?? "", ttl: ttl && { ...ttl }, $unknown: undefined };
  return {
    meta,
    desired: copyState(req.desired),
    results: [],
    context: req.context,
    requirements: undefined,
    conditions: [],
    output: undefined,
    $unknown: undefined,
  };
}

function copyState(state: State | undefined): State {
  const resources = new Map<string, Resource>();
  if (state === undefined) return { composite: undefined, resources, $unknown: undefined };
  for (const [name, resource] of state.resources) resources.set(name, copyResource(resource));
  return {
    composite: state.composite && copyResource(state.composite),
    resources,
    $unknown: state.$unknown?.slice(),
  };
}

function copyResource(resource: Resource): Resource {
  return {
    resource: resource.resource,
    connectionDetails: new Map(resource.connectionDetails),
    ready: resource.ready,
    $unknown: resource.$unknown?.slice(),
  };
}
