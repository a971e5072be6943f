// SPDX-License-Identifier: Apache-2.0

/** The groups of the kinds that the control plane itself works with. */
const controlPlaneGroups: ReadonlySet<string> = new Set([
  "apiextensions.crossplane.io",
  "meta.pkg.crossplane.io",
  "ops.crossplane.io",
  "pkg.crossplane.io",
  "protection.crossplane.io",
  "secrets.crossplane.io",
  "simulation.purlin.dev",
]);

/** The groups that API servers serve without a CRD; `metrics.k8s.io` and its siblings come from servers beside them. */
const kubernetesGroups: ReadonlySet<string> = new Set([
  "",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "apps",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "coordination.k8s.io",
  "custom.metrics.k8s.io",
  "discovery.k8s.io",
  "events.k8s.io",
  "extensions",
  "external.metrics.k8s.io",
  "flowcontrol.apiserver.k8s.io",
  "internal.apiserver.k8s.io",
  "metrics.k8s.io",
  "networking.k8s.io",
  "node.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "resource.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
  "storagemigration.k8s.io",
]);

/** To whom a kind belongs that nothing else may define or take over, by the name of its CRD; undefined for other kinds. */
export function reservedFor(crdName: string): "the control plane" | "Kubernetes" | undefined {
  const at = crdName.indexOf(".");
  const group = at < 0 ? "" : crdName.slice(at + 1);
  if (controlPlaneGroups.has(group)) return "the control plane";
  return kubernetesGroups.has(group) ? "Kubernetes" : undefined;
}
