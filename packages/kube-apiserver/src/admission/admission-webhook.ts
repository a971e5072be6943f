// SPDX-License-Identifier: Apache-2.0

import { notFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import {
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorOf,
  matchesLabels,
} from "@purlin/kube-objects/selector";
import { metaOf } from "../objects/object-members.ts";
import { type Catalog, hasSubresource, type ResourceType } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import type { AdmissionAttributes, AdmissionWrite } from "./admission.ts";

/** One webhook of a configuration. */
export interface AdmissionWebhook {
  readonly name: string;
  /** The name of the configuration. */
  readonly configuration: string;
  /** Unique among all webhooks. */
  readonly id: string;
  readonly config: JsonObject;
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
function selects(selector: Selector, labels: Readonly<Record<string, string>> | null | undefined): boolean {
  return selector === undefined || matchesLabels(selector, labels);
}

/** The selector in a member of an object. One that selects everything is undefined. */
export function selectorAt(object: JsonObject, name: string): Selector {
  const value = memberAt(object, [name]);
  if (!isJsonObject(value) || Object.keys(value).length === 0) return undefined;
  return labelSelectorOf(value as LabelSelectorObject);
}

/** A rule of a configuration or a policy. */
export function operationRule(rule: JsonObject): OperationRule {
  return {
    operations: wordsAt(rule, "operations"),
    groups: wordsAt(rule, "apiGroups"),
    versions: wordsAt(rule, "apiVersions"),
    resources: wordsAt(rule, "resources"),
    resourceNames: wordsAt(rule, "resourceNames"),
    scope: stringAt(rule, ["scope"]) || "*",
  };
}

const noWords: readonly string[] = [];

/** A copy without room for more words: there can be hundreds of thousands of rules. */
function wordsAt(rule: JsonObject, name: string): readonly string[] {
  const words = textsAt(rule, [name]);
  return words.length === 0 ? noWords : words.slice();
}

/** What a webhook selects. */
export function webhookMatch(hook: JsonObject): ResourceMatch {
  return {
    rules: objectsAt(hook, ["rules"]).map(operationRule),
    isEquivalent: stringAt(hook, ["matchPolicy"]) !== "Exact",
  };
}

/** A webhook of a configuration, of which `namesakes` come before it. */
export function webhookOf(
  hook: JsonObject,
  { configuration, namesakes }: { readonly configuration: string; readonly namesakes: number },
): AdmissionWebhook {
  const name = stringAt(hook, ["name"]);
  const version = textsAt(hook, ["admissionReviewVersions"]).find((one) => one === "v1" || one === "v1beta1");
  const sideEffects = stringAt(hook, ["sideEffects"]);
  return {
    name,
    configuration,
    id: `${configuration}/${name}/${namesakes}`,
    config: objectAt(hook, ["clientConfig"]),
    namespaceSelector: selectorAt(hook, "namespaceSelector"),
    objectSelector: selectorAt(hook, "objectSelector"),
    matchConditions: objectsAt(hook, ["matchConditions"]),
    ignoresFailure: stringAt(hook, ["failurePolicy"]) === "Ignore",
    supportsDryRun: sideEffects === "None" || sideEffects === "NoneOnDryRun",
    timeoutMs: (numberAt(hook, ["timeoutSeconds"]) || 10) * 1000,
    reviewVersion: version === "v1beta1" ? "v1beta1" : "v1",
    isReinvoked: stringAt(hook, ["reinvocationPolicy"]) === "IfNeeded",
  };
}

// Which writes a rule, a namespace selector and an object selector of a webhook or a policy select.

/** What a webhook or a policy selects. */
export interface ResourceMatch {
  readonly rules: readonly OperationRule[];
  /** The rules are also compared with other versions of the resource. */
  readonly isEquivalent: boolean;
}

const registrationGroup = "admissionregistration.k8s.io";
const policyKinds: ReadonlySet<string> = new Set([
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
]);
const webhookKinds: ReadonlySet<string> = new Set(["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]);

/** Whether a type is a policy or a binding of one, which no policy and no webhook sees. */
export function isPolicyType({ group, resource }: ResourceType): boolean {
  return group === registrationGroup && policyKinds.has(resource);
}

/** Whether a type configures webhooks, which no webhook sees. Policies do. */
export function isWebhookConfiguration({ group, resource }: ResourceType): boolean {
  return group === registrationGroup && webhookKinds.has(resource);
}

/** The type that the rules select for a write: its own, or another version of it; undefined when they select none. */
export function matchedType(match: ResourceMatch, write: AdmissionWrite, catalog: Catalog): ResourceType | undefined {
  return typeMatcher(write, catalog)(match);
}

/** {@link matchedType} for many matches and one write: its other versions are looked for at most once. */
export function typeMatcher(
  write: AdmissionWrite,
  catalog: Catalog,
): (match: ResourceMatch) => ResourceType | undefined {
  let others: readonly ResourceType[] | undefined;
  return (match) => {
    const fits = (type: ResourceType): boolean => match.rules.some((rule) => ruleFits(rule, { ...write, type }));
    if (match.rules.length === 0) return undefined;
    if (fits(write.type)) return write.type;
    if (!match.isEquivalent) return undefined;
    others ??= otherVersions(write, catalog);
    return others.find(fits);
  };
}

/** The other types that show the same objects. */
function otherVersions({ type, subresource }: AdmissionWrite, { groups }: Catalog): ResourceType[] {
  const { storage } = type;
  return groups
    .flatMap(({ versions }) => versions.flatMap(({ resources }) => resources))
    .filter(
      (other) =>
        other !== type &&
        other.storage.group === storage.group &&
        other.storage.resource === storage.resource &&
        (subresource === "" || hasSubresource(other, subresource)),
    );
}

const has = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);

/** Whether a rule selects a write, apart from the names of objects. */
function ruleFits(rule: OperationRule, { operation, type, subresource }: AdmissionWrite): boolean {
  return (
    has(rule.operations, operation) &&
    has(rule.groups, type.group) &&
    has(rule.versions, type.version) &&
    rule.resources.some((text) => resourceFits(text, type.resource, subresource)) &&
    (rule.scope === "*" || (rule.scope === "Namespaced") === type.namespaced)
  );
}

function resourceFits(text: string, resource: string, subresource: string): boolean {
  const [name = "", part = ""] = text.split("/");
  return (name === "*" || name === resource) && (part === "*" || part === subresource);
}

/** Whether the namespace of a write is selected. Throws 404 when the namespace does not exist. */
export function namespaceSelected(
  selector: Selector,
  { type, operation, namespace, object }: AdmissionAttributes,
  store: Store<JsonObject>,
): boolean {
  if (selector === undefined) return true;
  const isNamespace = type.group === "" && type.resource === "namespaces";
  if (!type.namespaced && !isNamespace) return true;
  if (isNamespace && (operation === "CREATE" || operation === "UPDATE")) {
    return selects(selector, metaOf(object ?? {}).labels);
  }
  const found = store.get(`//namespaces/${namespace}`)?.value;
  if (found === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace);
  return selects(selector, metaOf(found).labels);
}

/** Whether the new or the current object is selected. */
export function objectSelected(selector: Selector, { object, old }: AdmissionAttributes): boolean {
  if (selector === undefined) return true;
  return [object, old].some((one) => one !== undefined && selects(selector, metaOf(one).labels));
}
