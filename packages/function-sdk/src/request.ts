// SPDX-License-Identifier: Apache-2.0
// The `request` namespace of the SDK.

export {
  type Composite,
  type DataCredentials,
  getContextKey,
  getCredentials,
  getDesiredComposedResources,
  getDesiredCompositeResource,
  getInput,
  getObservedComposedResources,
  getObservedCompositeResource,
  hasContextKey,
  type InputDecoder,
  lookupCredentials,
  type ObservedComposed,
  requireInput,
} from "./request/read-request.ts";
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
