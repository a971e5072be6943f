// SPDX-License-Identifier: Apache-2.0

// Declaring managed resources.
export {
  type ConnectionDetails,
  defineManagedResource,
  type Managed,
  type ManagedHandler,
  type ManagedResource,
  managedResourceCrd,
  type Observation,
} from "./managed-resource.ts";
export type { ReferenceSpec } from "./references.ts";
// Running a provider.
export { runProvider } from "./run-provider.ts";
export { type RunningProvider, startProvider } from "./start-provider.ts";
