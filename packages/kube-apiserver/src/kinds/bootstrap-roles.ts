// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { defaultGrants, type Grant } from "../auth/default-grants.ts";
import { mastersGroup, serviceAccountsGroup } from "../auth/user.ts";
import { aggregatedRules } from "./aggregated-rules.ts";

const rbac = "rbac.authorization.k8s.io";
const autoupdate = { "rbac.authorization.kubernetes.io/autoupdate": "true" };

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
    ...Object.entries(aggregatedRules).map(([name, rules]) =>
      role(`system:aggregate-to-${name}`, rules, aggregateTo(name)),
    ),
    ...defaultGrants.map((grant) => role(grant.role, rulesOf(grant))),
    role("system:auth-delegator", [
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ]),
    role("system:monitoring", [
      { nonResourceURLs: monitored, verbs: ["get"] },
      { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
    ]),
    role("system:service-account-issuer-discovery", [{ nonResourceURLs: issuer, verbs: ["get"] }]),
  ];
}

/** Who has them. */
export function bootstrapBindings(): JsonObject[] {
  return [
    binding("cluster-admin", [mastersGroup]),
    ...defaultGrants.map((grant) => binding(grant.role, grant.groups)),
    binding("system:monitoring", ["system:monitoring"]),
    binding("system:service-account-issuer-discovery", [serviceAccountsGroup]),
  ];
}

const monitored = [
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
const issuer = ["/.well-known/openid-configuration", "/openid/v1/jwks"].flatMap((path) => [path, `${path}/`]);

function metadata(name: string, labels: JsonObject = {}): JsonObject {
  return { name, labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels }, annotations: autoupdate };
}

function role(name: string, rules: readonly JsonObject[], labels?: JsonObject): JsonObject {
  return { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: metadata(name, labels), rules };
}

function aggregateTo(name: string): JsonObject {
  return { [`${rbac}/aggregate-to-${name}`]: "true" };
}

/** A role that is made of others, and itself a part of `partOf`. Its rules come from the controller that puts them together. */
function aggregated(name: string, partOf: string | undefined): JsonObject {
  return {
    apiVersion: `${rbac}/v1`,
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
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: metadata(name),
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: groups.map((group) => ({ apiGroup: rbac, kind: "Group", name: group })),
  };
}
