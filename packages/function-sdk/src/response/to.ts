// SPDX-License-Identifier: Apache-2.0

import {
  type Duration,
  type JsonObject,
  type JsonValue,
  Target as ProtocolTarget,
  type Resource,
  type ResponseMeta,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type State,
  Struct,
  setOwn,
} from "@purlin/function-protocol";
import { printJson } from "@purlin/kube-objects/json";
import { errorText, FunctionError, type FunctionErrorCode } from "../errors/function-error.ts";

const compositeOnly: { readonly TARGET_COMPOSITE_ONLY: typeof ProtocolTarget.TARGET_COMPOSITE } = {
  TARGET_COMPOSITE_ONLY: ProtocolTarget.TARGET_COMPOSITE,
};

/**
 * Where a result or a condition goes. `TARGET_COMPOSITE_ONLY` is the name that the design of claim conditions gave to
 * `TARGET_COMPOSITE`; both are the number 1.
 */
export const Target: typeof ProtocolTarget & typeof compositeOnly = { ...ProtocolTarget, ...compositeOnly };
/** A number of {@link Target}; numbers of newer protocol versions are kept. */
export type Target = ProtocolTarget;

/** How long a response may be reused: milliseconds, a duration, or null for no statement at all. */
export type Ttl = number | { readonly seconds: number; readonly nanos?: number | undefined } | null;

/** One minute, in milliseconds. */
export const DEFAULT_TTL = 60_000;

const longestSeconds = 315_576_000_000;
const largestNanos = 999_999_999;

/** The TTL as it travels. Throws INVALID_TTL on what is not a length of time. */
export function toDuration(ttl: Ttl): Duration | undefined {
  if (ttl === null) return undefined;
  return typeof ttl === "number" ? fromMilliseconds(ttl) : fromParts(ttl.seconds, ttl.nanos ?? 0);
}

function fromMilliseconds(ms: number): Duration {
  if (!Number.isFinite(ms) || ms < 0) throw invalid(ms);
  const seconds = Math.floor(ms / 1000);
  return fromParts(seconds, Math.min(Math.round((ms - seconds * 1000) * 1e6), largestNanos));
}

function fromParts(seconds: number, nanos: number): Duration {
  const valid = Number.isInteger(seconds) && seconds >= 0 && seconds <= longestSeconds;
  if (!valid || !Number.isInteger(nanos) || nanos < 0 || nanos > largestNanos) throw invalid({ seconds, nanos });
  return { seconds: BigInt(seconds), nanos, $unknown: undefined };
}

function invalid(ttl: number | object): FunctionError {
  const expected = "non-negative milliseconds, {seconds, nanos} or null";
  return new FunctionError("INVALID_TTL", `cannot use ${printJson(ttl)} as a TTL: expected ${expected}`);
}

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

/** Sets a key of the context later steps see. Throws INVALID_CONTEXT when JSON cannot hold the value. */
export function setContextKey(rsp: RunFunctionResponse, key: string, value: JsonValue | object): void {
  const context: JsonObject = { ...rsp.context?.value };
  setOwn(context, key, value as JsonValue);
  rsp.context = encode(context, "INVALID_CONTEXT", `context key ${JSON.stringify(key)}`);
}

/** Removes a key of the context. Returns whether it was there. */
export function deleteContextKey(rsp: RunFunctionResponse, key: string): boolean {
  const before = rsp.context?.value;
  if (before === undefined || !Object.hasOwn(before, key)) return false;
  const { [key]: _, ...rest } = before;
  rsp.context = Struct.from(rest);
  return true;
}

/** Sets the output of an Operation, a JSON object. Throws INVALID_OUTPUT on anything else. */
export function setOutput(rsp: RunFunctionResponse, output: object): void {
  if (typeof output !== "object" || output === null || Array.isArray(output)) {
    throw new FunctionError("INVALID_OUTPUT", "the output must be a JSON object");
  }
  rsp.output = encode(output, "INVALID_OUTPUT", "the output");
}

function encode(object: object, code: FunctionErrorCode, what: string): Struct {
  try {
    return Struct.from(object);
  } catch (error) {
    throw new FunctionError(code, `${what}: ${errorText(error)}`, { cause: error });
  }
}
