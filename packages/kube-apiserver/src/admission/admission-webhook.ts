// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import {
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorOf,
  matchesLabels,
} from "@purlin/kube-objects/selector";
import { metaOf } from "../objects/object-meta.ts";

/** One webhook of a configuration. */
export interface AdmissionWebhook {
  readonly name: string;
  /** The name of the configuration. */
  readonly configuration: string;
  /** Unique among all webhooks. */
  readonly id: string;
  readonly config: JsonObject;
  readonly rules: readonly OperationRule[];
  readonly isEquivalent: boolean;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
  readonly matchConditions: readonly JsonObject[];
  readonly ignoresFailure: boolean;
  readonly supportsDryRun: boolean;
  readonly timeoutMs: number;
  readonly reviewVersion: "v1" | "v1beta1";
  readonly isReinvoked: boolean;
}

/** A rule that selects writes by operation and resource. */
export interface OperationRule {
  readonly operations: readonly string[];
  readonly groups: readonly string[];
  readonly versions: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly scope: string;
}

/** A label selector; undefined selects everything. */
export type Selector = LabelSelector | undefined;

/** Whether labels are selected. */
export function selects(selector: Selector, labels: Readonly<Record<string, string>> | null | undefined): boolean {
  return selector === undefined || matchesLabels(selector, labels);
}

/** The selector in a member of an object. One that selects everything is undefined. */
export function selectorAt(object: JsonObject, name: string): Selector {
  const value = memberAt(object, [name]);
  if (!isJsonObject(value) || Object.keys(value).length === 0) return undefined;
  return labelSelectorOf(value as LabelSelectorObject);
}

/** A rule as it stands in a configuration or a policy. */
export function operationRule(rule: JsonObject): OperationRule {
  return {
    operations: textsAt(rule, ["operations"]),
    groups: textsAt(rule, ["apiGroups"]),
    versions: textsAt(rule, ["apiVersions"]),
    resources: textsAt(rule, ["resources"]),
    resourceNames: textsAt(rule, ["resourceNames"]),
    scope: stringAt(rule, ["scope"]) || "*",
  };
}

/** The webhooks of a configuration, in their order. */
export function webhooksOf(configuration: JsonObject): AdmissionWebhook[] {
  const { name: own = "" } = metaOf(configuration);
  const seen = new Map<string, number>();
  return objectsAt(configuration, ["webhooks"]).map((hook) => {
    const name = stringAt(hook, ["name"]);
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    const version = textsAt(hook, ["admissionReviewVersions"]).find((one) => one === "v1" || one === "v1beta1");
    const sideEffects = stringAt(hook, ["sideEffects"]);
    return {
      name,
      configuration: own,
      id: `${own}/${name}/${count}`,
      config: objectAt(hook, ["clientConfig"]),
      rules: objectsAt(hook, ["rules"]).map(operationRule),
      isEquivalent: stringAt(hook, ["matchPolicy"]) !== "Exact",
      namespaceSelector: selectorAt(hook, "namespaceSelector"),
      objectSelector: selectorAt(hook, "objectSelector"),
      matchConditions: objectsAt(hook, ["matchConditions"]),
      ignoresFailure: stringAt(hook, ["failurePolicy"]) === "Ignore",
      supportsDryRun: sideEffects === "None" || sideEffects === "NoneOnDryRun",
      timeoutMs: (numberAt(hook, ["timeoutSeconds"]) || 10) * 1000,
      reviewVersion: version === "v1beta1" ? "v1beta1" : "v1",
      isReinvoked: stringAt(hook, ["reinvocationPolicy"]) === "IfNeeded",
    };
  });
}
