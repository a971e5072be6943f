// SPDX-License-Identifier: Apache-2.0

import { isUtf8 } from "node:buffer";
import {
  type Credentials,
  type JsonObject,
  type JsonValue,
  Ready,
  type Resource,
  type RunFunctionRequest,
  type State,
  type Struct,
} from "@purlin/function-protocol";
import { errorText, FunctionError } from "../errors/function-error.ts";
import { CompositeObject } from "../resource/composite-object.ts";
import { ComposedObject, type DesiredComposed } from "../resource/convert.ts";

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
