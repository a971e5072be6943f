// SPDX-License-Identifier: Apache-2.0
// The `response` namespace of the SDK.

export {
  type ByName,
  type ComposedInput,
  type CompositeInput,
  type ResourceSelection,
  removeDesiredComposedResource,
  requireExtraResources,
  requireResources,
  requireResources as requireResource,
  requireSchema,
  setDesiredComposedResource,
  setDesiredComposedResources,
  setDesiredCompositeReady,
  setDesiredCompositeResource,
  setDesiredCompositeStatus,
  setDesiredConnectionDetails,
  setDesiredResources,
} from "./response/resources.ts";
export {
  addCondition,
  type ConditionOption,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  setConditions,
} from "./response/result-builder.ts";
export { addResult, fatal, normal, type ResultOption, warning } from "./response/results.ts";
export {
  DEFAULT_TTL,
  deleteContextKey,
  setContextKey,
  setOutput,
  type ToOptions,
  type Ttl,
  to,
} from "./response/to.ts";
