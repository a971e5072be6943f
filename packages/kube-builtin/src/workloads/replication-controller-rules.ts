// SPDX-License-Identifier: Apache-2.0
import { all, type Check, type KindRules, labelText, type ScalePaths } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt } from "@purlin/kube-objects/object";
import { notAbove, notNegativeAt, onStatus } from "../checks/rule-checks.ts";
import { lastingTemplateErrors, templateErrors } from "./template.ts";

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

function controllerErrors(object: JsonObject): FieldError[] {
  const selector = objectAt(object, ["spec", "selector"]) as Record<string, string>;
  const labels = memberAt(object, ["spec", "template", "metadata", "labels"]) ?? null;
  const own = objectAt(object, ["spec", "template", "metadata", "labels"]);
  const isMatching = Object.entries(selector).every(([name, value]) => own[name] === value);
  const hasTemplate = isJsonObject(memberAt(object, ["spec", "template"]));
  const mismatch = "`selector` does not match template `labels`";
  return [
    ...notNegativeAt("minReadySeconds")(objectAt(object, ["spec"]), "spec"),
    ...(Object.keys(selector).length === 0 ? [requiredValue("spec.selector")] : []),
    ...notNegativeAt("replicas")(objectAt(object, ["spec"]), "spec"),
    ...(hasTemplate ? [] : [requiredValue("spec.template")]),
    ...(hasTemplate && !isMatching ? [invalidValue("spec.template.metadata.labels", labels, mismatch)] : []),
    ...(hasTemplate ? lastingTemplateErrors(object, "ReplicationController") : []),
  ];
}

const most = "cannot be greater than status.replicas";

/** The numbers of Pods in the status of a controller. */
export const replicaStatus: Check = all(
  notNegativeAt(
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
  ),
  notAbove(["fullyLabeledReplicas", "readyReplicas", "availableReplicas"], "replicas", most),
  notAbove(["availableReplicas"], "readyReplicas", "cannot be greater than readyReplicas"),
);

/** The rules of PodTemplates. */
export const podTemplateRules: KindRules = {
  validate: (object) => templateErrors(objectAt(object, ["template"]), "template"),
};

/** The rules of ReplicationControllers. */
export const controllerRules: KindRules = {
  validate: controllerErrors,
  validateChange: onStatus(replicaStatus),
  scale: controllerScale,
  emptyMembers: { spec: { replicas: 0 } },
  fields: { "status.replicas": (object) => String(memberAt(object, ["status", "replicas"]) ?? 0) },
};
