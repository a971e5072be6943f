// SPDX-License-Identifier: Apache-2.0
import {
  type FieldError,
  invalidValue,
  type JsonObject,
  jsonEqual,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects";
import type { KindRules } from "./kind-rules.ts";
import { objectAt, textAt } from "./read-field.ts";

function roleRefErrors(object: JsonObject, kinds: readonly string[]): FieldError[] {
  const kind = textAt(object, "roleRef", "kind");
  return [
    ...(kinds.includes(kind) ? [] : [unsupportedValue("roleRef.kind", kind, kinds)]),
    ...(textAt(object, "roleRef", "name") === "" ? [requiredValue("roleRef.name")] : []),
  ];
}

/** The reference shows the reference with the names of its fields in Go. */
function inGo({ apiGroup = "", kind = "", name = "" }: JsonObject): JsonObject {
  return { APIGroup: apiGroup, Kind: kind, Name: name };
}

function bindingRules(kinds: readonly string[]): KindRules {
  return {
    validate: (object) => roleRefErrors(object, kinds),
    // A binding that could be pointed at another role would give its subjects what nobody granted them.
    validateChange: (object, old) =>
      jsonEqual(objectAt(object, "roleRef"), objectAt(old, "roleRef"))
        ? []
        : [invalidValue("roleRef", inGo(objectAt(object, "roleRef")), "cannot change roleRef")],
  };
}

export const roleBindingRules: KindRules = bindingRules(["Role", "ClusterRole"]);
export const clusterRoleBindingRules: KindRules = bindingRules(["ClusterRole"]);
