// SPDX-License-Identifier: Apache-2.0
// Which API group versions of the reference release the embedded API server offers, and so which schemas ship with it.

/** The Kubernetes release whose schemas ship. Raise it here, run the tool, read the diff. */
export const release = "v1.36.3";

/** The path keys of the group versions that a server of the release serves by default. Each is taken whole. */
export const servedVersions: readonly string[] = [
  "api/v1",
  "apis/admissionregistration.k8s.io/v1",
  "apis/apiextensions.k8s.io/v1",
  "apis/apiregistration.k8s.io/v1",
  "apis/apps/v1",
  "apis/authentication.k8s.io/v1",
  "apis/authorization.k8s.io/v1",
  "apis/autoscaling/v1",
  "apis/autoscaling/v2",
  "apis/batch/v1",
  "apis/certificates.k8s.io/v1",
  "apis/coordination.k8s.io/v1",
  "apis/discovery.k8s.io/v1",
  "apis/events.k8s.io/v1",
  "apis/flowcontrol.apiserver.k8s.io/v1",
  "apis/networking.k8s.io/v1",
  "apis/node.k8s.io/v1",
  "apis/policy/v1",
  "apis/rbac.authorization.k8s.io/v1",
  "apis/resource.k8s.io/v1",
  "apis/scheduling.k8s.io/v1",
  "apis/storage.k8s.io/v1",
];

/** Documents beside the group versions: the responses of discovery and of `/version`. */
export function discoveryDocuments(): string[] {
  const versions = servedVersions.filter((key) => key.startsWith("apis/"));
  const groups = new Set(versions.map((key) => key.slice(0, key.lastIndexOf("/"))));
  return ["api", "apis", ...groups, "version"];
}
