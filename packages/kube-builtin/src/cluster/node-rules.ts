// SPDX-License-Identifier: Apache-2.0
import { type KindRules, listAt } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

/** A new node takes no Pods until a controller finds it ready. */
function withNotReadyTaint(node: JsonObject): JsonObject {
  const taints = listAt(node, "spec", "taints");
  const isThere = taints.some(
    (taint) => stringAt(taint, ["key"]) === notReady.key && stringAt(taint, ["effect"]) === notReady.effect,
  );
  return isThere ? node : { ...node, spec: { ...objectAt(node, ["spec"]), taints: [...taints, notReady] } };
}

export const nodeRules: KindRules = {
  keepsNewStatus: true,
  prepareCreate: withNotReadyTaint,
  fields: { "spec.unschedulable": (node) => String(memberAt(node, ["spec", "unschedulable"]) === true) },
};
