// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import {
  all,
  type Check,
  type KindRules,
  labelText,
  listAt,
  metaOf,
  type ScalePaths,
} from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, isNumber, type JsonObject } from "@purlin/kube-objects/json";
import { validateAnnotations, validateLabels } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { notAbove, notNegativeAt, onStatus } from "../checks/rule-checks.ts";
import { withoutDisabledFields } from "../defaults/pod-defaults.ts";
import { checkingPodSpec } from "../pods/pod-spec.ts";
import { podWarnings } from "../pods/pod-warnings.ts";

/** The errors of a template of Pods, in parts. */
function* templateErrors(template: JsonObject, path: string): Work<FieldError[]> {
  const texts = (name: string): Record<string, string> =>
    objectAt(template, ["metadata", name]) as Record<string, string>;
  const ephemeral = "ephemeral containers not allowed in pod template";
  const ofLabels = validateLabels(texts("labels"), `${path}.labels`);
  yield;
  const ofAnnotations = validateAnnotations(texts("annotations"), `${path}.annotations`);
  yield;
  return [
    ...ofLabels,
    ...ofAnnotations,
    ...(yield* checkingPodSpec(objectAt(template, ["spec"]), `${path}.spec`)),
    ...(listAt(template, "spec", "ephemeralContainers").length > 0
      ? [forbiddenValue(`${path}.spec.ephemeralContainers`, ephemeral)]
      : []),
  ];
}

/** What is wrong with a template for Pods that are to run for ever. */
export function* lastingTemplateErrors(object: JsonObject, noun: string): Work<FieldError[]> {
  const errors = yield* templateErrors(objectAt(object, ["spec", "template"]), "spec.template");
  return [...errors, ...foreverErrors(object, noun)];
}

/** Members of a template by which its Pods would end. */
export function foreverErrors(object: JsonObject, noun: string): FieldError[] {
  const template = objectAt(object, ["spec", "template"]);
  const policy = stringAt(template, ["spec", "restartPolicy"]);
  const deadline = memberAt(template, ["spec", "activeDeadlineSeconds"]);
  const path = "spec.template.spec";
  return [
    ...(policy === "Always" ? [] : [unsupportedValue(`${path}.restartPolicy`, policy, ["Always"])]),
    ...(isNumber(deadline)
      ? [forbiddenValue(`${path}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${noun} is not Supported`)]
      : []),
  ];
}

/** What is wrong with a template for Pods that come to an end. */
export function* endingTemplateErrors(template: JsonObject, path: string): Work<FieldError[]> {
  const policy = stringAt(template, ["spec", "restartPolicy"]);
  const supported = ["OnFailure", "Never"];
  const at = `${path}.spec.restartPolicy`;
  return [
    ...(yield* templateErrors(template, path)),
    ...(policy === "" || policy === "Always"
      ? [requiredValue(at, 'valid values: "OnFailure", "Never"')]
      : supported.includes(policy)
        ? []
        : [unsupportedValue(at, policy, supported)]),
  ];
}

const replicas = ["spec", "replicas"];

const selectorTexts = new WeakMap<JsonObject, string>();

/** The text of a selector, made once: a request for a Scale asks for it several times, and a selector may be as long as a request. */
export function selectorText(selector: JsonObject, format: (selector: JsonObject) => string): string {
  const known = selectorTexts.get(selector);
  if (known !== undefined) return known;
  const text = format(selector);
  selectorTexts.set(selector, text);
  return text;
}

const controllerScale: ScalePaths = {
  replicas,
  read: (object) => ({
    wanted: numberAt(object, replicas),
    current: numberAt(object, ["status", "replicas"]),
    selector: selectorText(objectAt(object, ["spec", "selector"]), (selector) =>
      labelText(selector).replace("<none>", ""),
    ),
  }),
  byVersion: new Map([["v1", replicas]]),
};

function* controllerErrors(object: JsonObject): Work<FieldError[]> {
  const selector = objectAt(object, ["spec", "selector"]) as Record<string, string>;
  const labels = memberAt(object, ["spec", "template", "metadata", "labels"]) ?? null;
  const own = objectAt(object, ["spec", "template", "metadata", "labels"]);
  const isMatching = Object.entries(selector).every(([name, value]) => own[name] === value);
  const hasTemplate = isJsonObject(memberAt(object, ["spec", "template"]));
  const mismatch = "`selector` does not match template `labels`";
  yield;
  return [
    ...notNegativeAt("minReadySeconds")(objectAt(object, ["spec"]), "spec"),
    ...(Object.keys(selector).length === 0 ? [requiredValue("spec.selector")] : []),
    ...notNegativeAt("replicas")(objectAt(object, ["spec"]), "spec"),
    ...(hasTemplate ? [] : [requiredValue("spec.template")]),
    ...(hasTemplate && !isMatching ? [invalidValue("spec.template.metadata.labels", labels, mismatch)] : []),
    ...(hasTemplate ? yield* lastingTemplateErrors(object, "ReplicationController") : []),
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
  ...withoutDisabledFields("template", "spec"),
  validatingRest: (object) => templateErrors(objectAt(object, ["template"]), "template"),
  warnings: (object, old) =>
    old !== undefined && metaOf(object).generation === metaOf(old).generation
      ? []
      : podWarnings(objectAt(object, ["template"]), "template"),
};

/** The rules of ReplicationControllers. */
export const controllerRules: KindRules = {
  ...withoutDisabledFields("spec", "template", "spec"),
  validatingRest: controllerErrors,
  warnings: (object, old) =>
    old !== undefined && metaOf(object).generation === metaOf(old).generation
      ? []
      : // The reference looks at the template before a change, not at the new one.
        podWarnings(objectAt(old ?? object, ["spec", "template"]), "spec.template"),
  validateChange: onStatus(replicaStatus),
  scale: controllerScale,
  emptyMembers: { spec: { replicas: 0 } },
  fields: { "status.replicas": (object) => String(memberAt(object, ["status", "replicas"]) ?? 0) },
};
