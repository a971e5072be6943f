// SPDX-License-Identifier: Apache-2.0

// Claims.
export { type ClaimKind, type ClaimPorts, type ClaimSettings, defaultClaimSettings } from "./claim/ports.ts";
export { createClaimController } from "./claim/setup.ts";
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
// Compositions and their revisions.
export {
  functionRevisionsOf,
  functionRevisionType,
  functionType,
  packageLabel,
} from "./composition/function-revisions.ts";
export { functionReferences } from "./composition/pipeline-steps.ts";
export { createRevisionsController, type RevisionsDeps } from "./composition/revisions-controller.ts";
export { createRevisionValidityController, type RevisionValidityDeps } from "./composition/validity-controller.ts";
// The CRDs of our kinds.
export { compositionCrds, keptCrds } from "./crds/composition-crds.ts";
export { type CompositeScope, type DefinitionFacts, definitionFacts } from "./definition/definition-facts.ts";
export { type DeriveOptions, deriveClaimCrd, deriveCompositeCrd } from "./definition/derive-crd.ts";
export type { CreateInstanceController, DefinitionDeps, InstanceController } from "./definition/ports.ts";
// Definitions, and the CRDs they become.
export { createDefinedController, createOfferedController } from "./definition/setup.ts";
export { type UnknownKeyword, unknownKeywords } from "./definition/unknown-keywords.ts";
