// SPDX-License-Identifier: Apache-2.0
import { labelName, pathSegmentName, subdomainName } from "@purlin/kube-objects/metadata";
import type { ResourceType, Subresource, WriteRules } from "./resource-type.ts";

const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS: Subresource = { name: "status", verbs: ["get", "patch", "update"] };
const SCALE: Subresource = {
  name: "scale",
  verbs: ["get", "patch", "update"],
  kind: { group: "autoscaling", version: "v1", kind: "Scale" },
};

const DEFAULT_RULES: WriteRules = {
  name: subdomainName,
  createOnUpdate: false,
  unconditionalUpdate: true,
  generation: undefined,
  returnsDeleted: false,
  orphansByDefault: false,
  ttlSeconds: undefined,
};

interface Row {
  readonly resource: string;
  readonly kind: string;
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
  readonly cluster?: true;
  readonly verbs?: readonly string[];
  readonly subresources?: readonly Subresource[];
  readonly rules?: Partial<WriteRules>;
  /** The group whose objects of the same resource these are. */
  readonly storedIn?: string;
  /** The version discovery says objects are stored in, if it is not the served one. */
  readonly storageVersion?: string;
}

const HOUR_SECONDS = 3600;
const workload: Pick<Row, "categories"> = { categories: ["all"] };
const event: Row = {
  resource: "events",
  kind: "Event",
  short: ["ev"],
  rules: { createOnUpdate: true, ttlSeconds: HOUR_SECONDS },
};
const rbac: Partial<WriteRules> = { name: pathSegmentName, createOnUpdate: true };
const hooks: Pick<Row, "cluster" | "categories" | "rules"> = {
  cluster: true,
  categories: ["api-extensions"],
  rules: { unconditionalUpdate: false, generation: "spec" },
};

/** The kinds the server knows by itself, by group and version, groups in the order discovery lists them. */
const TABLE: readonly (readonly [group: string, version: string, rows: readonly Row[]])[] = [
  [
    "",
    "v1",
    [
      { resource: "configmaps", kind: "ConfigMap", short: ["cm"] },
      { resource: "endpoints", kind: "Endpoints", short: ["ep"], rules: { createOnUpdate: true } },
      // Named after their subjects, whatever those are called. In their own group names are as those of others.
      { ...event, rules: { ...event.rules, name: pathSegmentName } },
      {
        resource: "namespaces",
        kind: "Namespace",
        short: ["ns"],
        cluster: true,
        verbs: ALL_VERBS.filter((verb) => verb !== "deletecollection"),
        subresources: [{ name: "finalize", verbs: ["update"] }, STATUS],
        rules: { name: labelName, returnsDeleted: true },
      },
      {
        resource: "pods",
        kind: "Pod",
        short: ["po"],
        ...workload,
        subresources: [STATUS],
        rules: { generation: "spec", returnsDeleted: true },
      },
      { resource: "secrets", kind: "Secret" },
      {
        resource: "serviceaccounts",
        kind: "ServiceAccount",
        short: ["sa"],
        subresources: [
          {
            name: "token",
            verbs: ["create"],
            kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
          },
        ],
        rules: { returnsDeleted: true },
      },
      {
        resource: "services",
        kind: "Service",
        short: ["svc"],
        ...workload,
        subresources: [STATUS],
        rules: { name: labelName, createOnUpdate: true, returnsDeleted: true },
      },
    ],
  ],
  [
    "apiregistration.k8s.io",
    "v1",
    [
      {
        resource: "apiservices",
        kind: "APIService",
        cluster: true,
        categories: ["api-extensions"],
        verbs: ["get", "list", "watch"],
        subresources: [{ name: "status", verbs: ["get"] }],
      },
    ],
  ],
  [
    "apps",
    "v1",
    [
      {
        resource: "daemonsets",
        kind: "DaemonSet",
        short: ["ds"],
        ...workload,
        subresources: [STATUS],
        rules: { generation: "spec" },
      },
      {
        resource: "deployments",
        kind: "Deployment",
        short: ["deploy"],
        ...workload,
        subresources: [SCALE, STATUS],
        rules: { generation: "spec-and-annotations" },
      },
      {
        resource: "replicasets",
        kind: "ReplicaSet",
        short: ["rs"],
        ...workload,
        subresources: [SCALE, STATUS],
        rules: { generation: "spec" },
      },
      {
        resource: "statefulsets",
        kind: "StatefulSet",
        short: ["sts"],
        ...workload,
        subresources: [SCALE, STATUS],
        rules: { name: labelName, generation: "spec" },
      },
    ],
  ],
  ["events.k8s.io", "v1", [{ ...event, storedIn: "" }]],
  [
    "authentication.k8s.io",
    "v1",
    [
      { resource: "selfsubjectreviews", kind: "SelfSubjectReview", cluster: true, verbs: ["create"] },
      { resource: "tokenreviews", kind: "TokenReview", cluster: true, verbs: ["create"] },
    ],
  ],
  [
    "authorization.k8s.io",
    "v1",
    [
      { resource: "localsubjectaccessreviews", kind: "LocalSubjectAccessReview", verbs: ["create"] },
      { resource: "selfsubjectaccessreviews", kind: "SelfSubjectAccessReview", cluster: true, verbs: ["create"] },
      { resource: "selfsubjectrulesreviews", kind: "SelfSubjectRulesReview", cluster: true, verbs: ["create"] },
      { resource: "subjectaccessreviews", kind: "SubjectAccessReview", cluster: true, verbs: ["create"] },
    ],
  ],
  [
    "batch",
    "v1",
    [
      {
        resource: "cronjobs",
        kind: "CronJob",
        short: ["cj"],
        ...workload,
        subresources: [STATUS],
        rules: { generation: "spec" },
      },
      {
        resource: "jobs",
        kind: "Job",
        ...workload,
        subresources: [STATUS],
        rules: { generation: "spec", orphansByDefault: true },
      },
    ],
  ],
  [
    "rbac.authorization.k8s.io",
    "v1",
    [
      { resource: "clusterrolebindings", kind: "ClusterRoleBinding", cluster: true, rules: rbac },
      { resource: "clusterroles", kind: "ClusterRole", cluster: true, rules: rbac },
      { resource: "rolebindings", kind: "RoleBinding", rules: rbac },
      { resource: "roles", kind: "Role", rules: rbac },
    ],
  ],
  [
    "admissionregistration.k8s.io",
    "v1",
    [
      { resource: "mutatingwebhookconfigurations", kind: "MutatingWebhookConfiguration", ...hooks },
      { resource: "validatingwebhookconfigurations", kind: "ValidatingWebhookConfiguration", ...hooks },
    ],
  ],
  [
    "apiextensions.k8s.io",
    "v1",
    [
      {
        resource: "customresourcedefinitions",
        kind: "CustomResourceDefinition",
        short: ["crd", "crds"],
        storageVersion: "v1beta1",
        cluster: true,
        categories: ["api-extensions"],
        subresources: [STATUS],
        rules: { unconditionalUpdate: false, generation: "spec" },
      },
    ],
  ],
  [
    "coordination.k8s.io",
    "v1",
    [{ resource: "leases", kind: "Lease", rules: { createOnUpdate: true, unconditionalUpdate: false } }],
  ],
  ["discovery.k8s.io", "v1", [{ resource: "endpointslices", kind: "EndpointSlice", rules: { generation: "spec" } }]],
];

/** The built-in resources, in the order discovery lists their groups. */
export const BUILTIN_RESOURCES: readonly ResourceType[] = TABLE.flatMap(([group, version, rows]) =>
  rows.map((row) => toType(group, version, row)),
);

function toType(group: string, version: string, row: Row): ResourceType {
  const { resource, kind } = row;
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    resource,
    singular: kind.toLowerCase(),
    shortNames: row.short ?? [],
    categories: row.categories ?? [],
    namespaced: row.cluster !== true,
    verbs: row.verbs ?? ALL_VERBS,
    subresources: row.subresources ?? [],
    custom: false,
    storage: { group: row.storedIn ?? group, version: row.storageVersion ?? "v1", resource },
    rules: { ...DEFAULT_RULES, ...row.rules },
  };
}
