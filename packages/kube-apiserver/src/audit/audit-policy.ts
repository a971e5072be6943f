// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import type { AccessAttributes, ResourceAccess } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";

const levels = ["None", "Metadata", "Request", "RequestResponse"] as const;
const stages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;

/** How much of a request is logged. */
type AuditLevel = (typeof levels)[number];
/** When an event of a request is logged. */
export type AuditStage = (typeof stages)[number];

interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean | undefined;
}

/** A policy of the group `audit.k8s.io`: which requests are logged, and how much of them. The first rule that matches counts. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** What a policy says about one request. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

/** Reads a policy. Throws an error with the path of the field that is wrong. */
export function parseAuditPolicy(value: JsonValue): AuditPolicy {
  const policy = objectOrThrow(value, "the policy");
  if (policy["apiVersion"] !== "audit.k8s.io/v1" || policy["kind"] !== "Policy") {
    throw new Error("expected apiVersion audit.k8s.io/v1 and kind Policy");
  }
  requireKnown(policy, "", ["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"]);
  const rules = listAt(policy, "rules", "");
  if (rules.length === 0) throw new Error("rules: a policy needs at least one rule");
  return {
    rules: rules.map((rule, index) => ruleOf(objectOrThrow(rule, `rules[${index}]`), `rules[${index}]`)),
    omitStages: stagesAt(policy, ""),
    omitManagedFields: booleanAt(policy, "omitManagedFields", "") ?? false,
  };
}

const ruleFields = [
  ...["level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs", "omitStages"],
  "omitManagedFields",
];

function ruleOf(rule: JsonObject, path: string): AuditRule {
  requireKnown(rule, `${path}.`, ruleFields);
  const { level } = rule;
  if (!levels.includes(level as AuditLevel)) {
    throw new Error(`${path}.level: expected ${levels.join(", ")}, not ${printJson(level ?? null)}`);
  }
  const resources = listAt(rule, "resources", `${path}.`);
  const namespaces = textsAt(rule, "namespaces", `${path}.`);
  const nonResourceURLs = textsAt(rule, "nonResourceURLs", `${path}.`);
  if (nonResourceURLs.length > 0 && resources.length + namespaces.length > 0) {
    throw new Error(`${path}.nonResourceURLs: a rule cannot apply to both regular resources and non-resource URLs`);
  }
  for (const url of nonResourceURLs) requirePattern(url, `${path}.nonResourceURLs`);
  return {
    level: level as AuditLevel,
    users: textsAt(rule, "users", `${path}.`),
    userGroups: textsAt(rule, "userGroups", `${path}.`),
    verbs: textsAt(rule, "verbs", `${path}.`),
    resources: resources.map((one, index) => groupOf(one, `${path}.resources[${index}]`)),
    namespaces,
    nonResourceURLs,
    omitStages: stagesAt(rule, `${path}.`),
    omitManagedFields: booleanAt(rule, "omitManagedFields", `${path}.`),
  };
}

function groupOf(value: JsonValue, path: string): GroupResources {
  const group = objectOrThrow(value, path);
  requireKnown(group, `${path}.`, ["group", "resources", "resourceNames"]);
  const name = group["group"] ?? "";
  if (typeof name !== "string" || name.includes("/")) {
    throw new Error(`${path}.group: expected the name of an API group without a version, not ${printJson(name)}`);
  }
  const resources = textsAt(group, "resources", `${path}.`);
  const resourceNames = textsAt(group, "resourceNames", `${path}.`);
  if (resourceNames.length > 0 && resources.length === 0) {
    throw new Error(`${path}.resourceNames: using resourceNames requires at least one resource`);
  }
  return { group: name, resources, resourceNames };
}

function requirePattern(url: string, path: string): void {
  const star = url.indexOf("*");
  if (url !== "*" && !url.startsWith("/")) throw new Error(`${path}: ${JSON.stringify(url)} must begin with a slash`);
  if (star >= 0 && star !== url.length - 1)
    throw new Error(`${path}: ${JSON.stringify(url)}: * may only be the last character`);
}

function requireKnown(value: JsonObject, path: string, known: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${path}${unknown}: unknown field; expected ${known.join(", ")}`);
}

function objectOrThrow(value: JsonValue, path: string): JsonObject {
  if (!isJsonObject(value)) throw new Error(`${path}: expected an object`);
  return value;
}

function listAt(value: JsonObject, name: string, path: string): readonly JsonValue[] {
  const list = value[name] ?? [];
  if (!Array.isArray(list)) throw new Error(`${path}${name}: expected a list`);
  return list;
}

function textsAt(value: JsonObject, name: string, path: string): readonly string[] {
  const list = listAt(value, name, path);
  if (!list.every((one) => typeof one === "string")) throw new Error(`${path}${name}: expected a list of strings`);
  return list as readonly string[];
}

function booleanAt(value: JsonObject, name: string, path: string): boolean | undefined {
  const found = value[name];
  if (found === undefined || found === null) return undefined;
  if (typeof found !== "boolean") throw new Error(`${path}${name}: expected true or false`);
  return found;
}

function stagesAt(value: JsonObject, path: string): readonly AuditStage[] {
  const names = textsAt(value, "omitStages", path);
  const wrong = names.find((name) => !stages.includes(name as AuditStage));
  if (wrong !== undefined)
    throw new Error(`${path}omitStages: expected ${stages.join(", ")}, not ${JSON.stringify(wrong)}`);
  return names as readonly AuditStage[];
}

/** What the policy says about a request; requests that no rule matches are not logged. */
export function decideAudit(policy: AuditPolicy, user: User | undefined, access: AccessAttributes): AuditDecision {
  const rule = policy.rules.find((one) => matches(one, user, access));
  const level = rule?.level ?? "None";
  return {
    level: holdsSecrets(access) && level !== "None" ? "Metadata" : level,
    omitStages: new Set([...policy.omitStages, ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? policy.omitManagedFields,
  };
}

/** Bodies with credentials in them are not logged, whatever the policy says. */
function holdsSecrets(access: AccessAttributes): boolean {
  if (access.kind === "path") return false;
  const { group, resource, subresource } = access;
  if (group === "authentication.k8s.io") return resource === "tokenreviews";
  return group === "" && (resource === "secrets" || (resource === "serviceaccounts" && subresource === "token"));
}

function matches(rule: AuditRule, user: User | undefined, access: AccessAttributes): boolean {
  if (rule.users.length > 0 && !(user !== undefined && rule.users.includes(user.name))) return false;
  if (rule.userGroups.length > 0 && !user?.groups.some((group) => rule.userGroups.includes(group))) return false;
  if (rule.verbs.length > 0 && !rule.verbs.includes(access.verb)) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0) {
    return access.kind === "resource" && matchesResource(rule, access);
  }
  if (rule.nonResourceURLs.length > 0) {
    return access.kind === "path" && rule.nonResourceURLs.some((pattern) => matchesPath(pattern, access.path));
  }
  return true;
}

function matchesPath(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

function matchesResource({ namespaces, resources }: AuditRule, access: ResourceAccess): boolean {
  if (namespaces.length > 0 && !namespaces.includes(access.namespace)) return false;
  return resources.length === 0 || resources.some((one) => matchesGroup(one, access));
}

function matchesGroup(one: GroupResources, { group, resource, subresource, name }: ResourceAccess): boolean {
  if (one.group !== group) return false;
  if (one.resources.length === 0) return true;
  if (one.resourceNames.length > 0 && !one.resourceNames.includes(name)) return false;
  const combined = subresource === "" ? resource : `${resource}/${subresource}`;
  return one.resources.some(
    (pattern) =>
      pattern === "*" ||
      pattern === combined ||
      (subresource !== "" && pattern === `*/${subresource}`) ||
      pattern === `${resource}/*`,
  );
}
