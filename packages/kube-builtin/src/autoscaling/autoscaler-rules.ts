// SPDX-License-Identifier: Apache-2.0
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

function targetErrors(spec: JsonObject): FieldError[] {
  const path = "spec.scaleTargetRef";
  const missing = ["kind", "name"].filter((name) => stringAt(spec, ["scaleTargetRef", name]) === "");
  const apiVersion = stringAt(spec, ["scaleTargetRef", "apiVersion"]);
  const isCore = stringAt(spec, ["scaleTargetRef", "kind"]) === "ReplicationController" && apiVersion === "v1";
  return [
    ...missing.map((name) => requiredValue(`${path}.${name}`, "")),
    ...(apiVersion.includes("/") || isCore
      ? []
      : [invalidValue(`${path}.apiVersion`, apiVersion, "apiVersion must specify API group")]),
  ];
}

function replicaErrors(spec: JsonObject): FieldError[] {
  const [least, most] = [memberAt(spec, ["minReplicas"]), numberAt(spec, ["maxReplicas"])];
  const isAboveMost = typeof least === "number" && most < least;
  return [
    ...(typeof least === "number" && least < 1
      ? [invalidValue("spec.minReplicas", least, "must be greater than or equal to 1")]
      : []),
    ...(most < 1 ? [requiredValue("spec.maxReplicas", "must be set and greater than 0")] : []),
    ...(isAboveMost ? [invalidValue("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")] : []),
  ];
}

/** The rules of HorizontalPodAutoscalers in both versions. */
export const autoscalerRules: KindRules = {
  validate: (object) => {
    const spec = objectAt(object, ["spec"]);
    return [...targetErrors(spec), ...replicaErrors(spec)];
  },
};
