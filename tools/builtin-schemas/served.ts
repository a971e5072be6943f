// SPDX-License-Identifier: Apache-2.0
// Which resources of the reference release the embedded API server offers, and so which schemas ship with it.

/** The Kubernetes release whose schemas ship. Raise it here, run the tool, read the diff. */
export const release = "v1.36.3";

/** Subresources by resource, by group-version path key. */
export const servedResources: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "api/v1": {
    namespaces: ["status", "finalize"],
    configmaps: [],
    secrets: [],
    serviceaccounts: ["token"],
    services: ["status"],
    events: [],
    endpoints: [],
    pods: ["status"],
  },
  "apis/admissionregistration.k8s.io/v1": {
    validatingwebhookconfigurations: [],
    mutatingwebhookconfigurations: [],
  },
  "apis/apiextensions.k8s.io/v1": { customresourcedefinitions: ["status"] },
  "apis/apiregistration.k8s.io/v1": { apiservices: ["status"] },
  "apis/apps/v1": {
    deployments: ["status", "scale"],
    replicasets: ["status", "scale"],
    statefulsets: ["status", "scale"],
    daemonsets: ["status"],
  },
  "apis/authentication.k8s.io/v1": { tokenreviews: [], selfsubjectreviews: [] },
  "apis/authorization.k8s.io/v1": {
    selfsubjectaccessreviews: [],
    subjectaccessreviews: [],
    localsubjectaccessreviews: [],
    selfsubjectrulesreviews: [],
  },
  "apis/batch/v1": { jobs: ["status"], cronjobs: ["status"] },
  "apis/coordination.k8s.io/v1": { leases: [] },
  "apis/discovery.k8s.io/v1": { endpointslices: [] },
  "apis/events.k8s.io/v1": { events: [] },
  "apis/rbac.authorization.k8s.io/v1": { roles: [], rolebindings: [], clusterroles: [], clusterrolebindings: [] },
};

/** Documents beside the group-versions: what discovery and `/version` answer with. Each is taken whole. */
export function discoveryDocuments(): string[] {
  const groups = Object.keys(servedResources).filter((key) => key.startsWith("apis/"));
  return ["api", "apis", ...groups.map((key) => key.slice(0, key.lastIndexOf("/"))), "version"];
}
