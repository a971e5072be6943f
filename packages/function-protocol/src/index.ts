// SPDX-License-Identifier: Apache-2.0

export { parseGoDuration } from "@purlin/base";
export { decodeInTurns } from "./decode-in-turns.ts";
export { create, type Message, type MessageType } from "./descriptor.ts";
export { CachedResponse } from "./gen/cached-response.ts";
export { Duration } from "./gen/duration.ts";
export { fileDescriptors } from "./gen/file-descriptors.ts";
export * as health from "./gen/health.ts";
export * as inspector from "./gen/pipeline-inspector.ts";
export * as reflection from "./gen/reflection.ts";
export {
  Capability,
  Condition,
  CredentialData,
  Credentials,
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
  Target,
} from "./gen/run-function.ts";
export { Timestamp } from "./gen/timestamp.ts";
export { type DecodeLimits, decode, type EntryLimit, entryLimits } from "./message-decode.ts";
export { encode, encodeCanonical } from "./message-encode.ts";
export { fromJson, toJson } from "./message-json.ts";
export { isProtocolError, ProtocolError } from "./protocol-error.ts";
export { isFatal, type RequirementSource, runUntilSettled } from "./requirements-loop.ts";
export { isStruct, Struct } from "./struct.ts";
export { isJsonObject, type JsonObject, type JsonValue, setOwn } from "./struct-decode.ts";
export { maxMessageDepth } from "./struct-encode.ts";
export { allCapabilities, type ProtocolVersion, runFunctionPaths, serviceNames } from "./wire-methods.ts";
