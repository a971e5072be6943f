// SPDX-License-Identifier: Apache-2.0

import type { GroupVersionKind } from "@purlin/kube-objects/object";

/** Cluster-scoped kinds of Kubernetes and Crossplane, by group. */
const clusterScoped: Readonly<Record<string, readonly string[]>> = {
  "": ["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
  "admissionregistration.k8s.io": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
  ],
  "apiextensions.k8s.io": ["CustomResourceDefinition"],
  "apiextensions.crossplane.io": [
    "Composition",
    "CompositionRevision",
    "CompositeResourceDefinition",
    "EnvironmentConfig",
    "ManagedResourceActivationPolicy",
    "ManagedResourceDefinition",
    "Usage",
  ],
  "apiregistration.k8s.io": ["APIService"],
  "certificates.k8s.io": ["CertificateSigningRequest", "ClusterTrustBundle"],
  "flowcontrol.apiserver.k8s.io": ["FlowSchema", "PriorityLevelConfiguration"],
  "networking.k8s.io": ["IPAddress", "IngressClass", "ServiceCIDR"],
  "node.k8s.io": ["RuntimeClass"],
  "ops.crossplane.io": ["CronOperation", "Operation", "WatchOperation"],
  "pkg.crossplane.io": [
    "Configuration",
    "ConfigurationRevision",
    "DeploymentRuntimeConfig",
    "Function",
    "FunctionRevision",
    "ImageConfig",
    "Lock",
    "Provider",
    "ProviderRevision",
  ],
  "protection.crossplane.io": ["ClusterUsage"],
  "rbac.authorization.k8s.io": ["ClusterRole", "ClusterRoleBinding"],
  "resource.k8s.io": ["DeviceClass", "ResourceSlice"],
  "scheduling.k8s.io": ["PriorityClass"],
  "storage.k8s.io": ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
  "storagemigration.k8s.io": ["StorageVersionMigration"],
};

/** Whether a kind of Kubernetes or Crossplane is cluster-scoped. Without an API server, any other kind counts as namespaced. */
export function isClusterScoped({ group, kind }: Pick<GroupVersionKind, "group" | "kind">): boolean {
  return Object.hasOwn(clusterScoped, group) && clusterScoped[group]?.includes(kind) === true;
}
