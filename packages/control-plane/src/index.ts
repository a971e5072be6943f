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
// What functions see of the API server.
export { serverOpenAPI } from "./open-api-reader.ts";
export { leaderLeaseName, startControlPlane } from "./start-control-plane.ts";
