// SPDX-License-Identifier: Apache-2.0
// The group versions of built-in kinds, and the few of their resources that the embedded server does not list in discovery.

/** The group versions that both servers serve. */
export const servedVersions: readonly string[] = [
  "v1",
  "admissionregistration.k8s.io/v1",
  "apiextensions.k8s.io/v1",
  "apps/v1",
  "authentication.k8s.io/v1",
  "authorization.k8s.io/v1",
  "autoscaling/v1",
  "autoscaling/v2",
  "batch/v1",
  "certificates.k8s.io/v1",
  "coordination.k8s.io/v1",
  "discovery.k8s.io/v1",
  "events.k8s.io/v1",
  "flowcontrol.apiserver.k8s.io/v1",
  "networking.k8s.io/v1",
  "node.k8s.io/v1",
  "policy/v1",
  "rbac.authorization.k8s.io/v1",
  "resource.k8s.io/v1",
  "scheduling.k8s.io/v1",
  "storage.k8s.io/v1",
];

/** Resources that the embedded server does not list: they belong to running containers. A request for one is answered with 501. */
const unserved = new Set([
  "nodes/proxy",
  "pods/attach",
  "pods/exec",
  "pods/log",
  "pods/portforward",
  "pods/proxy",
  "services/proxy",
]);

/** Whether both servers list a resource, or a subresource such as `pods/log`. */
export function isServed(groupVersion: string, resource: string): boolean {
  return servedVersions.includes(groupVersion) && (groupVersion !== "v1" || !unserved.has(resource));
}
