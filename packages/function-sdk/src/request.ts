// SPDX-License-Identifier: Apache-2.0
// The `request` namespace of the SDK.
export {
  advertisesCapabilities,
  advertisesCapabilities as advertiseCapabilities,
  type CapabilitySupport,
  capabilitySupport,
  hasCapability,
} from "./request/capabilities.ts";
export { type DataCredentials, getCredentials, lookupCredentials } from "./request/credentials.ts";
export { getContextKey, getInput, hasContextKey, type InputDecoder, requireInput } from "./request/input.ts";
export {
  allExtraResources,
  allRequiredResources,
  getRequiredResource,
  getRequiredResources,
  getWatchedResource,
  lookupRequiredResources,
  type RequiredResource,
  type ResourcesLookup,
} from "./request/required-resources.ts";
export {
  allRequiredSchemas,
  getRequiredSchema,
  lookupRequiredSchema,
  type SchemaLookup,
} from "./request/required-schemas.ts";
export {
  type Composite,
  getDesiredComposedResources,
  getDesiredCompositeResource,
  getObservedComposedResources,
  getObservedCompositeResource,
  type ObservedComposed,
} from "./request/state.ts";
