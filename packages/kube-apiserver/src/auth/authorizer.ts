// SPDX-License-Identifier: Apache-2.0
import { finish, isPartDone, type Work } from "@purlin/base";
import { forbidden, type StatusError } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt } from "@purlin/kube-objects/object";
import { bootstrapTable } from "./rbac/bootstrap-table.ts";
import { RuleIndex, soughtAccess } from "./rbac/rule-index.ts";
import { mastersGroup, serviceAccountsGroup, type User } from "./user.ts";

/** What a user wants to do: something with a resource, or with a path outside the resources. */
export type AccessAttributes = ResourceAccess | PathAccess;

export interface ResourceAccess {
  readonly kind: "resource";
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

interface PathAccess {
  readonly kind: "path";
  readonly verb: string;
  readonly path: string;
}

/** Whether the user is allowed, and why. */
export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides whether a user may do something. */
export type Authorizer = (user: User, access: AccessAttributes) => AccessDecision;

/** The same in parts: a user can have thousands of roles. Decides about every request, and answers every access review. */
export type Authorizing = (user: User, access: AccessAttributes) => Work<AccessDecision>;

/** The authorizer of what must be decided at once, such as an expression. */
export function atOnce(authorizing: Authorizing): Authorizer {
  return (user, access) => finish(authorizing(user, access));
}

/** How requests are authorized: by roles and bindings, or with all rights for masters and ServiceAccounts. */
export type Authorization = "admin" | "rbac";

/** Lists the rules of a user in a namespace. */
export type RuleResolver = (user: User, namespace: string) => Work<RuleSet>;

/** Masters and ServiceAccounts may do everything, other users what everyone may do on every cluster. */
export const adminAuthorizer: Authorizer = (user, access) => {
  if (user.groups.includes(mastersGroup)) return { allowed: true, reason: "" };
  if (user.groups.includes(serviceAccountsGroup)) {
    return { allowed: true, reason: "service accounts are trusted by this server" };
  }
  const reason = grantedReason(user, access);
  return { allowed: reason !== undefined, reason: reason ?? "" };
};

/** The rules by which {@link adminAuthorizer} decides. */
export const adminRules: RuleResolver = function* (user) {
  return grantedRules(
    user,
    [mastersGroup, serviceAccountsGroup].some((group) => user.groups.includes(group)),
  );
};

/** 403 with the text of the reference, in which a user and what it asked for are escaped as in HTML. */
export function accessDenied(user: User, access: AccessAttributes, { reason }: AccessDecision): StatusError {
  const because = reason === "" ? "" : `: ${reason}`;
  const why = `${escapeHtml(deniedText(user, access))}${because}`;
  if (access.kind === "path") return forbidden({ group: "", resource: "" }, "", why);
  return forbidden({ group: access.group, resource: access.resource }, access.name, why);
}

function deniedText(user: User, access: AccessAttributes): string {
  const who = `User ${goQuote(user.name)} cannot ${access.verb}`;
  if (access.kind === "path") return `${who} path ${goQuote(access.path)}`;
  const { group, namespace, resource, subresource } = access;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(namespace)}`;
  return `${who} resource ${goQuote(what)} in API group ${goQuote(group)} ${where}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A role that all members of some groups have on every cluster. */
interface Grant {
  /** The name of the role, and of its binding. */
  readonly role: string;
  readonly groups: readonly string[];
  readonly rules: RuleIndex;
}

/** To review oneself, to discover what the server serves, and for the group of the same name to read metrics. */
const publicRoles = ["system:basic-user", "system:public-info-viewer", "system:discovery", "system:monitoring"];

const defaultGrants: readonly Grant[] = publicRoles.flatMap((role) =>
  bootstrapTable
    .filter(({ name }) => name === role)
    .map(({ rules, subjects = [] }) => ({
      role,
      rules: finish(RuleIndex.indexing(rules)),
      groups: subjects.map(({ name }) => name),
    })),
);

/** The rule of everything. */
const everything: readonly PolicyRule[] = bootstrapTable.find(({ name }) => name === "cluster-admin")?.rules ?? [];

/** Why a user is allowed by default; undefined when the user is not. */
function grantedReason(user: User, access: AccessAttributes): string | undefined {
  const wanted = soughtAccess(access);
  for (const { role, groups, rules } of defaultGrants) {
    const group = groups.find((name) => user.groups.includes(name));
    if (group !== undefined && rules.has(wanted)) {
      return `RBAC: allowed by ClusterRoleBinding "${role}" of ClusterRole "${role}" to Group "${group}"`;
    }
  }
  return undefined;
}

/** The rules of a user that is trusted with everything, or only with what everyone may do. */
function grantedRules(user: User, isTrusted: boolean): RuleSet {
  const granted = defaultGrants.filter(({ groups }) => groups.some((group) => user.groups.includes(group)));
  const rules = granted.map((grant) => grant.rules.rules);
  return { rules: isTrusted ? [...rules, everything] : rules, missing: [] };
}

/** One rule of a Role or ClusterRole: verbs on resources, or verbs on paths. Lists that are not set are empty. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** The rules of a Role or ClusterRole. */
export function* readingRules(role: JsonObject): Work<readonly PolicyRule[]> {
  const listed = memberAt(role, ["rules"]);
  const rules: PolicyRule[] = [];
  for (const rule of Array.isArray(listed) ? listed : []) {
    if (isPartDone()) yield;
    if (isJsonObject(rule)) rules.push(policyRule(rule));
  }
  return rules;
}

/** {@link readingRules} at once. */
export function rulesOfRole(role: JsonObject): readonly PolicyRule[] {
  return finish(readingRules(role));
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

/** A role that a binding refers to. The namespace is empty for ClusterRoles. */
export interface RoleRef {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** The rules of a user in a namespace. */
export interface RuleSet {
  /** By role. */
  readonly rules: readonly (readonly PolicyRule[])[];
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
