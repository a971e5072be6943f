// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, type ManagedFieldsEntry, memberAt, objectAt, withMember } from "@purlin/kube-objects/object";
import { fieldManagers } from "../../composite-resource/constants.ts";

/** The lists of a status that are merged item by item, and the keys of their items. */
const keyedLists: readonly { readonly path: readonly string[]; readonly key: string }[] = [
  { path: ["conditions"], key: "type" },
  { path: ["crossplane", "functionRevisions"], key: "step" },
];

/**
 * Whether an apply would leave an outdated part of an item in a status, such as the message of a condition, that a failed reconcile or
 * another control plane wrote by update. Fields without an owner count as well: a controller that takes over an XR, as the claim
 * controller does, clears the field ownership.
 */
export function isLeftBehind(xr: KubeObject, applied: JsonObject): boolean {
  const stored = objectAt(xr, ["status"]);
  const { ours = [], others = [] } = Object.groupBy(xr.metadata.managedFields ?? [], (entry) =>
    isOurs(entry) ? "ours" : "others",
  );
  return keyedLists.some(({ path, key }) => {
    const want = new Map((itemsAt(applied, path) ?? []).map((item) => [item[key], item]));
    return (itemsAt(stored, path) ?? []).some((item) => {
      const wanted = want.get(item[key]);
      // Other writers may add conditions; nested lists are ours alone.
      if (wanted === undefined && path.length === 1) return false;
      const surplus = Object.keys(item).filter((field) => wanted === undefined || !Object.hasOwn(wanted, field));
      const name = `k:{"${key}":${JSON.stringify(item[key])}}`;
      const owned = ["f:status", ...path.map((part) => `f:${part}`), name];
      const has = (entries: readonly ManagedFieldsEntry[], field: string): boolean =>
        entries.some(({ fieldsV1 = {} }) => objectHas(fieldsV1, owned, `f:${field}`));
      return surplus.some((field) => has(others, field) || !has(ours, field));
    });
  });
}

function isOurs({ manager, operation, subresource }: ManagedFieldsEntry): boolean {
  return manager === fieldManagers.composite && operation === "Apply" && subresource === "status";
}

function objectHas(fields: JsonObject, path: readonly string[], member: string): boolean {
  return Object.hasOwn(objectAt(fields, path), member);
}

/** The stored status with the items that are about to be applied. The order and items of other writers stay. */
export function correctedStatus(stored: JsonObject, applied: JsonObject): JsonObject {
  return keyedLists.reduce((status, { path, key }) => {
    const [have, want] = [itemsAt(status, path), itemsAt(applied, path)];
    if (have === undefined || want === undefined) return status;
    const wanted = new Map(want.map((item) => [item[key], item]));
    const kept = path.length > 1 ? have.filter((item) => wanted.has(item[key])) : have;
    return withMember(status, path, kept.map((item) => wanted.get(item[key]) ?? item) as JsonValue);
  }, stored);
}

function itemsAt(status: JsonObject, path: readonly string[]): readonly JsonObject[] | undefined {
  const value = memberAt(status, path);
  return Array.isArray(value) ? value.filter(isJsonObject) : undefined;
}
