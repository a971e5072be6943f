// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { DEFAULT_GRANTS, type Grant } from "../auth/default-grants.ts";
import { MASTERS_GROUP, SERVICE_ACCOUNTS_GROUP } from "../auth/user.ts";
import { AGGREGATED_RULES } from "./aggregated-rules.ts";

const RBAC = "rbac.authorization.k8s.io";
const AUTOUPDATE = { "rbac.authorization.kubernetes.io/autoupdate": "true" };

/** The ClusterRoles a cluster has that do not belong to nodes or to controllers it does not have. */
export function bootstrapRoles(): JsonObject[] {
  return [
    role("cluster-admin", [
      { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
      { nonResourceURLs: ["*"], verbs: ["*"] },
    ]),
    aggregated("admin", undefined),
    aggregated("edit", "admin"),
    aggregated("view", "edit"),
    ...Object.entries(AGGREGATED_RULES).map(([name, rules]) =>
      role(`system:aggregate-to-${name}`, rules, aggregateTo(name)),
    ),
    ...DEFAULT_GRANTS.map((grant) => role(grant.role, rulesOf(grant))),
    role("system:auth-delegator", [
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ]),
    role("system:monitoring", [
      { nonResourceURLs: MONITORED, verbs: ["get"] },
      { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
    ]),
    role("system:service-account-issuer-discovery", [{ nonResourceURLs: ISSUER, verbs: ["get"] }]),
  ];
}

/** Who has them. */
export function bootstrapBindings(): JsonObject[] {
  return [
    binding("cluster-admin", [MASTERS_GROUP]),
    ...DEFAULT_GRANTS.map((grant) => binding(grant.role, grant.groups)),
    binding("system:monitoring", ["system:monitoring"]),
    binding("system:service-account-issuer-discovery", [SERVICE_ACCOUNTS_GROUP]),
  ];
}

const MONITORED = [
  "/flagz",
  "/healthz",
  "/healthz/*",
  "/livez",
  "/livez/*",
  "/metrics",
  "/metrics/slis",
  "/readyz",
  "/readyz/*",
  "/statusz",
];
const ISSUER = ["/.well-known/openid-configuration", "/openid/v1/jwks"].flatMap((path) => [path, `${path}/`]);

function metadata(name: string, labels: JsonObject = {}): JsonObject {
  return { name, labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels }, annotations: AUTOUPDATE };
}

function role(name: string, rules: readonly JsonObject[], labels?: JsonObject): JsonObject {
  return { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: metadata(name, labels), rules };
}

function aggregateTo(name: string): JsonObject {
  return { [`${RBAC}/aggregate-to-${name}`]: "true" };
}

/** A role that is made of others, and itself a part of `partOf`. Its rules come from the controller that puts them together. */
function aggregated(name: string, partOf: string | undefined): JsonObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: metadata(name, partOf === undefined ? {} : aggregateTo(partOf)),
    rules: null,
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(name) }] },
  };
}

function rulesOf({ resources, paths }: Grant): JsonObject[] {
  return [
    ...resources.map(({ group, resources: names, verb }) => ({ apiGroups: [group], resources: names, verbs: [verb] })),
    ...(paths.length === 0 ? [] : [{ nonResourceURLs: paths, verbs: ["get"] }]),
  ];
}

function binding(name: string, groups: readonly string[]): JsonObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: metadata(name),
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
    subjects: groups.map((group) => ({ apiGroup: RBAC, kind: "Group", name: group })),
  };
}
