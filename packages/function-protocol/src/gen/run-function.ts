// SPDX-License-Identifier: Apache-2.0
// Generated from apiextensions/fn/proto/v1/run_function.proto by `npm run generate`. Do not edit.
import { type EnumType, type Message, type MessageType, messageType } from "../descriptor.ts";
import type { Struct } from "../struct.ts";
import { Duration } from "./duration.ts";

/** What a runner can do, so that a function need not guess. */
export const Capability = {
  CAPABILITY_UNSPECIFIED: 0,
  /** The list of capabilities is complete: a capability that is absent is not supported. */
  CAPABILITY_CAPABILITIES: 1,
  /** requirements.resources are honoured and required_resources filled in. */
  CAPABILITY_REQUIRED_RESOURCES: 2,
  /** credentials are filled in. */
  CAPABILITY_CREDENTIALS: 3,
  /** conditions are honoured. */
  CAPABILITY_CONDITIONS: 4,
  /** requirements.schemas are honoured and required_schemas filled in. */
  CAPABILITY_REQUIRED_SCHEMAS: 5,
} as const;
/** A number of {@link Capability}; numbers of newer protocol versions are kept. */
export type Capability = (typeof Capability)[keyof typeof Capability] | (number & {});
const CapabilityType: EnumType = { typeName: "apiextensions.fn.proto.v1.Capability", values: Capability };

/** Whether a resource is ready. */
export const Ready = {
  READY_UNSPECIFIED: 0,
  READY_TRUE: 1,
  READY_FALSE: 2,
} as const;
/** A number of {@link Ready}; numbers of newer protocol versions are kept. */
export type Ready = (typeof Ready)[keyof typeof Ready] | (number & {});
const ReadyType: EnumType = { typeName: "apiextensions.fn.proto.v1.Ready", values: Ready };

/** How bad a result is. */
export const Severity = {
  SEVERITY_UNSPECIFIED: 0,
  /** Stops the pipeline; nothing is applied. */
  SEVERITY_FATAL: 1,
  SEVERITY_WARNING: 2,
  SEVERITY_NORMAL: 3,
} as const;
/** A number of {@link Severity}; numbers of newer protocol versions are kept. */
export type Severity = (typeof Severity)[keyof typeof Severity] | (number & {});
const SeverityType: EnumType = { typeName: "apiextensions.fn.proto.v1.Severity", values: Severity };

/** The targets of a result or a condition. */
export const Target = {
  /** Same as TARGET_COMPOSITE. */
  TARGET_UNSPECIFIED: 0,
  TARGET_COMPOSITE: 1,
  TARGET_COMPOSITE_AND_CLAIM: 2,
} as const;
/** A number of {@link Target}; numbers of newer protocol versions are kept. */
export type Target = (typeof Target)[keyof typeof Target] | (number & {});
const TargetType: EnumType = { typeName: "apiextensions.fn.proto.v1.Target", values: Target };

/** The status of a condition. */
export const Status = {
  /** Same as STATUS_CONDITION_UNKNOWN. */
  STATUS_CONDITION_UNSPECIFIED: 0,
  STATUS_CONDITION_UNKNOWN: 1,
  STATUS_CONDITION_TRUE: 2,
  STATUS_CONDITION_FALSE: 3,
} as const;
/** A number of {@link Status}; numbers of newer protocol versions are kept. */
export type Status = (typeof Status)[keyof typeof Status] | (number & {});
const StatusType: EnumType = { typeName: "apiextensions.fn.proto.v1.Status", values: Status };

/** What a runner hands to a function. */
export interface RunFunctionRequest extends Message {
  meta?: RequestMeta | undefined;
  /** Read once, before the first step; the same for every step. */
  observed?: State | undefined;
  /** What earlier steps want. */
  desired?: State | undefined;
  /** The pipeline step's input object. */
  input?: Struct | undefined;
  /** Free-form data handed from step to step. */
  context?: Struct | undefined;
  /** Answers to requirements.extra_resources. @deprecated Use the field without `extra`. */
  extraResources: Map<string, Resources>;
  /** Secrets of this step, by the name the step gives them. */
  credentials: Map<string, Credentials>;
  /** Answers to requirements.resources. A key without items: looked up, nothing matched. */
  requiredResources: Map<string, Resources>;
  /** Answers to requirements.schemas. A key with an empty Schema: looked up, no such kind. */
  requiredSchemas: Map<string, Schema>;
}
export const RunFunctionRequest: MessageType<RunFunctionRequest> = messageType<RunFunctionRequest>("apiextensions.fn.proto.v1.RunFunctionRequest", [
  { number: 1, name: "meta", protoName: "meta", cardinality: "optional", value: { kind: "message", message: () => RequestMeta } },
  { number: 2, name: "observed", protoName: "observed", cardinality: "optional", value: { kind: "message", message: () => State } },
  { number: 3, name: "desired", protoName: "desired", cardinality: "optional", value: { kind: "message", message: () => State } },
  { number: 4, name: "input", protoName: "input", cardinality: "optional", value: { kind: "struct" } },
  { number: 5, name: "context", protoName: "context", cardinality: "optional", value: { kind: "struct" } },
  { number: 6, name: "extraResources", protoName: "extra_resources", cardinality: "map", value: { kind: "message", message: () => Resources } },
  { number: 7, name: "credentials", protoName: "credentials", cardinality: "map", value: { kind: "message", message: () => Credentials } },
  { number: 8, name: "requiredResources", protoName: "required_resources", cardinality: "map", value: { kind: "message", message: () => Resources } },
  { number: 9, name: "requiredSchemas", protoName: "required_schemas", cardinality: "map", value: { kind: "message", message: () => Schema } },
]);

/** What a function answers. */
export interface RunFunctionResponse extends Message {
  meta?: ResponseMeta | undefined;
  /** The complete new desired state. What is left out will be deleted. */
  desired?: State | undefined;
  results: Result[];
  /** The complete new context for the next step. */
  context?: Struct | undefined;
  /** What the function needs to finish. The same on every call. */
  requirements?: Requirements | undefined;
  /** Status conditions for the composite and, if aimed there, its claim. */
  conditions: Condition[];
  /** The output of an Operation. */
  output?: Struct | undefined;
}
export const RunFunctionResponse: MessageType<RunFunctionResponse> = messageType<RunFunctionResponse>("apiextensions.fn.proto.v1.RunFunctionResponse", [
  { number: 1, name: "meta", protoName: "meta", cardinality: "optional", value: { kind: "message", message: () => ResponseMeta } },
  { number: 2, name: "desired", protoName: "desired", cardinality: "optional", value: { kind: "message", message: () => State } },
  { number: 3, name: "results", protoName: "results", cardinality: "list", value: { kind: "message", message: () => Result } },
  { number: 4, name: "context", protoName: "context", cardinality: "optional", value: { kind: "struct" } },
  { number: 5, name: "requirements", protoName: "requirements", cardinality: "optional", value: { kind: "message", message: () => Requirements } },
  { number: 6, name: "conditions", protoName: "conditions", cardinality: "list", value: { kind: "message", message: () => Condition } },
  { number: 7, name: "output", protoName: "output", cardinality: "optional", value: { kind: "struct" } },
]);

export interface RequestMeta extends Message {
  /** Identifies the content of the request. Opaque. */
  tag: string;
  /** Everything the runner supports. */
  capabilities: Capability[];
}
export const RequestMeta: MessageType<RequestMeta> = messageType<RequestMeta>("apiextensions.fn.proto.v1.RequestMeta", [
  { number: 1, name: "tag", protoName: "tag", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "capabilities", protoName: "capabilities", cardinality: "list", value: { kind: "enum", enum: CapabilityType } },
]);

export interface ResponseMeta extends Message {
  /** The request's tag. */
  tag: string;
  /** How long the response may be reused. */
  ttl?: Duration | undefined;
}
export const ResponseMeta: MessageType<ResponseMeta> = messageType<ResponseMeta>("apiextensions.fn.proto.v1.ResponseMeta", [
  { number: 1, name: "tag", protoName: "tag", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "ttl", protoName: "ttl", cardinality: "optional", value: { kind: "message", message: () => Duration } },
]);

/** A composite resource and the resources it is composed of. */
export interface State extends Message {
  composite?: Resource | undefined;
  /** By the name that identifies a resource within the pipeline, which is not its metadata.name. */
  resources: Map<string, Resource>;
}
export const State: MessageType<State> = messageType<State>("apiextensions.fn.proto.v1.State", [
  { number: 1, name: "composite", protoName: "composite", cardinality: "optional", value: { kind: "message", message: () => Resource } },
  { number: 2, name: "resources", protoName: "resources", cardinality: "map", value: { kind: "message", message: () => Resource } },
]);

export interface Resource extends Message {
  resource?: Struct | undefined;
  connectionDetails: Map<string, Uint8Array>;
  ready: Ready;
}
export const Resource: MessageType<Resource> = messageType<Resource>("apiextensions.fn.proto.v1.Resource", [
  { number: 1, name: "resource", protoName: "resource", cardinality: "optional", value: { kind: "struct" } },
  { number: 2, name: "connectionDetails", protoName: "connection_details", cardinality: "map", value: { kind: "scalar", scalar: "bytes" } },
  { number: 3, name: "ready", protoName: "ready", cardinality: "implicit", value: { kind: "enum", enum: ReadyType } },
]);

export interface Resources extends Message {
  items: Resource[];
}
export const Resources: MessageType<Resources> = messageType<Resources>("apiextensions.fn.proto.v1.Resources", [
  { number: 1, name: "items", protoName: "items", cardinality: "list", value: { kind: "message", message: () => Resource } },
]);

export interface Credentials extends Message {
  source?: { case: "credentialData"; value: CredentialData } | undefined;
}
export const Credentials: MessageType<Credentials> = messageType<Credentials>("apiextensions.fn.proto.v1.Credentials", [
  { number: 1, name: "credentialData", protoName: "credential_data", cardinality: "oneof", value: { kind: "message", message: () => CredentialData }, oneof: "source" },
]);

export interface CredentialData extends Message {
  data: Map<string, Uint8Array>;
}
export const CredentialData: MessageType<CredentialData> = messageType<CredentialData>("apiextensions.fn.proto.v1.CredentialData", [
  { number: 1, name: "data", protoName: "data", cardinality: "map", value: { kind: "scalar", scalar: "bytes" } },
]);

export interface Requirements extends Message {
  /**  @deprecated Use the field without `extra`. */
  extraResources: Map<string, ResourceSelector>;
  resources: Map<string, ResourceSelector>;
  schemas: Map<string, SchemaSelector>;
}
export const Requirements: MessageType<Requirements> = messageType<Requirements>("apiextensions.fn.proto.v1.Requirements", [
  { number: 1, name: "extraResources", protoName: "extra_resources", cardinality: "map", value: { kind: "message", message: () => ResourceSelector } },
  { number: 2, name: "resources", protoName: "resources", cardinality: "map", value: { kind: "message", message: () => ResourceSelector } },
  { number: 3, name: "schemas", protoName: "schemas", cardinality: "map", value: { kind: "message", message: () => SchemaSelector } },
]);

export interface ResourceSelector extends Message {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  /** Neither set: everything of the kind. */
  match?: { case: "matchName"; value: string } | { case: "matchLabels"; value: MatchLabels } | undefined;
}
export const ResourceSelector: MessageType<ResourceSelector> = messageType<ResourceSelector>("apiextensions.fn.proto.v1.ResourceSelector", [
  { number: 1, name: "apiVersion", protoName: "api_version", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "kind", protoName: "kind", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 3, name: "matchName", protoName: "match_name", cardinality: "oneof", value: { kind: "scalar", scalar: "string" }, oneof: "match" },
  { number: 4, name: "matchLabels", protoName: "match_labels", cardinality: "oneof", value: { kind: "message", message: () => MatchLabels }, oneof: "match" },
  { number: 5, name: "namespace", protoName: "namespace", cardinality: "optional", value: { kind: "scalar", scalar: "string" } },
]);

export interface MatchLabels extends Message {
  labels: Map<string, string>;
}
export const MatchLabels: MessageType<MatchLabels> = messageType<MatchLabels>("apiextensions.fn.proto.v1.MatchLabels", [
  { number: 1, name: "labels", protoName: "labels", cardinality: "map", value: { kind: "scalar", scalar: "string" } },
]);

export interface SchemaSelector extends Message {
  apiVersion: string;
  kind: string;
}
export const SchemaSelector: MessageType<SchemaSelector> = messageType<SchemaSelector>("apiextensions.fn.proto.v1.SchemaSelector", [
  { number: 1, name: "apiVersion", protoName: "api_version", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "kind", protoName: "kind", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
]);

export interface Schema extends Message {
  /** Absent: looked up, not found. Present and empty: found, and it accepts anything. */
  openapiV3?: Struct | undefined;
}
export const Schema: MessageType<Schema> = messageType<Schema>("apiextensions.fn.proto.v1.Schema", [
  { number: 1, name: "openapiV3", protoName: "openapi_v3", cardinality: "optional", value: { kind: "struct" } },
]);

/** A message for users: an event, or the failure of the pipeline. */
export interface Result extends Message {
  severity: Severity;
  message: string;
  /** The event's reason, PascalCase. */
  reason?: string | undefined;
  target?: Target | undefined;
}
export const Result: MessageType<Result> = messageType<Result>("apiextensions.fn.proto.v1.Result", [
  { number: 1, name: "severity", protoName: "severity", cardinality: "implicit", value: { kind: "enum", enum: SeverityType } },
  { number: 2, name: "message", protoName: "message", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 3, name: "reason", protoName: "reason", cardinality: "optional", value: { kind: "scalar", scalar: "string" } },
  { number: 4, name: "target", protoName: "target", cardinality: "optional", value: { kind: "enum", enum: TargetType } },
]);

export interface Condition extends Message {
  type: string;
  status: Status;
  reason: string;
  message?: string | undefined;
  target?: Target | undefined;
}
export const Condition: MessageType<Condition> = messageType<Condition>("apiextensions.fn.proto.v1.Condition", [
  { number: 1, name: "type", protoName: "type", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "status", protoName: "status", cardinality: "implicit", value: { kind: "enum", enum: StatusType } },
  { number: 3, name: "reason", protoName: "reason", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 4, name: "message", protoName: "message", cardinality: "optional", value: { kind: "scalar", scalar: "string" } },
  { number: 5, name: "target", protoName: "target", cardinality: "optional", value: { kind: "enum", enum: TargetType } },
]);
