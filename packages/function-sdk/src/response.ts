// SPDX-License-Identifier: Apache-2.0
// The `response` namespace of the SDK.

export {
  type ByName,
  type ComposedInput,
  type CompositeInput,
  removeDesiredComposedResource,
  setDesiredComposedResource,
  setDesiredComposedResources,
  setDesiredCompositeReady,
  setDesiredCompositeResource,
  setDesiredCompositeStatus,
  setDesiredConnectionDetails,
  setDesiredResources,
} from "./response/desired.ts";
export {
  type ResourceSelection,
  requireExtraResources,
  requireResources,
  requireResources as requireResource,
  requireSchema,
} from "./response/requirements.ts";
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
