// SPDX-License-Identifier: Apache-2.0
// Which writes a rule, a namespace selector and an object selector of a webhook or a policy select.
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import type { Catalog } from "../registry/registry.ts";
import { hasSubresource, type ResourceType } from "../registry/resource-type.ts";
import type { Store } from "../store/store.ts";
import type { AdmissionAttributes, AdmissionWrite } from "./admission.ts";
import { type OperationRule, type Selector, selects } from "./admission-webhook.ts";

/** What a webhook or a policy selects. */
interface ResourceMatch {
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
  const fits = (type: ResourceType): boolean => match.rules.some((rule) => ruleFits(rule, { ...write, type }));
  if (fits(write.type)) return write.type;
  if (!match.isEquivalent) return undefined;
  return otherVersions(write, catalog).find(fits);
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
