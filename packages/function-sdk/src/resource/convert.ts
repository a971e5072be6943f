// SPDX-License-Identifier: Apache-2.0
import {
  isJsonObject,
  isStruct,
  type JsonObject,
  type JsonValue,
  Ready,
  type Resource,
  Struct,
  setOwn,
} from "@purlin/function-protocol";
import { errorText, FunctionError } from "../errors/function-error.ts";
import { KubeObject } from "./kube-object.ts";
import { isPathObject } from "./path-object.ts";
import {
  cleanModel,
  isResourceMessage,
  jsonForm,
  type Model,
  normalise,
  type ObjectSource,
  type ResourceParts,
  resourceMessage,
  structOf,
} from "./resource-message.ts";

/** A desired composed resource: change both, then hand it to response.setDesiredComposedResources. */
export interface DesiredComposed {
  resource: ComposedObject;
  ready: Ready;
}

/** An empty desired composed resource. */
export function newDesiredComposed(): DesiredComposed {
  return { resource: new ComposedObject(), ready: Ready.READY_UNSPECIFIED };
}

/**
 * Encodes a JSON object. Throws INVALID_RESOURCE, naming the path, on what JSON cannot hold: NaN, a Date, a Map, a
 * function, an integer too large to be exact. An undefined member is left out, as in JSON.
 */
export function toStruct(value: unknown): Struct {
  if (!isJsonObject(value)) throw new FunctionError("INVALID_RESOURCE", "only a JSON object can become a Struct");
  try {
    return Struct.from(jsonForm(value));
  } catch (error) {
    throw new FunctionError("INVALID_RESOURCE", errorText(error), { cause: error });
  }
}

/** The JSON object of a Struct, as a copy that may be edited. Nothing gives an empty one. */
export function fromStruct(struct: Struct | undefined): JsonObject {
  return struct?.toMutable() ?? {};
}

/** A Resource message holding an object. */
export function fromObject(object: ObjectSource, parts?: ResourceParts): Resource {
  return resourceMessage(structOf(object, "the object"), parts);
}

/** The object of a Resource message, as a copy that may be edited. Nothing gives an empty one. */
export function toObject(resource: Resource | undefined): JsonObject {
  return fromStruct(resource?.resource);
}

/** A composed resource, or any other object a function meets. */
export class ComposedObject extends KubeObject {
  /**
   * Wraps a copy of a typed model, without fields of a generated model that must not be applied: its status, empty
   * metadata and unset times.
   */
  static from(model: Model | object): ComposedObject {
    return new ComposedObject(cleanModel(model));
  }
}

/** How a list that both sides have is merged. */
type ListMerge = "replace" | "concat";

/**
 * Lays `source` over `target`, member by member, and returns the result. Neither is changed; what they do not share is
 * not copied. A null in `source` overwrites.
 */
export function mergeObjects(target: JsonObject, source: JsonObject, arrays: ListMerge = "replace"): JsonObject {
  const merged: JsonObject = { ...target };
  for (const [key, value] of Object.entries(source)) {
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    setOwn(merged, key, mergeValues(before, value, arrays));
  }
  return merged;
}

function mergeValues(before: JsonValue | undefined, value: JsonValue, arrays: ListMerge): JsonValue {
  if (isJsonObject(before) && isJsonObject(value)) return mergeObjects(before, value, arrays);
  if (arrays === "concat" && Array.isArray(before) && Array.isArray(value)) return [...before, ...value];
  return value;
}

/** How {@link update} merges. */
export interface UpdateOptions {
  /** How a list that both sides have is merged. Default "replace". */
  readonly arrays?: ListMerge | undefined;
}

/**
 * Merges an object into the one a Resource holds and returns the Resource. The source may be a plain or typed object, a
 * wrapper, a Struct or another Resource message; of the latter, connection details and readiness are merged too.
 */
export function update(resource: Resource, source: ObjectSource | Resource, options: UpdateOptions = {}): Resource {
  const merged = mergeObjects(resource.resource?.value ?? {}, jsonOf(source), options.arrays);
  resource.resource = Struct.from(merged);
  if (isResourceMessage(source)) {
    for (const [key, value] of source.connectionDetails) resource.connectionDetails.set(key, value);
    if (source.ready !== 0) resource.ready = source.ready;
  }
  return resource;
}

/** Merges into the `status` of the object a Resource holds. Lists are replaced. */
export function updateStatus(resource: Resource, status: object): Resource {
  return update(resource, { status: normalise(status, "the status") });
}

function jsonOf(source: ObjectSource | Resource): JsonObject {
  if (isStruct(source)) return source.value;
  if (isPathObject(source)) return source.toStruct().value;
  if (isResourceMessage(source)) return source.resource?.value ?? {};
  return normalise(source);
}
