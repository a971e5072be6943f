// SPDX-License-Identifier: Apache-2.0
// The built-in resources the embedded server stores: what it lists in discovery is compared for these, and for these only.

/** Resources by group version; subresources belong to their resource. */
export const servedResources: Readonly<Record<string, readonly string[]>> = {
  v1: ["namespaces", "configmaps", "secrets", "serviceaccounts", "services", "events", "endpoints", "pods"],
  "apps/v1": ["deployments", "replicasets", "statefulsets", "daemonsets"],
  "batch/v1": ["jobs", "cronjobs"],
  "coordination.k8s.io/v1": ["leases"],
  "events.k8s.io/v1": ["events"],
  "rbac.authorization.k8s.io/v1": ["clusterroles", "clusterrolebindings", "roles", "rolebindings"],
  "apiextensions.k8s.io/v1": ["customresourcedefinitions"],
  "admissionregistration.k8s.io/v1": ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
  "discovery.k8s.io/v1": ["endpointslices"],
  "authorization.k8s.io/v1": [
    "selfsubjectaccessreviews",
    "subjectaccessreviews",
    "localsubjectaccessreviews",
    "selfsubjectrulesreviews",
  ],
  "authentication.k8s.io/v1": ["tokenreviews", "selfsubjectreviews"],
};

/** Subresources that belong to running pods, which an embedded server does not do. */
const unservedSubresources = new Set([
  "pods/attach",
  "pods/binding",
  "pods/ephemeralcontainers",
  "pods/eviction",
  "pods/exec",
  "pods/log",
  "pods/portforward",
  "pods/proxy",
  "pods/resize",
  "services/proxy",
]);

/** Whether a resource, or a subresource such as `pods/log`, is one of those. */
export function isServed(groupVersion: string, resource: string): boolean {
  const [plural = ""] = resource.split("/");
  return (servedResources[groupVersion]?.includes(plural) ?? false) && !unservedSubresources.has(resource);
}

/** The groups of those resources. */
export const servedGroups: ReadonlySet<string> = new Set(
  Object.keys(servedResources).map((version) => (version.includes("/") ? (version.split("/")[0] ?? "") : "")),
);
