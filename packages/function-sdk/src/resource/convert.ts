// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, Ready, type Resource, Struct } from "@purlin/function-protocol";
import { errorText } from "../errors/error-text.ts";
import { FunctionError } from "../errors/function-error.ts";
import { KubeObject } from "./kube-object.ts";
import { cleanModel, type Model } from "./model.ts";
import { jsonForm, type ObjectSource, type ResourceParts, resourceMessage, structOf } from "./resource-message.ts";

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
