// SPDX-License-Identifier: Apache-2.0
import { isUtf8 } from "node:buffer";
import {
  Capability,
  type Credentials,
  type JsonObject,
  type JsonValue,
  Ready,
  type Resource,
  type Resources,
  type RunFunctionRequest,
  type State,
  type Struct,
} from "@purlin/function-protocol";
import { errorText, FunctionError } from "../errors/function-error.ts";
import { CompositeObject } from "../resource/composite-object.ts";
import { ComposedObject, type DesiredComposed } from "../resource/convert.ts";
import { WATCHED_RESOURCE } from "../resource/well-known.ts";

/** Raw bytes, such as a value of a Secret. */
export type Bytes = Uint8Array;

/** A composite resource. */
export interface Composite {
  resource: CompositeObject;
  connectionDetails: Map<string, Bytes>;
  ready: Ready;
}

/** A composed resource that exists. */
export interface ObservedComposed {
  readonly resource: ComposedObject;
  readonly connectionDetails: Map<string, Bytes>;
}

/** The composite resource as it is. Parts the request lacks are empty. Its `object` is frozen; its setters copy. */
export function getObservedCompositeResource(req: RunFunctionRequest): Composite {
  return toComposite(req.observed?.composite, (struct) => new CompositeObject(struct, "shared"));
}

/** The composite resource as earlier steps want it: yours to edit and hand to response.setDesiredCompositeResource. */
export function getDesiredCompositeResource(req: RunFunctionRequest): Composite {
  return toComposite(req.desired?.composite, (struct) => new CompositeObject(struct, "private"));
}

/** The composed resources that exist, by their name in the pipeline. Their `object` is frozen; their setters copy. */
export function getObservedComposedResources(req: RunFunctionRequest): Map<string, ObservedComposed> {
  return mapResources(req.observed, (message) => ({
    resource: new ComposedObject(message.resource, "shared"),
    connectionDetails: new Map(message.connectionDetails),
  }));
}

/** The composed resources earlier steps want: yours to edit and hand to response.setDesiredComposedResources. */
export function getDesiredComposedResources(req: RunFunctionRequest): Map<string, DesiredComposed> {
  return mapResources(req.desired, (message) => ({
    resource: new ComposedObject(message.resource, "private"),
    ready: message.ready,
  }));
}

function toComposite(message: Resource | undefined, wrap: (struct: Struct | undefined) => CompositeObject): Composite {
  return {
    resource: wrap(message?.resource),
    connectionDetails: new Map(message?.connectionDetails),
    ready: message?.ready ?? Ready.READY_UNSPECIFIED,
  };
}

function mapResources<T>(state: State | undefined, change: (message: Resource) => T): Map<string, T> {
  const changed = new Map<string, T>();
  for (const [name, message] of state?.resources ?? []) changed.set(name, change(message));
  return changed;
}

/** Credentials made of named bytes, as in a Secret. */
export interface DataCredentials {
  readonly type: "data";
  readonly data: Map<string, Uint8Array>;
  /** The value of a key as text, undefined when there is no such key. Throws when the bytes are not UTF-8. */
  text(key: string): string | undefined;
}

/** The credentials of a name. Throws CREDENTIALS_NOT_FOUND, or UNSUPPORTED_CREDENTIALS when they are of a newer kind. */
export function getCredentials(req: RunFunctionRequest, name: string): DataCredentials {
  const credentials = lookupCredentials(req, name);
  if (credentials === undefined) {
    const remedy = "add them to the function's step in the Composition";
    throw new FunctionError("CREDENTIALS_NOT_FOUND", `no credentials named ${JSON.stringify(name)}: ${remedy}`);
  }
  return credentials;
}

/** As {@link getCredentials}, but undefined when there are none of that name. */
export function lookupCredentials(req: RunFunctionRequest, name: string): DataCredentials | undefined {
  const message = req.credentials.get(name);
  return message === undefined ? undefined : toData(message, name);
}

function toData({ source }: Credentials, name: string): DataCredentials {
  if (source?.case !== "credentialData") {
    const text = `credentials ${JSON.stringify(name)} come from a source that this SDK does not support; update the SDK`;
    throw new FunctionError("UNSUPPORTED_CREDENTIALS", text);
  }
  const data = new Map(source.value.data);
  return {
    type: "data",
    data,
    text: (key) => textOf(data.get(key), `${JSON.stringify(key)} of credentials ${JSON.stringify(name)}`),
  };
}

function textOf(bytes: Uint8Array | undefined, what: string): string | undefined {
  if (bytes === undefined) return undefined;
  if (!isUtf8(bytes)) throw new FunctionError("INVALID_CREDENTIALS", `${what} is not UTF-8 text; read it from data`);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Checks the input and turns it into a type of your own; whatever it throws becomes INVALID_INPUT. */
export type InputDecoder<T> = (input: JsonObject) => T;

/**
 * The input of the pipeline step, undefined when it has none. Without a decoder it is only called a T; with one, it is
 * what the decoder makes of it. The object is frozen.
 */
export function getInput<T = JsonObject>(req: RunFunctionRequest, decode?: InputDecoder<T>): T | undefined {
  if (req.input === undefined) return undefined;
  const input = req.input.value;
  if (decode === undefined) return input as T;
  try {
    return decode(input);
  } catch (error) {
    throw new FunctionError("INVALID_INPUT", `invalid input: ${errorText(error)}`, { cause: error });
  }
}

/** As {@link getInput}, but throws MISSING_INPUT when the step has none. */
export function requireInput<T = JsonObject>(req: RunFunctionRequest, decode?: InputDecoder<T>): T {
  const input = getInput(req, decode);
  if (input === undefined) {
    throw new FunctionError("MISSING_INPUT", "this function requires an input: add one to its step in the Composition");
  }
  return input;
}

/** The value of a context key, undefined when no earlier step set it. Frozen. */
export function getContextKey(req: RunFunctionRequest, key: string): JsonValue | undefined {
  const context = req.context?.value;
  return context !== undefined && Object.hasOwn(context, key) ? context[key] : undefined;
}

/** True when the context has a key, be its value null. */
export function hasContextKey(req: RunFunctionRequest, key: string): boolean {
  return req.context !== undefined && Object.hasOwn(req.context.value, key);
}

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
