// SPDX-License-Identifier: Apache-2.0
// What function authors import. Helpers come in namespaces, as in the other SDKs: request.getInput, response.to.

export {
  allCapabilities,
  Capability,
  Condition,
  CredentialData,
  Credentials,
  create,
  decode,
  encode,
  fromJson,
  isStruct,
  type JsonObject,
  type JsonValue,
  MatchLabels,
  Ready,
  RequestMeta,
  Requirements,
  Resource,
  ResourceSelector,
  Resources,
  ResponseMeta,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  SchemaSelector,
  Severity,
  State,
  Status,
  Struct,
  toJson,
} from "@purlin/function-protocol";
export { errorText, FunctionError, type FunctionErrorCode, isFunctionError } from "./errors/function-error.ts";
export { formatPath, parsePath, type Segment, wildcard } from "./field-path/parse-path.ts";
export { FieldPathError } from "./field-path/path-value.ts";
export { type LogFields, type Logger, type LoggerOptions, newLogger, nopLogger } from "./logging/new-logger.ts";
export type { Bytes, Composite, DataCredentials, ObservedComposed, RequiredResource } from "./request/read-request.ts";
export * as request from "./request.ts";
export { CompositeObject } from "./resource/composite-object.ts";
export { ComposedObject, type DesiredComposed } from "./resource/convert.ts";
export type { ConditionStatus, ObjectCondition } from "./resource/kube-object.ts";
export * as resource from "./resource.ts";
export type { ResourceSelection } from "./response/resources.ts";
export type { BuiltResult, ResultBuilder } from "./response/result-builder.ts";
export type { ResultOption } from "./response/results.ts";
export { Target, type Ttl } from "./response/to.ts";
export * as response from "./response.ts";
export * as result from "./result.ts";
export type { OnHandlerError } from "./runtime/function-call.ts";
export {
  type CustomFlag,
  type FlagsInput,
  type MainOptions,
  main,
  type ParsedFlags,
  parseFlags,
  usageText,
} from "./runtime/main.ts";
export type {
  CallContext,
  FunctionHandler,
  HandlerResult,
  MetricsSource,
  RunFunction,
  ServeOptions,
} from "./runtime/serve-options.ts";
export { type RunningFunction, type ServeUntilOptions, serve, start } from "./runtime/start.ts";
export {
  type CheckObjectOptions,
  checkObject,
  decodeBySchema,
  type ObjectProblem,
  requireValidObject,
} from "./schema/check-object.ts";
