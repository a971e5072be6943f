// SPDX-License-Identifier: Apache-2.0
import { finish } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
import { type PolicyRule, rulesOfRole } from "../auth/authorizer.ts";
import { type BootstrapRole, type BootstrapSubject, bootstrapTable } from "../auth/rbac/bootstrap-table.ts";
import { missingRights, ruleOf, withoutLimits } from "../auth/rbac/escalation.ts";
import { RuleIndex } from "../auth/rbac/rule-index.ts";
import { metaOf } from "../objects/object-members.ts";

const rbac = "rbac.authorization.k8s.io";
const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "true" };

const ofCluster = bootstrapTable.filter(({ namespace }) => namespace === "");
const ofNamespaces = bootstrapTable.filter(({ namespace }) => namespace !== "");

/** Roles that aggregate others, and the role that they are part of themselves. */
const aggregated: Readonly<Record<string, string | undefined>> = { admin: undefined, edit: "admin", view: "edit" };

/** The ClusterRoles that every cluster has. */
export function bootstrapClusterRoles(): JsonObject[] {
  return ofCluster.map((role) => (role.name in aggregated ? aggregatedRole(role.name) : roleOf(role, "ClusterRole")));
}

/** The Roles that every cluster has. */
export function bootstrapRoles(): JsonObject[] {
  return ofNamespaces.map((role) => roleOf(role, "Role"));
}

/** The ClusterRoleBindings that every cluster has. */
export function bootstrapClusterRoleBindings(): JsonObject[] {
  return ofCluster.flatMap((role) => bindingOf(role, "ClusterRole"));
}

/** The RoleBindings that every cluster has. */
export function bootstrapRoleBindings(): JsonObject[] {
  return ofNamespaces.flatMap((role) => bindingOf(role, "Role"));
}

function metadata({ name, namespace }: Pick<BootstrapRole, "name" | "namespace">, labels: JsonObject = {}): JsonObject {
  return {
    name,
    ...(namespace === "" ? {} : { namespace }),
    labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
    annotations,
  };
}

function roleOf(role: BootstrapRole, kind: string): JsonObject {
  const [, part] = /^system:aggregate-to-(.*)$/.exec(role.name) ?? [];
  const labels = part === undefined ? {} : aggregateTo(part);
  return { apiVersion: `${rbac}/v1`, kind, metadata: metadata(role, labels), rules: role.rules.map(ruleObject) };
}

/** A rule as an object, without its empty lists. */
function ruleObject(rule: PolicyRule): JsonObject {
  return Object.fromEntries(Object.entries(rule).filter(([, values]) => values.length > 0));
}

function aggregateTo(name: string): JsonObject {
  return { [`${rbac}/aggregate-to-${name}`]: "true" };
}

/** A role that is made of others. A controller writes its rules. */
function aggregatedRole(name: string): JsonObject {
  const partOf = aggregated[name];
  return {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRole",
    metadata: metadata({ name, namespace: "" }, partOf === undefined ? {} : aggregateTo(partOf)),
    rules: null,
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(name) }] },
  };
}

/** One binding has another name than its role. */
const bindingNames: Readonly<Record<string, string>> = {
  "extension-apiserver-authentication-reader": "system::extension-apiserver-authentication-reader",
};

function bindingOf({ name, namespace, subjects }: BootstrapRole, kind: string): JsonObject[] {
  if (subjects === undefined) return [];
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata: metadata({ name: bindingNames[name] ?? name, namespace }),
    roleRef: { apiGroup: rbac, kind, name },
    ...(subjects.length === 0 ? {} : { subjects: subjects.map(subjectObject) }),
  };
  return [binding];
}

function subjectObject({ kind, name }: BootstrapSubject): JsonObject {
  return kind === "ServiceAccount" ? { kind, name, namespace: "kube-system" } : { apiGroup: rbac, kind, name };
}

const autoupdate = "rbac.authorization.kubernetes.io/autoupdate";

/**
 * A role as it must be after a start: with all rights, labels and annotations of the bootstrap role. What was added to it stays.
 * Returns the same object when nothing is missing, or when its annotation turns updates off.
 */
export function reconciledRole(existing: JsonObject, wanted: JsonObject): JsonObject {
  if (isProtected(existing)) return existing;
  const held = finish(RuleIndex.indexing(rulesOfRole(existing)));
  const { rights } = finish(missingRights([held], rulesOfRole(wanted), withoutLimits));
  const missing = rights.map((right) => ruleObject(ruleOf(right)));
  const rules = missing.length === 0 ? {} : { rules: [...listAt(existing, "rules"), ...missing] };
  return withMetadata({ ...existing, ...rules, ...missingSelectors(existing, wanted) }, existing, wanted);
}

function missingSelectors(existing: JsonObject, wanted: JsonObject): JsonObject {
  const path = ["aggregationRule", "clusterRoleSelectors"] as const;
  const held = listAt(existing, ...path);
  const missing = listAt(wanted, ...path).filter((selector) => !held.some((one) => jsonEqual(one, selector)));
  return missing.length === 0 ? {} : { aggregationRule: { clusterRoleSelectors: [...held, ...missing] } };
}

/**
 * A binding as it must be after a start: with all subjects of the bootstrap binding; undefined when it refers to another role and
 * has to be created again.
 */
export function reconciledBinding(existing: JsonObject, wanted: JsonObject): JsonObject | undefined {
  if (isProtected(existing)) return existing;
  if (!jsonEqual(objectAt(existing, ["roleRef"]), objectAt(wanted, ["roleRef"]))) return undefined;
  const held = listAt(existing, "subjects");
  const missing = listAt(wanted, "subjects").filter((subject) => !held.some((one) => jsonEqual(one, subject)));
  const subjects = missing.length === 0 ? {} : { subjects: [...held, ...missing] };
  return withMetadata({ ...existing, ...subjects }, existing, wanted);
}

function isProtected(object: JsonObject): boolean {
  return metaOf(object).annotations?.[autoupdate] === "false";
}

function withMetadata(changed: JsonObject, existing: JsonObject, wanted: JsonObject): JsonObject {
  const [meta, expected] = [objectAt(existing, ["metadata"]), objectAt(wanted, ["metadata"])];
  const metadata = {
    ...meta,
    labels: { ...objectAt(expected, ["labels"]), ...objectAt(meta, ["labels"]) },
    annotations: { ...objectAt(expected, ["annotations"]), ...objectAt(meta, ["annotations"]) },
  };
  const result = { ...changed, metadata };
  return jsonEqual(result, existing) ? existing : result;
}

function listAt(object: JsonObject, ...path: readonly string[]): readonly JsonObject[] {
  const value: JsonValue | undefined = memberAt(object, [...path]);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
