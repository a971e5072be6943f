// SPDX-License-Identifier: Apache-2.0
import { compareUtf8, goQuote } from "@purlin/kube-objects/json";
import { coversPath, has, type PolicyRule } from "./policy-rule.ts";

/** The rights in `wanted` that no single rule of `held` covers, each as a rule of one verb on one thing. */
export function missingRights(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((right) => !held.some((rule) => covers(rule, right)));
}

const noRights: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/** A rule as rules that each have one value in every list. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  const resources = rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        names.map((resourceNames) => ({
          ...noRights,
          apiGroups: [group],
          resources: [resource],
          verbs: [verb],
          resourceNames,
        })),
      ),
    ),
  );
  const paths = rule.nonResourceURLs.flatMap((url) =>
    rule.verbs.map((verb) => ({ ...noRights, nonResourceURLs: [url], verbs: [verb] })),
  );
  return [...resources, ...paths];
}

/** Whether a rule includes a right as {@link breakDown} returns it. */
function covers(rule: PolicyRule, right: PolicyRule): boolean {
  return (
    right.verbs.every((verb) => has(rule.verbs, verb)) &&
    right.apiGroups.every((group) => has(rule.apiGroups, group)) &&
    right.resources.every((resource) => coversResource(rule.resources, resource)) &&
    right.nonResourceURLs.every((path) => rule.nonResourceURLs.some((url) => coversPath(url, path))) &&
    coversNames(rule.resourceNames, right.resourceNames)
  );
}

function coversResource(resources: readonly string[], resource: string): boolean {
  if (has(resources, resource)) return true;
  const [, subresource] = resource.split("/");
  return subresource !== undefined && resources.includes(`*/${subresource}`);
}

function coversNames(held: readonly string[], wanted: readonly string[]): boolean {
  return held.length === 0 || (wanted.length > 0 && wanted.every((name) => held.includes(name)));
}

/** Rights as text, one rule per line, sorted. The verbs on the same resource are one rule. */
export function rightsText(rights: readonly PolicyRule[]): string {
  return [...new Set(compact(rights).map(ruleText))].sort(compareUtf8).join("\n");
}

function compact(rights: readonly PolicyRule[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule>();
  const paths: PolicyRule[] = [];
  for (const right of rights) {
    if (right.nonResourceURLs.length > 0) {
      paths.push(right);
      continue;
    }
    const key = JSON.stringify([right.apiGroups, right.resources, right.resourceNames]);
    const known = merged.get(key);
    merged.set(key, known === undefined ? right : { ...known, verbs: [...known.verbs, ...right.verbs] });
  }
  return [...paths, ...merged.values()];
}

function ruleText(rule: PolicyRule): string {
  const members: readonly (readonly [string, readonly string[]])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const set = members.filter(([, values]) => values.length > 0).map(([name, values]) => `${name}:${goList(values)}`);
  return `{${set.join(", ")}}`;
}

/** A list of strings as Go's `%q` prints it. */
export function goList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(" ")}]`;
}
