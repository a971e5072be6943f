// SPDX-License-Identifier: Apache-2.0
import { requestEntityTooLarge } from "@purlin/kube-objects/errors";
import { type JsonObject, parseJson, printJson } from "@purlin/kube-objects/json";
import { inTypedOrder } from "@purlin/kube-objects/typed";
import { inNameOrder } from "../objects/member-order.ts";
import type { Codec } from "../store/store.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * An object may not be larger than this when it is stored. Request bodies have a lower limit; objects of the control plane's own
 * controllers, such as a composite resource with the status that a function wants, come without a body.
 */
const maxObjectBytes: number = 4 * 1024 * 1024;

/** How objects are stored: as the JSON that is sent, resourceVersion included. */
export const objectCodec: Codec<JsonObject> = {
  encode: (object) => {
    freeze(object);
    const bytes = encoder.encode(printJson(object, { htmlSafe: true }));
    if (bytes.length > maxObjectBytes) throw requestEntityTooLarge(`limit is ${maxObjectBytes}`);
    return bytes;
  },
  decode: (bytes) => {
    const object = parseJson(decoder.decode(bytes)) as JsonObject;
    freeze(object);
    return object;
  },
};

/** Freezes a value and everything in it; what is frozen already is taken to be frozen to the bottom. */
export function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === "object") freeze(item);
    }
    return;
  }
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === "object") freeze(member);
  }
}

/**
 * The object with its members in the order in which the reference writes them: as their Go types have them for built-in kinds, by name
 * for custom ones. {@link typeHead} relies on the type coming first.
 */
export function inStoredOrder(
  object: JsonObject,
  { custom }: { readonly custom: boolean } = { custom: false },
): JsonObject {
  return custom ? inNameOrder(object) : inTypedOrder(object);
}

/** What the bytes of every stored object of a built-in type begin with: everything before its metadata. */
export function typeHead(apiVersion: string, kind: string): Uint8Array {
  return encoder.encode(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
}
