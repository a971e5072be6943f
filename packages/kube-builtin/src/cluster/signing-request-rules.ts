// SPDX-License-Identifier: Apache-2.0
import { type KindRules, listAt, textFields } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";

const decisions = new Set(["Approved", "Denied"]);

/** The status of a request as an approver changes it: the conditions only. */
function withConditions(object: JsonObject, old: JsonObject): JsonObject {
  const conditions = listAt(object, "status", "conditions");
  const { conditions: _before, ...rest } = objectAt(old, ["status"]);
  const status = conditions.length === 0 ? rest : { ...rest, conditions };
  return { ...old, metadata: object["metadata"] ?? {}, status };
}

/** A write to the status keeps the decisions that the old object has. */
function keepsDecisions(object: JsonObject, old: JsonObject): JsonObject {
  const isDecision = (one: JsonObject): boolean => decisions.has(stringAt(one, ["type"]));
  const kept = listAt(old, "status", "conditions").filter(isDecision);
  const others = listAt(object, "status", "conditions").filter((one) => !isDecision(one));
  const { conditions: _conditions, ...rest } = objectAt(object, ["status"]);
  const conditions = [...kept, ...others];
  return { ...object, status: conditions.length === 0 ? rest : { ...rest, conditions } };
}

/** The rules of CertificateSigningRequests: the server records the requestor, and only the status changes afterwards. */
export const signingRequestRules: KindRules = {
  fields: textFields("spec.signerName"),
  prepareCreate: (object, user) => {
    const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...spec } = objectAt(object, ["spec"]);
    const requestor = user && {
      username: user.name,
      ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
      ...(user.groups.length > 0 && { groups: [...user.groups] }),
      ...(user.extra && { extra: user.extra as JsonObject }),
    };
    return { ...object, spec: { ...spec, ...requestor } };
  },
  prepareUpdate: (object, old, endpoint) => {
    if (endpoint === "approval") return withConditions(object, old);
    return endpoint === "status" ? keepsDecisions(object, old) : { ...object, spec: old["spec"] ?? {} };
  },
};
