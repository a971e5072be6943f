// SPDX-License-Identifier: Apache-2.0

// Running a control plane.
export type { ControlPlane, ControlPlaneParts, ControlPlaneState } from "./control-plane.ts";
export {
  type ControlPlaneOptions,
  type ControlPlaneSettings,
  defaultControlPlaneSettings,
  type ElectionOptions,
  type FunctionOptions,
} from "./control-plane-options.ts";
// Never beside another one.
export { isLiveCrossplane, LiveCrossplaneError, refuseBesideCrossplane } from "./crossplane-guard.ts";
// What functions see of the API server.
export { serverOpenAPI } from "./open-api-reader.ts";
// Packages on a cluster.
export {
  type ClusterPackageOptions,
  type ClusterPackages,
  openClusterPackages,
  type PackageRuntimeMode,
} from "./packages/cluster-packages.ts";
export { type CollectRegularlyOptions, collectRegularly } from "./packages/collect-regularly.ts";
export { ensureNamespace } from "./packages/ensure-object.ts";
// Packages on one machine.
export {
  openPackageManagement,
  type PackageManagement,
  type PackageManagementOptions,
} from "./packages/package-management.ts";
export type {
  OpenPackageManager,
  OwnRegistry,
  PackageManager,
  PackageSettings,
} from "./packages/package-manager-parts.ts";
// Telling how it is.
export { type StatusOptions, type StatusServers, serveStatus } from "./serve-status.ts";
export { leaderLeaseName, startControlPlane } from "./start-control-plane.ts";
