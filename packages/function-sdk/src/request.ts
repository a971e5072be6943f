// SPDX-License-Identifier: Apache-2.0
// The `request` namespace of the SDK.

export { type DataCredentials, getCredentials, lookupCredentials } from "./request/credentials.ts";
export { getContextKey, getInput, hasContextKey, type InputDecoder, requireInput } from "./request/input.ts";
export {
  advertisesCapabilities,
  advertisesCapabilities as advertiseCapabilities,
  allExtraResources,
  allRequiredResources,
  allRequiredSchemas,
  type CapabilitySupport,
  capabilitySupport,
  getRequiredResource,
  getRequiredResources,
  getRequiredSchema,
  getWatchedResource,
  hasCapability,
  lookupRequiredResources,
  lookupRequiredSchema,
  type RequiredResource,
  type ResourcesLookup,
  type SchemaLookup,
} from "./request/requirements.ts";
export {
  type Composite,
  getDesiredComposedResources,
  getDesiredCompositeResource,
  getObservedComposedResources,
  getObservedCompositeResource,
  type ObservedComposed,
} from "./request/state.ts";
