// SPDX-License-Identifier: Apache-2.0
import { controlPlaneRules } from "@purlin/control-plane";
import { type Authorization, mastersGroup, type User } from "@purlin/kube-apiserver";
import type { JsonObject } from "@purlin/kube-objects/json";
import { simulatorRules } from "@purlin/workload-simulator";

const group = "rbac.authorization.k8s.io";
const toCrossplane = { "rbac.crossplane.io/aggregate-to-crossplane": "true" };
const systemRole = "crossplane:system:aggregate-to-crossplane";

/**
 * Users, not ServiceAccounts: a client that may create tokens of ServiceAccounts in their namespace would have the rights of a controller.
 * Certificates with names that begin with `system:` are not issued.
 */
const controlPlaneName = "system:purlin:control-plane";
const simulatorName = "system:purlin:workload-simulator";
const grantorName = "system:purlin:provider-roles";

/** The user that the controllers of the control plane are. */
export function controlPlaneUser(authorization: Authorization): User {
  return userOf(controlPlaneName, authorization);
}

/** The user that the simulator of workloads is. */
export function simulatorUser(authorization: Authorization): User {
  return userOf(simulatorName, authorization);
}

/**
 * The user that grants rights to Providers and issues their tokens. The control plane itself must not have these rights: with them, any user who
 * writes a composition could grant anything.
 */
export function grantorUser(authorization: Authorization): User {
  return userOf(grantorName, authorization);
}

/** A server that does not evaluate roles allows only masters. */
function userOf(name: string, authorization: Authorization): User {
  const own = authorization === "admin" ? [mastersGroup] : [];
  return { name, groups: [...own, "system:authenticated"] };
}

/**
 * The roles of the control plane, by the names of Crossplane's chart, and one more with which compositions compose every kind. Operators narrow
 * that one: with the annotation `rbac.authorization.kubernetes.io/autoupdate: "false"`, it stays as they write it.
 */
export const controlPlaneRoles: readonly JsonObject[] = [
  aggregatedRole("crossplane", toCrossplane),
  clusterRole(systemRole, controlPlaneRules, toCrossplane),
  clusterRole("purlin:compose", [
    {
      apiGroups: ["*"],
      resources: ["*"],
      verbs: ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
    },
  ]),
  binding("crossplane", "crossplane", controlPlaneName),
  // Aggregation takes a moment after the first start: these are bound by themselves.
  binding(systemRole, systemRole, controlPlaneName),
  binding("purlin:compose", "purlin:compose", controlPlaneName),
  clusterRole("purlin:provider-roles", [
    {
      apiGroups: [group],
      resources: ["clusterroles", "clusterrolebindings"],
      verbs: ["get", "list", "watch", "create", "update", "patch", "escalate", "bind"],
    },
    { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
    // ProviderRevisions own these roles; OwnerReferencesPermissionEnforcement asks for it.
    { apiGroups: ["pkg.crossplane.io"], resources: ["providerrevisions/finalizers"], verbs: ["update"] },
  ]),
  binding("purlin:provider-roles", "purlin:provider-roles", grantorName),
];

/** The role of the simulator of workloads. */
export const simulatorRoles: readonly JsonObject[] = [
  clusterRole("purlin:workload-simulator", simulatorRules),
  binding("purlin:workload-simulator", "purlin:workload-simulator", simulatorName),
];

function metadata(name: string, labels: JsonObject = {}): JsonObject {
  return {
    name,
    labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
    annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
  };
}

function clusterRole(name: string, rules: readonly JsonObject[], labels?: JsonObject): JsonObject {
  return { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: metadata(name, labels), rules };
}

function aggregatedRole(name: string, matchLabels: JsonObject): JsonObject {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels }] };
  return { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: metadata(name), rules: null, aggregationRule };
}

function binding(name: string, role: string, user: string): JsonObject {
  return {
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: metadata(name),
    roleRef: { apiGroup: group, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: group, kind: "User", name: user }],
  };
}
