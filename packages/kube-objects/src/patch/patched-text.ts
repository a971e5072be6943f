// SPDX-License-Identifier: Apache-2.0
// A patched object as the reference quotes it in errors. Its patch library only opens what a patch goes into: that is
// printed by name, while everything else stands as the object was printed before.
// The reference quotes a strategic merge patch only after it has merged it, and merging uses the patch up: what has been
// dealt with is gone from it.
import { goJson, goJsonString } from "../json/go-text.ts";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setOwnValue,
  sortedKeys,
} from "../json/json-value.ts";
import { type JsonPatchOperation, runJsonPatch } from "./json-patch.ts";
import { withoutNulls } from "./merge-patch.ts";
import { writtenNumber } from "./patch-document.ts";

/** The text of a document after a merge patch. */
export function mergePatchedText(document: JsonObject, patch: JsonObject): string {
  const pairs = sortedKeys({ ...document, ...patch }).flatMap((key) => {
    const text = mergedMember(ownValue(document, key), ownValue(patch, key));
    return text === undefined ? [] : [`${goJsonString(key)}:${text}`];
  });
  return `{${pairs.join(",")}}`;
}

function mergedMember(current: JsonValue | undefined, change: JsonValue | undefined): string | undefined {
  if (change === null) return undefined;
  if (change === undefined) return inOrder(current ?? null);
  if (!isJsonObject(current)) return goJson(withoutNulls(change));
  return isJsonObject(change) ? mergePatchedText(current, change) : inOrder(change);
}

/** The text of a document after a JSON patch that applies to it. */
export function jsonPatchedText(document: JsonObject, operations: readonly JsonPatchOperation[]): string {
  const target = runJsonPatch(document, operations);
  return inOrder(target.value, (value) => value === target.value || target.isOpened(value));
}

/** The text of a value with its members as they come, but by name where it was opened. */
function inOrder(value: JsonValue, isOpened: (value: object) => boolean = () => false): string {
  if (isJsonArray(value)) return `[${value.map((item) => inOrder(item, isOpened)).join(",")}]`;
  if (!isJsonObject(value)) return writtenNumber(value) ?? goJson(value);
  const keys = isOpened(value) ? sortedKeys(value) : Object.keys(value);
  const pairs = keys.map((key) => `${goJsonString(key)}:${inOrder(ownValue(value, key) ?? null, isOpened)}`);
  return `{${pairs.join(",")}}`;
}

const orderPrefix = "$setElementOrder/";

/** What is left of a strategic merge patch when it has been merged into an object. */
export function consumedPatch(original: JsonObject, patch: JsonObject): JsonObject {
  const directive = ownValue(patch, "$patch");
  if (directive === "delete") return patch;
  const ordered = new Set(
    Object.keys(patch)
      .filter((key) => key.startsWith(orderPrefix))
      .map((key) => key.slice(orderPrefix.length)),
  );
  const left: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(orderPrefix) || ordered.has(key) || key === "$retainKeys" || key === "$patch") continue;
    setOwnValue(left, key, directive === "replace" ? value : leftOf(ownValue(original, key), value));
  }
  return left;
}

// What is new has no use for nulls, so they are taken out of the patch itself.
function leftOf(original: JsonValue | undefined, value: JsonValue): JsonValue {
  if (isJsonObject(value)) return isJsonObject(original) ? consumedPatch(original, value) : withoutNulls(value);
  return original === undefined ? withoutNulls(value) : value;
}
