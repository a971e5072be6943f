// SPDX-License-Identifier: Apache-2.0

import { parseApiVersion } from "@purlin/kube-objects";
import type { TypeRef } from "@purlin/kube-objects/object";

// Kinds outside namespaces, by group. Without an API server to ask, everything else counts as namespaced.
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

/** Whether objects of a kind live in namespaces, as far as that is known without asking anybody. */
export function isNamespaced({ apiVersion, kind }: TypeRef): boolean {
  const kinds = clusterScoped[parseApiVersion(apiVersion).group] ?? [];
  return !kinds.includes(kind);
}
