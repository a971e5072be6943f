// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, parseJson, printJson } from "@purlin/kube-objects";
import type { Codec } from "../store/store.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** How objects are stored: as the JSON that is sent, resourceVersion included. */
export const objectCodec: Codec<JsonObject> = {
  encode: (object) => {
    freeze(object);
    return encoder.encode(printJson(object));
  },
  decode: (bytes) => {
    const object = parseJson(decoder.decode(bytes)) as JsonObject;
    freeze(object);
    return object;
  },
};

/** Freezes a value and everything in it; what is frozen already is taken to be frozen to the bottom. */
export function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) {
    return;
  }
  Object.freeze(value);
  for (const member of Object.values(value)) {
    freeze(member);
  }
}

/** The order in which Go writes metadata. */
const META_ORDER: readonly string[] = [
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
];

/**
 * The object with its members in the order in which the reference writes them: as their Go types have them for built-in kinds, by name
 * for custom ones, at least in the first two levels. {@link typeHead} relies on the type coming first.
 */
export function inStoredOrder(
  object: JsonObject,
  { custom }: { readonly custom: boolean } = { custom: true },
): JsonObject {
  const { apiVersion = "", kind = "", metadata, ...rest } = object;
  const meta = isJsonObject(metadata) ? metadata : {};
  if (custom) {
    const names = [...META_ORDER].sort();
    return { apiVersion, kind, metadata: inOrder(meta, names), ...inOrder(rest, Object.keys(rest).sort()) };
  }
  return { kind, apiVersion, metadata: inOrder(meta, META_ORDER), ...rest };
}

function inOrder(object: JsonObject, names: readonly string[]): JsonObject {
  const ordered: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = object[name];
    if (value !== undefined) {
      ordered[name] = value;
    }
  }
  return ordered;
}

/** What the bytes of every stored object of a built-in type begin with: everything before its metadata. */
export function typeHead(apiVersion: string, kind: string): Uint8Array {
  return encoder.encode(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
}
