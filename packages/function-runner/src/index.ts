// SPDX-License-Identifier: Apache-2.0

// How much functions may answer.
export { type AnswerLimits, defaultAnswerLimits, isAnswerLimitName } from "./answer/check-answer.ts";
// What the surroundings provide.
export { asCrossplane, type CrossplaneLine, crossplaneLines } from "./compatibility/as-crossplane.ts";
// Running functions.
export { createFunctionRunner } from "./create-function-runner.ts";
export { type TlsSource, tlsFromDirectory } from "./dial/channel-credentials.ts";
export { type NameResolver, systemNames } from "./dial/channel-resolver.ts";
// The layers one by one, innermost first, for callers that compose them differently.
export type { LiveRevisions } from "./dial/connection-pool.ts";
export { createDiallingRunner, type DiallingRunner, type DialOptions } from "./dial/dialling-runner.ts";
/** A limit of the HTTP/2 frames of a function, for every connection to one. */
export { guardFrames } from "./dial/frame-guard.ts";
export {
  type CallObserver,
  type CompositeSubject,
  type FunctionRunner,
  type FunctionTarget,
  isRunnerError,
  observing,
  type RunCall,
  RunnerError,
  type RunTrace,
} from "./function-runner.ts";
export { noMetrics } from "./metrics.ts";
export { createInspectorSink, type InspectorReceiver, type InspectorSink, serveInspector } from "./record/inspector.ts";
export type { RunSink } from "./record/record-runs.ts";
// Requests.
export {
  buildRequest,
  firstState,
  type RequestSources,
  requestTag,
  type StepDefinition,
  type StepState,
  selectorOf,
} from "./request/build-request.ts";
// What functions require.
export {
  isClusterScoped,
  type KindScope,
  objectsReader,
  type ResourceReader,
  type ScopeOf,
  scopesOfCrds,
  secretData,
  secretsFrom,
} from "./requirements/objects-reader.ts";
export {
  createResourceFetcher,
  observedStruct,
  observedStructsEncoded,
  type RequirementFetchers,
  settleRequirements,
} from "./requirements/settle-requirements.ts";
export {
  createDevelopmentResolver,
  type Functions,
  type RunningSource,
  type SourceRuntime,
} from "./resolution/development-resolver.ts";
// Which revision serves a step.
export {
  type DevelopmentFunction,
  type DevelopmentTrust,
  developmentAnnotations,
  developmentOf,
  functionNotFound,
  honoredDevelopmentOf,
  type IgnoredDevelopment,
  trustedDevelopmentOf,
} from "./resolution/development-trust.ts";
export {
  createStepRunner,
  type FunctionReference,
  type FunctionResolver,
  limitPipelines,
  type RunStep,
} from "./resolution/function-resolver.ts";
export {
  createRevisionResolver,
  type FoundRevision,
  type FunctionRevisions,
  findRevision,
  isServing,
  readRevision,
  withheldAnnotation,
} from "./resolution/revision-resolver.ts";
export {
  bucketCount,
  bucketOf,
  carriesAll,
  createRolloutResolver,
  decidingRollout,
  isLiveRollout,
  isMember,
  type RolloutPhase,
  type Rollouts,
  type RolloutView,
  readRollout,
  revisionsToKeep,
} from "./resolution/rollout-resolver.ts";
export {
  createSchemaFetcher,
  noSchemas,
  type OpenAPIReader,
  openAPIDocuments,
  type SchemaFetcher,
} from "./schemas/schema-fetcher.ts";
export { ShadowRuns, shadowSteps } from "./shadow/shadow-runs.ts";
export { type ShadowReports, ShadowStore } from "./shadow/shadow-store.ts";
