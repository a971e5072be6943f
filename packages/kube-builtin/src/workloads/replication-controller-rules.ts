// SPDX-License-Identifier: Apache-2.0
import { type KindRules, labelText, type ScalePaths } from "@purlin/kube-apiserver/kinds";
import { memberAt, numberAt, objectAt } from "@purlin/kube-objects/object";

const replicas = ["spec", "replicas"];

const controllerScale: ScalePaths = {
  replicas,
  read: (object) => ({
    wanted: numberAt(object, replicas),
    current: numberAt(object, ["status", "replicas"]),
    selector: labelText(objectAt(object, ["spec", "selector"])).replace("<none>", ""),
  }),
  byVersion: new Map([["v1", replicas]]),
};

/** The rules of ReplicationControllers. */
export const controllerRules: KindRules = {
  scale: controllerScale,
  emptyMembers: { spec: { replicas: 0 } },
  fields: { "status.replicas": (object) => String(memberAt(object, ["status", "replicas"]) ?? 0) },
};
