// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type Resource, Struct } from "@purlin/function-protocol";
import { type ResourceParts, resourceMessage, structOf } from "./resource-message.ts";

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
