// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects";
import { memberAt, withMember } from "../../composite-resource/members.ts";

/** The lists of a status that are merged item by item, and what tells their items apart. */
const keyedLists: readonly { readonly path: readonly string[]; readonly key: string }[] = [
  { path: ["conditions"], key: "type" },
  { path: ["crossplane", "functionRevisions"], key: "step" },
];

/**
 * A stored status whose items are as they were applied. An apply leaves what others put into an item, such as the message
 * of a condition that a failing pass, or another control plane, wrote by update; that message must go with its condition.
 * The stored order stays, and so does the status itself when nothing is wrong with it.
 */
export function correctedStatus(stored: JsonObject, applied: JsonObject): JsonObject {
  return keyedLists.reduce((status, { path, key }) => {
    const [have, want] = [itemsAt(status, path), itemsAt(applied, path)];
    if (have === undefined || want === undefined) return status;
    const wanted = new Map(want.map((item) => [item[key], item]));
    const ours = path.length > 1;
    // Items of a list that is ours alone go when they are not wanted; conditions may be somebody else's.
    const kept = ours ? have.filter((item) => wanted.has(item[key])) : have;
    return withMember(status, path, kept.map((item) => wanted.get(item[key]) ?? item) as JsonValue);
  }, stored);
}

function itemsAt(status: JsonObject, path: readonly string[]): readonly JsonObject[] | undefined {
  const value = memberAt(status, path);
  return Array.isArray(value) ? value.filter(isJsonObject) : undefined;
}
