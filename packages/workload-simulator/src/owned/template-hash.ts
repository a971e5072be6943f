// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, sortedKeys } from "@purlin/kube-objects/json";

// The letters of generated names: no vowels, and no digits that look like them.
const letters = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a Pod template, as `pod-template-hash` and names of revisions have it. Equal templates have equal hashes. */
export function templateHash(template: JsonObject, collisionCount: number): string {
  const hash = createHash("sha256").update(canonical(template));
  if (collisionCount > 0) hash.update(`/${collisionCount}`);
  const digits = String(hash.digest().readUInt32BE(0));
  return [...digits].map((digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** JSON whose members are in one order. */
function canonical(value: JsonValue): string {
  if (isJsonArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${sortedKeys(value)
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
    .join(",")}}`;
}
