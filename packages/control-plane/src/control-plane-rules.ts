// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";

const readWrite = ["get", "list", "watch", "create", "update", "patch", "delete"];

/**
 * The rights that the control plane itself needs: those of the ClusterRole `crossplane:system:aggregate-to-crossplane` of Crossplane's chart.
 * They do not include the kinds that compositions compose.
 */
export const controlPlaneRules: readonly JsonObject[] = [
  { apiGroups: [""], resources: ["events"], verbs: ["create", "update", "patch", "delete"] },
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions", "customresourcedefinitions/status"],
    verbs: ["*"],
  },
  { apiGroups: [""], resources: ["secrets"], verbs: readWrite },
  { apiGroups: [""], resources: ["serviceaccounts", "services"], verbs: ["*"] },
  {
    apiGroups: ["apiextensions.crossplane.io", "ops.crossplane.io", "pkg.crossplane.io", "protection.crossplane.io"],
    resources: ["*"],
    verbs: ["*"],
  },
  { apiGroups: ["extensions", "apps"], resources: ["deployments"], verbs: readWrite },
  { apiGroups: ["", "coordination.k8s.io"], resources: ["configmaps", "leases"], verbs: readWrite },
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
    verbs: readWrite,
  },
];
