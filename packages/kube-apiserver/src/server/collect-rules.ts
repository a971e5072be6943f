// SPDX-License-Identifier: Apache-2.0
import { compareUtf8, isJsonObject, type JsonObject, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, labelSelectorOf, matchesLabels } from "@purlin/kube-objects/selector";
import { metaOf } from "../objects/object-meta.ts";

/** A ClusterRole that is made of others, and the rules it should have. */
export interface CollectedRules {
  readonly name: string;
  readonly rules: readonly JsonObject[];
}

/**
 * The ClusterRoles that are made of others and do not have the rules of those: of all that match one of their selectors, by name, each rule
 * once. A role may be made of one that is itself made of others; all of them are settled at once.
 */
export function collectRules(roles: readonly JsonObject[]): CollectedRules[] {
  const made = roles
    .filter((role) => selectorsOf(role).length > 0)
    .map((role) => ({ role, parts: partsOf(role, roles) }));
  const rules = new Map(roles.map((role) => [role, rulesOf(role)]));
  // What a role is made of may run in a circle, and then need never come to rest.
  for (let pass = 0; pass <= made.length; pass += 1) {
    let isSettled = true;
    for (const { role, parts } of made) {
      const wanted = union(parts.map((part) => rules.get(part) ?? []));
      if (!jsonEqual(wanted, rules.get(role) ?? [])) {
        rules.set(role, wanted);
        isSettled = false;
      }
    }
    if (isSettled) break;
  }
  return made
    .map(({ role }) => ({ role, wanted: rules.get(role) ?? [] }))
    .filter(({ role, wanted }) => !jsonEqual(wanted, rulesOf(role)))
    .map(({ role, wanted }) => ({ name: metaOf(role).name ?? "", rules: wanted }));
}

/** What a role is made of: selector by selector, by name. */
function partsOf(role: JsonObject, roles: readonly JsonObject[]): JsonObject[] {
  return selectorsOf(role)
    .map(labelSelectorOf)
    .flatMap((selector) =>
      roles
        .filter((one) => one !== role && matchesLabels(selector, metaOf(one).labels))
        .sort((a, b) => compareUtf8(metaOf(a).name ?? "", metaOf(b).name ?? "")),
    );
}

function union(lists: readonly (readonly JsonObject[])[]): JsonObject[] {
  const known = new Map<string, JsonObject>();
  for (const rule of lists.flat()) {
    const text = printJson(rule);
    known.set(text, known.get(text) ?? rule);
  }
  return [...known.values()];
}

function rulesOf(role: JsonObject): readonly JsonObject[] {
  const { rules } = role;
  return Array.isArray(rules) ? (rules as readonly JsonObject[]) : [];
}

function selectorsOf(role: JsonObject): LabelSelectorObject[] {
  const selectors = memberAt(role, ["aggregationRule", "clusterRoleSelectors"]);
  return Array.isArray(selectors) ? (selectors.filter(isJsonObject) as LabelSelectorObject[]) : [];
}
