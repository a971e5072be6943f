// SPDX-License-Identifier: Apache-2.0

// How much functions may answer.
export {
  type AnswerLimitName,
  type AnswerLimits,
  defaultAnswerLimits,
  isAnswerLimitName,
} from "./answer/answer-limits.ts";
export { type CachingRunner, cacheResponses, type ResponseCacheOptions } from "./cache/cache-responses.ts";
// What the surroundings provide.
export { type Clock, systemClock } from "./clock.ts";
export { asCrossplane } from "./compatibility/as-crossplane.ts";
export { type CrossplaneLine, crossplaneLines } from "./compatibility/crossplane-line.ts";
// Running functions.
export {
  type ClosableFunctionRunner,
  createFunctionRunner,
  type FunctionRunnerOptions,
} from "./create-function-runner.ts";
// The layers one by one, innermost first, for whoever composes them differently.
export type { LiveRevisions, PoolStats } from "./dial/connection-pool.ts";
export { createDiallingRunner, type DiallingRunner, type DialOptions } from "./dial/dialling-runner.ts";
export { type NameResolver, systemNames } from "./dial/name-resolver.ts";
export { type TlsSource, tlsFromDirectory } from "./dial/tls-directory.ts";
export type { FunctionRunner, FunctionTarget, RunCall, RunTrace, StepInfo } from "./function-runner.ts";
export {
  type CacheCounter,
  type CallLabels,
  createRunnerMetrics,
  noMetrics,
  type OutcomeLabels,
  type RunnerMetrics,
} from "./metrics.ts";
export { createInspectorSink, type InspectorOptions, type InspectorSink } from "./record/inspector-sink.ts";
export {
  type RecordOptions,
  type RequestRecord,
  type ResponseRecord,
  type RunSink,
  recordRuns,
} from "./record/record-runs.ts";
export { redactRequest, redactResponse } from "./record/redact.ts";
// Requests.
export { buildRequest, firstState, type RequestSources, type StepState, selectorOf } from "./request/build-request.ts";
export { observedStruct, observedStructsEncoded } from "./request/observed-struct.ts";
export { requestTag } from "./request/request-tag.ts";
export { type SecretQuery, type SecretReader, secretData, secretsFrom } from "./request/secret-reader.ts";
export type {
  BootstrapResources,
  BootstrapSchema,
  StepCredentials,
  StepDefinition,
  StepRequirements,
} from "./request/step-definition.ts";
// What functions require.
export { type ObjectsReaderOptions, objectsReader, type ScopeOf, scopesOfCrds } from "./requirements/objects-reader.ts";
export { createResourceFetcher, type FetchResources } from "./requirements/resource-fetcher.ts";
export type { KindScope, ListQuery, ObjectQuery, ResourceReader } from "./requirements/resource-reader.ts";
export { type FetchSchema, type RequirementFetchers, settleRequirements } from "./requirements/settle-requirements.ts";
// Which revision serves a step.
export { type DevelopmentFunction, developmentAnnotations, developmentOf } from "./resolution/development-function.ts";
export {
  createDevelopmentResolver,
  type DevelopmentOptions,
  type DevelopmentResolver,
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
export { functionNotFound, type MissingFunction } from "./resolution/function-not-found.ts";
export {
  createStepRunner,
  type FunctionReference,
  type FunctionResolver,
  type RunStep,
  type StepRun,
} from "./resolution/function-resolver.ts";
export { type FunctionRevision, isServing, readRevision } from "./resolution/function-revision.ts";
export {
  createRevisionResolver,
  type FoundRevision,
  type FunctionRevisions,
  findRevision,
  type RevisionResolverOptions,
} from "./resolution/revision-resolver.ts";
export { isRunnerError, RunnerError, type RunnerErrorCode, type RunnerErrorOptions } from "./runner-error.ts";
export { type RunnerLog, silentLog } from "./runner-log.ts";
export { type OpenAPIDocumentsOptions, openAPIDocuments } from "./schemas/open-api-documents.ts";
export type { OpenAPIReader } from "./schemas/open-api-reader.ts";
export { createSchemaFetcher, noSchemas, type SchemaFetcher } from "./schemas/schema-fetcher.ts";
