// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects";
import { withMember } from "../rest/object-meta.ts";
import type { KindRules } from "./kind-rules.ts";

/**
 * The rules of a kind with lists that are always written. The reference's storage cannot tell an empty one from none, so it comes back
 * as null; yet whoever sent an empty one has come to own it.
 */
export function withEmptyLists(members: readonly string[], rules: KindRules = {}): KindRules {
  const asNull = (object: JsonObject): JsonObject =>
    members.reduce((made, member) => (isEmpty(made[member]) ? withMember(made, member, null) : made), object);
  return {
    ...rules,
    decode: (object, sent) =>
      members.reduce((made, member) => (isEmpty(sent[member]) ? withMember(made, member, []) : made), object),
    prepareCreate: asNull,
    prepareUpdate: asNull,
  };
}

function isEmpty(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}
