// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { ObjectMeta } from "@purlin/kube-objects/object";

/** The metadata of an object whose shape was checked when it was read. */
export function metaOf(object: JsonObject): ObjectMeta {
  const metadata = object["metadata"];
  return isJsonObject(metadata) ? (metadata as ObjectMeta) : {};
}

/** The object with some of its metadata replaced; undefined takes a field away. */
export function withMeta(
  object: JsonObject,
  changes: { readonly [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined },
): JsonObject {
  const metadata: Record<string, unknown> = { ...metaOf(object) };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) {
      delete metadata[name];
    } else {
      metadata[name] = value;
    }
  }
  return { ...object, metadata: metadata as JsonObject };
}

/** Whether the object is being deleted. */
export function isDeleting(object: JsonObject): boolean {
  const { deletionTimestamp } = metaOf(object);
  return deletionTimestamp !== undefined && deletionTimestamp !== null;
}

/** The object with another member, or without it. */
export function withMember(object: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return { ...object, [name]: value };
  if (!Object.hasOwn(object, name)) return object;
  const { [name]: _dropped, ...rest } = object;
  return rest;
}
