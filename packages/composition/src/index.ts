// SPDX-License-Identifier: Apache-2.0

// Composite resources.
export { controllerName as compositeControllerName } from "./composite/composite-state.ts";
export { clientReader } from "./composite/observe/client-reader.ts";
export {
  type CompositeKind,
  type CompositePorts,
  type CompositeSettings,
  defaultSettings as defaultCompositeSettings,
} from "./composite/ports.ts";
export { type CompositeController, createCompositeController } from "./composite/setup.ts";
export { type BreakerMetrics, type BreakerVerdict, noBreakerMetrics } from "./composite/watch/breaker-metrics.ts";
export { type BreakerLimits, defaultLimits as defaultBreakerLimits } from "./composite/watch/circuit-breaker.ts";
export { createBreakerMetrics } from "./composite/watch/prometheus-breaker-metrics.ts";
export { eventSources } from "./composite-resource/constants.ts";
// The CRDs of our kinds.
export { compositionCrds, keptCrds } from "./crds/composition-crds.ts";
