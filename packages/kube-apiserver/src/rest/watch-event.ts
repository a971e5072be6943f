// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import type { StreamEvent } from "../request/api-response.ts";

export type EventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

const encoder = new TextEncoder();
const heads = new Map<EventType, Uint8Array>();
const tail = encoder.encode("}\n");

function headOf(type: EventType): Uint8Array {
  let head = heads.get(type);
  if (head === undefined) {
    head = encoder.encode(`{"type":"${type}","object":`);
    heads.set(type, head);
  }
  return head;
}

/** An event around an object whose bytes are shared with others. */
export function encodedEvent(type: EventType, bytes: () => Uint8Array, object: () => JsonObject): StreamEvent {
  return { parts: () => [headOf(type), bytes(), tail], value: () => ({ type, object: object() }) };
}

/** An event around an object that has to be written. */
export function objectEvent(type: EventType, object: JsonObject): StreamEvent {
  return encodedEvent(
    type,
    () => encoder.encode(printJson(object, { htmlSafe: true })),
    () => object,
  );
}
