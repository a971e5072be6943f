// SPDX-License-Identifier: Apache-2.0
import {
  type FieldError,
  invalidValue,
  type JsonObject,
  jsonEqual,
  type LabelSelectorObject,
  labelSelectorOf,
  matchesLabels,
  requiredValue,
} from "@purlin/kube-objects";
import { metaOf, withMeta } from "../rest/object-meta.ts";
import type { Endpoint } from "../rest/object-strategy.ts";
import type { KindRules } from "./kind-rules.ts";
import { objectAt, textFields, valueAt } from "./read-field.ts";

/** What every workload with a selector must have: one, which its own Pods match, and at least one container. */
function templateErrors(object: JsonObject): FieldError[] {
  const selector = valueAt(object, "spec", "selector");
  const labels = objectAt(object, "spec", "template", "metadata", "labels");
  return [...selectorErrors(selector, labels), ...containerErrors(object)];
}

function selectorErrors(selector: unknown, labels: JsonObject): FieldError[] {
  const object = (selector ?? {}) as LabelSelectorObject & JsonObject;
  if (Object.keys(object).length === 0) {
    return [
      ...(selector === undefined || selector === null
        ? [requiredValue("spec.selector")]
        : [invalidValue("spec.selector", object, "empty selector is invalid for deployment")]),
      invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"),
    ];
  }
  const matches = matchesLabels(labelSelectorOf(object), labels as Record<string, string>);
  return matches
    ? []
    : [invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")];
}

function containerErrors(object: JsonObject): FieldError[] {
  const containers = valueAt(object, "spec", "template", "spec", "containers");
  return Array.isArray(containers) && containers.length > 0 ? [] : [requiredValue("spec.template.spec.containers")];
}

/** Through the status nobody changes labels. */
function keepsLabels(object: JsonObject, old: JsonObject, endpoint: Endpoint): JsonObject {
  return endpoint === "status" ? withMeta(object, { labels: metaOf(old).labels }) : object;
}

function immutable(member: string) {
  return (object: JsonObject, old: JsonObject): FieldError[] => {
    const [now, before] = [objectAt(object, "spec", member), objectAt(old, "spec", member)];
    return jsonEqual(now, before) ? [] : [invalidValue(`spec.${member}`, now, "field is immutable")];
  };
}

export const selectorWorkloadRules: KindRules = {
  validate: templateErrors,
  validateChange: immutable("selector"),
};

export const deploymentRules: KindRules = { ...selectorWorkloadRules, prepareUpdate: keepsLabels };

export const jobRules: KindRules = { validate: containerErrors };

export const podRules: KindRules = {
  prepareUpdate: (object, old, endpoint) =>
    endpoint === "status" ? withMeta(object, { ownerReferences: metaOf(old).ownerReferences }) : object,
  fields: textFields(
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
  ),
};
