// SPDX-License-Identifier: Apache-2.0

// Running a control plane.
export { type ControlPlane, type ControlPlaneDeps, controlPlaneRules } from "./control-plane.ts";
export {
  type ControlPlaneOptions,
  type ControlPlaneSettings,
  defaultControlPlaneSettings,
  type FunctionOptions,
} from "./control-plane-options.ts";
// The rights that it needs.
// Its controllers, for other ways to run them.
export { compositionControllers } from "./controllers.ts";
export { createFunctionPlane } from "./function-plane.ts";
// Packages on a cluster.
export {
  type ClusterPackageOptions,
  type ClusterPackages,
  defaultSecretName as functionClientSecret,
  identityOf as functionClientIdentity,
  openClusterPackages,
  type PackageRuntimeMode,
} from "./packages/cluster-packages.ts";
// Packages on one machine.
export { openPackageManagement, type PackageManagement } from "./packages/package-management.ts";
export { collectRegularly, defaultNamespace, type OwnRegistry } from "./packages/package-manager.ts";
// Status endpoints, and recorded runs.
export { serveRuns, serveStatus } from "./serve-status.ts";
// The guard against a second control plane.
export { isLiveCrossplane, leaderLeaseName, refuseBesideCrossplane, startControlPlane } from "./start-control-plane.ts";
// The webhook by which Usages protect on a cluster.
export { removeUsageWebhook, startUsageWebhook, type UsageWebhook } from "./usage-webhook.ts";
