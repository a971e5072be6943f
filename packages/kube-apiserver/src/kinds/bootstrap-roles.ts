// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { defaultGrants, type Grant, monitoredPaths } from "../auth/default-grants.ts";
import { mastersGroup, serviceAccountsGroup } from "../auth/user.ts";

const read = "get list watch";
const writeParameters = "create delete deletecollection patch update";
const all = "create delete deletecollection get list patch update watch";
const create = "create";

const podWays = "pods/attach +exec +portforward +proxy";
const scaledSets = "replicasets +scale";
const network = "ingresses networkpolicies";

/** What the roles admin, edit and view are made of, kind by kind (facts of Kubernetes 1.36.3, Apache-2.0). */
const aggregatedRules: Readonly<Record<"admin" | "edit" | "view", readonly JsonObject[]>> = {
  admin: [
    rule("authorization.k8s.io", "localsubjectaccessreviews", create),
    rule("rbac.authorization.k8s.io", "rolebindings roles", all),
  ],
  edit: [
    rule("", `${podWays} secrets services/proxy`, read),
    rule("", "serviceaccounts", "impersonate"),
    rule("", `pods ${podWays}`, writeParameters),
    rule("", "pods/eviction", create),
    rule(
      "",
      "configmaps persistentvolumeclaims replicationcontrollers +scale secrets serviceaccounts services +proxy",
      writeParameters,
    ),
    rule("", "serviceaccounts/token", create),
    rule(",events.k8s.io", "events", writeParameters),
    rule("apps", `daemonsets deployments +rollback +scale ${scaledSets} statefulsets +scale`, writeParameters),
    rule("autoscaling", "horizontalpodautoscalers", writeParameters),
    rule("batch", "cronjobs jobs", writeParameters),
    rule(
      "extensions",
      `daemonsets deployments +rollback +scale ${network} ${scaledSets} replicationcontrollers/scale`,
      writeParameters,
    ),
    rule("policy", "poddisruptionbudgets", writeParameters),
    rule("networking.k8s.io", network, writeParameters),
    rule("coordination.k8s.io", "leases", all),
    rule("resource.k8s.io", "resourceclaims resourceclaimtemplates", writeParameters),
  ],
  view: [
    rule(
      "",
      "configmaps endpoints persistentvolumeclaims +status pods replicationcontrollers +scale serviceaccounts services +status",
      read,
    ),
    rule(
      "",
      "bindings limitranges namespaces/status pods/log +status replicationcontrollers/status resourcequotas +status",
      read,
    ),
    rule("", "namespaces", read),
    rule(",events.k8s.io", "events", read),
    rule("discovery.k8s.io", "endpointslices", read),
    rule(
      "apps",
      `controllerrevisions daemonsets +status deployments +scale +status ${scaledSets} +status statefulsets +scale +status`,
      read,
    ),
    rule("autoscaling", "horizontalpodautoscalers +status", read),
    rule("batch", "cronjobs +status jobs +status", read),
    rule(
      "extensions",
      `daemonsets +status deployments +scale +status ingresses +status networkpolicies ${scaledSets} +status replicationcontrollers/scale`,
      read,
    ),
    rule("policy", "poddisruptionbudgets +status", read),
    rule("networking.k8s.io", "ingresses +status networkpolicies", read),
    rule("resource.k8s.io", "resourceclaims +status resourceclaimtemplates", read),
  ],
};

/** A rule from words: groups by comma, resources and verbs by blank; `+status` is that of the resource before it. */
function rule(groups: string, words: string, verbs: string): JsonObject {
  const resources: string[] = [];
  for (const word of words.split(" ")) {
    const [before = ""] = resources.at(-1)?.split("/") ?? [];
    resources.push(word.startsWith("+") ? `${before}/${word.slice(1)}` : word);
  }
  return { apiGroups: groups.split(","), resources, verbs: verbs.split(" ") };
}

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
      { nonResourceURLs: [...monitoredPaths], verbs: ["get"] },
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
