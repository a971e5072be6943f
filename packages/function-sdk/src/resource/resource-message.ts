// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, isStruct, type JsonObject, Ready, type Resource, Struct } from "@purlin/function-protocol";
import { errorText, FunctionError } from "../errors/function-error.ts";
import { isPathObject, type PathObject } from "./path-object.ts";

/** What can become the object of a resource: a plain or typed object, a wrapper, or the Struct another message holds. */
export type ObjectSource = object | PathObject | Struct;

/** Readiness as the protocol has it, or simply true or false. */
export type ReadyInput = Ready | boolean;

/** Parts of a resource beside its object. */
export interface ResourceParts {
  readonly ready?: ReadyInput | undefined;
  readonly connectionDetails?: ReadonlyMap<string, Uint8Array> | undefined;
}

/**
 * True for a Resource message. A message keeps its connection details in a Map, which no JSON object can hold, so an
 * object that merely has members of the same names is never mistaken for one.
 */
export function isResourceMessage(value: object): value is Resource {
  return "connectionDetails" in value && value.connectionDetails instanceof Map;
}

/**
 * The Struct of an object. An unedited wrapper and a Struct are used as they are; anything else is encoded now, so
 * later changes of it do not show. `what` names the object in the error.
 */
export function structOf(source: ObjectSource, what: string): Struct {
  if (isStruct(source)) return source;
  try {
    if (isPathObject(source)) return source.toStruct();
    if (isResourceMessage(source)) return source.resource ?? Struct.from({});
    return Struct.from(jsonForm(source));
  } catch (error) {
    throw new FunctionError("INVALID_RESOURCE", `${what}: ${errorText(error)}`, { cause: error });
  }
}

/** What an object wants to be as JSON. Inside an object the encoder asks; the outermost one is asked here. */
export function jsonForm(source: object): object {
  const form: unknown = "toJSON" in source && typeof source.toJSON === "function" ? source.toJSON() : source;
  if (isJsonObject(form)) return form;
  throw new TypeError("it is not a JSON object");
}

/** A new Resource message. */
export function resourceMessage(resource: Struct | undefined, parts: ResourceParts = {}): Resource {
  return {
    resource,
    connectionDetails: new Map(parts.connectionDetails),
    ready: toReady(parts.ready),
    $unknown: undefined,
  };
}

/** The protocol's readiness; nothing said is unspecified. */
export function toReady(ready: ReadyInput | undefined): Ready {
  if (ready === true) return Ready.READY_TRUE;
  if (ready === false) return Ready.READY_FALSE;
  return ready ?? Ready.READY_UNSPECIFIED;
}

/** A typed object of some library that knows its own JSON form. */
export interface Model {
  toJSON(): unknown;
}

/**
 * A Resource from a typed model, without its `status`, a null `metadata.creationTimestamp` and empty `metadata`: a
 * desired object states only what the function wants.
 */
export function fromModel(model: Model | object, parts?: ResourceParts): Resource {
  return resourceMessage(Struct.from(cleanModel(model)), parts);
}

/** The JSON of a model as {@link fromModel} would send it. */
export function cleanModel(model: Model | object): JsonObject {
  const { status: _, ...object } = normalise(model);
  const metadata = object["metadata"];
  if (!isJsonObject(metadata)) return object;
  if (metadata["creationTimestamp"] === null) delete metadata["creationTimestamp"];
  if (Object.keys(metadata).length === 0) delete object["metadata"];
  return object;
}

/** A private copy that is certain to be JSON. */
export function normalise(source: object, what = "the object"): JsonObject {
  return structOf(source, what).toMutable();
}
