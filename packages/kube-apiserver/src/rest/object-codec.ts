// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, parseJson, printJson } from "@purlin/kube-objects";
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

/** The object with its type first, its metadata next and the rest behind: the form {@link typeHead} relies on. */
export function inStoredOrder(object: JsonObject): JsonObject {
  const { apiVersion = "", kind = "", metadata = {}, ...rest } = object;
  return { apiVersion, kind, metadata, ...rest };
}

/** What the bytes of every stored object of a type begin with: everything before its metadata. */
export function typeHead(apiVersion: string, kind: string): Uint8Array {
  return encoder.encode(`{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`);
}
