// SPDX-License-Identifier: Apache-2.0
import { goQuote, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import type { AccessAttributes } from "../authorizer.ts";

/** One rule of a Role or ClusterRole: verbs on resources, or verbs on paths. Lists that are not set are empty. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** The rules of a Role or ClusterRole. */
export function rulesOfRole(role: JsonObject): readonly PolicyRule[] {
  const rules = memberAt(role, ["rules"]);
  return Array.isArray(rules) ? rules.filter(isJsonObject).map(policyRule) : [];
}

function policyRule(rule: JsonObject): PolicyRule {
  return {
    verbs: strings(rule["verbs"]),
    apiGroups: strings(rule["apiGroups"]),
    resources: strings(rule["resources"]),
    resourceNames: strings(rule["resourceNames"]),
    nonResourceURLs: strings(rule["nonResourceURLs"]),
  };
}

function strings(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Whether the rule allows the access. */
export function ruleAllows(rule: PolicyRule, access: AccessAttributes): boolean {
  if (!has(rule.verbs, access.verb)) return false;
  if (access.kind === "path") return rule.nonResourceURLs.some((url) => coversPath(url, access.path));
  const { group, resource, subresource, name } = access;
  return (
    has(rule.apiGroups, group) &&
    allowsResource(rule.resources, resource, subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

/** Whether the list contains the value, or the star that stands for every value. */
export function has(list: readonly string[], value: string): boolean {
  return list.includes("*") || list.includes(value);
}

// `pods` does not include `pods/log`; `*` includes all subresources, and `*/log` those of every resource.
function allowsResource(resources: readonly string[], resource: string, subresource: string): boolean {
  if (subresource === "") return has(resources, resource);
  return has(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

/** Whether a URL of a rule, which may end with a star, covers a path or another such URL. */
export function coversPath(url: string, path: string): boolean {
  return url === path || (url.endsWith("*") && path.startsWith(url.replace(/(?<!\*)\*+$/, "")));
}

/** A role that a binding refers to. The namespace is empty for ClusterRoles. */
export interface RoleRef {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** The rules of a user in a namespace. */
export interface RuleSet {
  readonly rules: readonly PolicyRule[];
  /** Roles that bindings of the user refer to and that do not exist. */
  readonly missing: readonly RoleRef[];
}

/** The error about roles that do not exist, each once; empty without any. `resource` is the name of their resource in the text. */
export function missingRolesText(
  roles: readonly RoleRef[],
  resource: (role: RoleRef) => string = ({ kind }) => kind.toLowerCase(),
): string {
  const errors = [
    ...new Set(roles.map((role) => `${resource(role)}.rbac.authorization.k8s.io ${goQuote(role.name)} not found`)),
  ];
  return errors.length > 1 ? `[${errors.join(", ")}]` : (errors[0] ?? "");
}
