// SPDX-License-Identifier: Apache-2.0

// How much functions may answer.
export { type AnswerLimits, defaultAnswerLimits, isAnswerLimitName } from "./answer/answer-limits.ts";
// What the surroundings provide.
export { asCrossplane, type CrossplaneLine, crossplaneLines } from "./compatibility/as-crossplane.ts";
// Running functions.
export { createFunctionRunner } from "./create-function-runner.ts";
export type { NameResolver } from "./dial/channel-context.ts";
// The layers one by one, innermost first, for callers that compose them differently.
export type { LiveRevisions } from "./dial/connection-pool.ts";
export { createDiallingRunner, type DiallingRunner, type DialOptions } from "./dial/dialling-runner.ts";
export { type TlsSource, tlsFromDirectory } from "./dial/tls-directory.ts";
export type {
  CallObserver,
  CompositeSubject,
  FunctionRunner,
  FunctionTarget,
  RunCall,
  RunTrace,
} from "./function-runner.ts";
export { observing } from "./function-runner.ts";
export { noMetrics } from "./metrics.ts";
export { type InspectorReceiver, serveInspector } from "./record/inspector-server.ts";
export { createInspectorSink, type InspectorSink } from "./record/inspector-sink.ts";
export type { RunSink } from "./record/record-runs.ts";
// Requests.
export { buildRequest, firstState, type RequestSources, type StepState, selectorOf } from "./request/build-request.ts";
export { requestTag } from "./request/request-tag.ts";
export { secretData, secretsFrom } from "./request/secret-reader.ts";
export type { StepDefinition } from "./request/step-definition.ts";
// What functions require.
export { isClusterScoped } from "./requirements/cluster-scoped-kinds.ts";
export { objectsReader, type ScopeOf, scopesOfCrds } from "./requirements/objects-reader.ts";
export { observedStruct, observedStructsEncoded } from "./requirements/observed-struct.ts";
export { createResourceFetcher } from "./requirements/resource-fetcher.ts";
export type { KindScope, ResourceReader } from "./requirements/resource-reader.ts";
export { type RequirementFetchers, settleRequirements } from "./requirements/settle-requirements.ts";
// Which revision serves a step.
export {
  type DevelopmentFunction,
  developmentAnnotations,
  developmentOf,
  functionNotFound,
} from "./resolution/development-function.ts";
export {
  createDevelopmentResolver,
  type Functions,
  type RunningSource,
  type SourceRuntime,
} from "./resolution/development-resolver.ts";
export {
  type DevelopmentTrust,
  honoredDevelopmentOf,
  type IgnoredDevelopment,
  trustedDevelopmentOf,
} from "./resolution/development-trust.ts";
export {
  createStepRunner,
  type FunctionReference,
  type FunctionResolver,
  type RunStep,
} from "./resolution/function-resolver.ts";
export { isServing, readRevision, withheldAnnotation } from "./resolution/function-revision.ts";
export { limitPipelines } from "./resolution/pipeline-limit.ts";
export {
  createRevisionResolver,
  type FoundRevision,
  type FunctionRevisions,
  findRevision,
} from "./resolution/revision-resolver.ts";
export { createRolloutResolver, type Rollouts } from "./resolution/rollout-resolver.ts";
export {
  bucketCount,
  bucketOf,
  carriesAll,
  decidingRollout,
  isLiveRollout,
  isMember,
  type RolloutPhase,
  type RolloutView,
  readRollout,
  revisionsToKeep,
} from "./resolution/rollout-view.ts";
export { isRunnerError, RunnerError } from "./runner-error.ts";
export { openAPIDocuments } from "./schemas/open-api-documents.ts";
export type { OpenAPIReader } from "./schemas/schema-fetcher.ts";
export { createSchemaFetcher, noSchemas, type SchemaFetcher } from "./schemas/schema-fetcher.ts";
export { ShadowRuns, shadowSteps } from "./shadow/shadow-runs.ts";
export { type ShadowReports, ShadowStore } from "./shadow/shadow-store.ts";
