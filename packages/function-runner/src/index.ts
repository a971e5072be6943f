// SPDX-License-Identifier: Apache-2.0

// What the surroundings provide.
export { type Clock, systemClock } from "./clock.ts";
export { asCrossplane } from "./compatibility/as-crossplane.ts";
export { type CrossplaneLine, crossplaneLines } from "./compatibility/crossplane-line.ts";
export type { LiveRevisions, PoolStats } from "./dial/connection-pool.ts";
// The layers, innermost first.
export { createDiallingRunner, type DiallingRunner, type DialOptions } from "./dial/dialling-runner.ts";
export { type NameResolver, systemNames } from "./dial/name-resolver.ts";
export { type TlsSource, tlsFromDirectory } from "./dial/tls-directory.ts";
// Running functions.
export type { FunctionRunner, FunctionTarget, RunCall, RunTrace, StepInfo } from "./function-runner.ts";
export { createRunnerMetrics, noMetrics, type RunnerMetrics } from "./metrics.ts";
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
export { isRunnerError, RunnerError, type RunnerErrorCode } from "./runner-error.ts";
export { type RunnerLog, silentLog } from "./runner-log.ts";
export { type OpenAPIDocumentsOptions, openAPIDocuments } from "./schemas/open-api-documents.ts";
export type { OpenAPIReader } from "./schemas/open-api-reader.ts";
export { createSchemaFetcher, noSchemas, type SchemaFetcher } from "./schemas/schema-fetcher.ts";
