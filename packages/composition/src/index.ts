// SPDX-License-Identifier: Apache-2.0

// Claims.
export { createClaimController } from "./claim/reconciler.ts";
// Composite resources.
export { controllerName as compositeControllerName } from "./composite/composite-state.ts";
export type { CompositeDeps } from "./composite/context.ts";
export type { Hold } from "./composite/guard/guard.ts";
export { clientReader } from "./composite/observe/observe.ts";
export { createCompositeController } from "./composite/reconciler.ts";
export { type BreakerMetrics, createBreakerMetrics, noBreakerMetrics } from "./composite/watch/circuit-breaker.ts";
export {
  annotations as crossplaneAnnotations,
  eventSources,
  kinds as compositionKinds,
  labels as crossplaneLabels,
} from "./composite-resource/constants.ts";
export {
  compositionRefOf,
  resourceRefsOf,
  revisionRefOf,
  revisionSelectorOf,
  updatePolicyOf,
  withCrossplaneFields,
} from "./composite-resource/crossplane-fields.ts";
// Compositions and their revisions.
export {
  functionReferences,
  functionRevisionsOf,
  functionRevisionType,
  functionType,
  packageLabel,
} from "./composition/function-revisions.ts";
export { createRevisionsController } from "./composition/revisions-controller.ts";
export { createRevisionValidityController } from "./composition/validity-controller.ts";
// The CRDs of our kinds.
export { compositionCrds, keptCrds } from "./crds/composition-crds.ts";
export { unknownKeywords } from "./definition/check-schema-shape.ts";
export type { CreateInstanceController } from "./definition/context.ts";
// Definitions, and the CRDs they become.
export { type DefinitionFacts, definitionFacts } from "./definition/definition-facts.ts";
export { deriveClaimCrd, deriveCompositeCrd, deriveCrds } from "./definition/derive-crd.ts";
export { createDefinedController, createOfferedController } from "./definition/setup.ts";
// Managed resource definitions and their activation.
export { activationPolicyType, createActivationController } from "./managed/activation-controller.ts";
export {
  countObjects,
  createManagedDefinitionController,
  managedDefinitionType,
} from "./managed/definition-controller.ts";
export { storedDefinition } from "./render/render-inputs.ts";
export {
  collectors,
  createDeletionGuard,
  createUsageGuard,
  type DeletionGuard,
  dataLossText,
  dataLossWebhookName,
  deletesItsKind,
  managedDefinitionResource,
  usageRefusal,
  usageWebhookName,
} from "./usage/definition-guard.ts";
export { createProtectionControllers } from "./usage/deletion-protection.ts";
export { createDisabledUsageControllers, createUsageControllers } from "./usage/usage-controller.ts";
export { UsageIndex, usageTypes } from "./usage/usage-index.ts";
