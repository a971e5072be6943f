// SPDX-License-Identifier: Apache-2.0
import {
  defineKinds,
  type KindDefinition,
  type KindRow,
  type KindSource,
  type Store,
  scaleSubresource,
  statusSubresource,
} from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { pathSegmentName } from "@purlin/kube-objects/metadata";
import { claimRules, claimTemplateRules, deviceClassRules } from "../devices/device-rules.ts";
import { sliceRules } from "../devices/slice-rules.ts";
import { limitRangeRules, limitRanger } from "../quota/limit-ranger.ts";
import { ResourceQuotas } from "../quota/resource-quota.ts";
import { controllerRules, podTemplateRules } from "../workloads/template.ts";
import {
  claimResize,
  defaultIngressClass,
  defaultStorageClass,
  priorityClassRules,
  runtimeClassRules,
} from "./class-rules.ts";
import { flowSchemaRules, priorityLevelRules } from "./flow-rules.ts";
import { nodeRules } from "./node-rules.ts";
import { signingRequestRules, subjectRestriction } from "./signing-request-rules.ts";

/** Kinds of the core group about the cluster and about what its namespaces may use. */
export function clusterKinds(store: Store<JsonObject>): readonly KindRow[] {
  const quotas = new ResourceQuotas(store);
  return [
    { resource: "bindings", kind: "Binding", verbs: ["create"] },
    {
      resource: "componentstatuses",
      kind: "ComponentStatus",
      short: ["cs"],
      cluster: true,
      verbs: ["get", "list"],
      rules: { requestWarnings: ["v1 ComponentStatus is deprecated in v1.19+"] },
    },
    {
      resource: "limitranges",
      kind: "LimitRange",
      short: ["limits"],
      write: { createOnUpdate: true },
      rules: limitRangeRules,
      admission: [
        limitRanger(store),
        defaultStorageClass(store),
        claimResize(store),
        defaultIngressClass(store),
        subjectRestriction,
      ],
    },
    {
      resource: "nodes",
      kind: "Node",
      short: ["no"],
      cluster: true,
      subresources: [statusSubresource],
      unserved: { proxy: "proxy requests to" },
      rules: nodeRules,
    },
    {
      resource: "podtemplates",
      kind: "PodTemplate",
      write: { generation: "outside-metadata", returnsDeleted: true },
      rules: podTemplateRules,
    },
    {
      resource: "replicationcontrollers",
      kind: "ReplicationController",
      short: ["rc"],
      categories: ["all"],
      subresources: [scaleSubresource, statusSubresource],
      write: { generation: "spec", orphansByDefault: true },
      rules: controllerRules,
    },
    {
      resource: "resourcequotas",
      kind: "ResourceQuota",
      short: ["quota"],
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: quotas.rules,
      admission: [quotas.plugin],
    },
  ];
}

function systemPriority(name: string, value: number, description: string): JsonObject {
  return { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value, description };
}

const systemPriorities = [
  systemPriority(
    "system-node-critical",
    2_000_001_000,
    "Used for system critical pods that must not be moved from their current node.",
  ),
  systemPriority(
    "system-cluster-critical",
    2_000_000_000,
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  ),
];

const flowKind: Pick<KindRow, "cluster" | "subresources" | "write"> = {
  cluster: true,
  subresources: [statusSubresource],
  write: { generation: "spec" },
};

/** Kinds of small groups about requests, priorities, runtimes and devices. */
export const groupKinds = ({
  now,
  store,
}: Pick<Parameters<KindSource>[0], "now" | "store">): readonly KindDefinition[] => [
  ...defineKinds({ group: "certificates.k8s.io", version: "v1", priority: 17_300 }, [
    {
      resource: "certificatesigningrequests",
      kind: "CertificateSigningRequest",
      short: ["csr"],
      cluster: true,
      subresources: [{ name: "approval", verbs: ["get", "patch", "update"] }, statusSubresource],
      write: { name: pathSegmentName },
      rules: signingRequestRules(now),
    },
  ]),
  ...defineKinds({ group: "scheduling.k8s.io", version: "v1", priority: 16_600 }, [
    {
      resource: "priorityclasses",
      kind: "PriorityClass",
      short: ["pc"],
      cluster: true,
      write: { generation: "spec" },
      rules: priorityClassRules,
      initialObjects: systemPriorities,
    },
  ]),
  ...defineKinds({ group: "node.k8s.io", version: "v1", priority: 16_300 }, [
    {
      resource: "runtimeclasses",
      kind: "RuntimeClass",
      cluster: true,
      write: { createOnUpdate: true, unconditionalUpdate: false },
      rules: runtimeClassRules,
    },
  ]),
  ...defineKinds({ group: "resource.k8s.io", version: "v1", priority: 16_200 }, [
    {
      resource: "deviceclasses",
      kind: "DeviceClass",
      cluster: true,
      write: { generation: "spec", returnsDeleted: true },
      rules: deviceClassRules,
    },
    {
      resource: "resourceclaims",
      kind: "ResourceClaim",
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: claimRules(store),
    },
    {
      resource: "resourceclaimtemplates",
      kind: "ResourceClaimTemplate",
      write: { returnsDeleted: true },
      rules: claimTemplateRules(store),
    },
    {
      resource: "resourceslices",
      kind: "ResourceSlice",
      cluster: true,
      write: { generation: "spec", returnsDeleted: true },
      rules: sliceRules(now),
    },
  ]),
  ...defineKinds({ group: "flowcontrol.apiserver.k8s.io", version: "v1", priority: 16_100 }, [
    { resource: "flowschemas", kind: "FlowSchema", ...flowKind, rules: flowSchemaRules },
    {
      resource: "prioritylevelconfigurations",
      kind: "PriorityLevelConfiguration",
      ...flowKind,
      rules: priorityLevelRules,
    },
  ]),
];
