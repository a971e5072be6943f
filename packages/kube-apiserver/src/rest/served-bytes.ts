// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import type { Entry } from "../store/store.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";
import { inStoredOrder } from "./object-codec.ts";

const encoder = new TextEncoder();
/** Entries that were found to be shown as they are stored, and by which strategy. */
const shownAsStored = new WeakMap<Entry<JsonObject>, ObjectStrategy>();

/** The bytes of an object as a version shows it: those that are stored, wherever that is how it is shown. */
export function servedBytes(entry: Entry<JsonObject>, strategy: ObjectStrategy): Uint8Array {
  if (strategy.storage.servesStoredBytes || shownAsStored.get(entry) === strategy) return entry.bytes;
  const served = strategy.storage.toServed(entry.value);
  if (served === entry.value) {
    shownAsStored.set(entry, strategy);
    return entry.bytes;
  }
  return encoder.encode(
    printJson(inStoredOrder(served, { custom: served["apiVersion"] !== "events.k8s.io/v1" }), { htmlSafe: true }),
  );
}
