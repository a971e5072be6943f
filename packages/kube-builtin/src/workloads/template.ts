// SPDX-License-Identifier: Apache-2.0

import { listAt } from "@purlin/kube-apiserver/kinds";
import { type FieldError, forbiddenValue, requiredValue, unsupportedValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { validateAnnotations, validateLabels } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { podSpec } from "../pods/pod-spec.ts";

/** The errors of a template of Pods. */
export function templateErrors(template: JsonObject, path: string): FieldError[] {
  const texts = (name: string): Record<string, string> =>
    objectAt(template, ["metadata", name]) as Record<string, string>;
  const ephemeral = "ephemeral containers not allowed in pod template";
  return [
    ...validateLabels(texts("labels"), `${path}.labels`),
    ...validateAnnotations(texts("annotations"), `${path}.annotations`),
    ...podSpec(objectAt(template, ["spec"]), `${path}.spec`),
    ...(listAt(template, "spec", "ephemeralContainers").length > 0
      ? [forbiddenValue(`${path}.spec.ephemeralContainers`, ephemeral)]
      : []),
  ];
}

/** What is wrong with a template for Pods that are to run for ever. */
export function lastingTemplateErrors(object: JsonObject, noun: string): FieldError[] {
  return [...templateErrors(objectAt(object, ["spec", "template"]), "spec.template"), ...foreverErrors(object, noun)];
}

/** Members of a template by which its Pods would end. */
export function foreverErrors(object: JsonObject, noun: string): FieldError[] {
  const template = objectAt(object, ["spec", "template"]);
  const policy = stringAt(template, ["spec", "restartPolicy"]);
  const deadline = memberAt(template, ["spec", "activeDeadlineSeconds"]);
  const path = "spec.template.spec";
  return [
    ...(policy === "Always" ? [] : [unsupportedValue(`${path}.restartPolicy`, policy, ["Always"])]),
    ...(typeof deadline === "number"
      ? [forbiddenValue(`${path}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${noun} is not Supported`)]
      : []),
  ];
}

/** What is wrong with a template for Pods that come to an end. */
export function endingTemplateErrors(template: JsonObject, path: string): FieldError[] {
  const policy = stringAt(template, ["spec", "restartPolicy"]);
  const supported = ["OnFailure", "Never"];
  const at = `${path}.spec.restartPolicy`;
  return [
    ...templateErrors(template, path),
    ...(policy === "" || policy === "Always"
      ? [requiredValue(at, 'valid values: "OnFailure", "Never"')]
      : supported.includes(policy)
        ? []
        : [unsupportedValue(at, policy, supported)]),
  ];
}
