// SPDX-License-Identifier: Apache-2.0
// Generated from crossplane/pipeline/v1alpha1/pipeline_inspector.proto by `npm run generate`. Do not edit.
import { type Message, type MessageType, messageType } from "../descriptor.ts";
import { Timestamp } from "./timestamp.ts";

export interface EmitRequestRequest extends Message {
  /** The request in its protobuf-JSON form, secrets removed. */
  request: Uint8Array;
  meta?: StepMeta | undefined;
}
export const EmitRequestRequest: MessageType<EmitRequestRequest> = messageType<EmitRequestRequest>("crossplane.pipeline.v1alpha1.EmitRequestRequest", [
  { number: 1, name: "request", protoName: "request", cardinality: "implicit", value: { kind: "scalar", scalar: "bytes" } },
  { number: 2, name: "meta", protoName: "meta", cardinality: "optional", value: { kind: "message", message: () => StepMeta } },
]);

export interface EmitRequestResponse extends Message {
}
export const EmitRequestResponse: MessageType<EmitRequestResponse> = messageType<EmitRequestResponse>("crossplane.pipeline.v1alpha1.EmitRequestResponse", [
]);

export interface EmitResponseRequest extends Message {
  /** The response in its protobuf-JSON form, secrets removed; empty when the call failed. */
  response: Uint8Array;
  /** Why the call failed; empty when it did not. */
  error: string;
  meta?: StepMeta | undefined;
}
export const EmitResponseRequest: MessageType<EmitResponseRequest> = messageType<EmitResponseRequest>("crossplane.pipeline.v1alpha1.EmitResponseRequest", [
  { number: 1, name: "response", protoName: "response", cardinality: "implicit", value: { kind: "scalar", scalar: "bytes" } },
  { number: 2, name: "error", protoName: "error", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 3, name: "meta", protoName: "meta", cardinality: "optional", value: { kind: "message", message: () => StepMeta } },
]);

export interface EmitResponseResponse extends Message {
}
export const EmitResponseResponse: MessageType<EmitResponseResponse> = messageType<EmitResponseResponse>("crossplane.pipeline.v1alpha1.EmitResponseResponse", [
]);

/** Which step of which run a message belongs to. */
export interface StepMeta extends Message {
  timestamp?: Timestamp | undefined;
  /** One for each reconcile. */
  traceId: string;
  /** One for each call of a step. */
  spanId: string;
  stepIndex: number;
  stepName: string;
  iteration: number;
  functionName: string;
  context?: { case: "operationMeta"; value: OperationMeta } | { case: "compositionMeta"; value: CompositionMeta } | undefined;
}
export const StepMeta: MessageType<StepMeta> = messageType<StepMeta>("crossplane.pipeline.v1alpha1.StepMeta", [
  { number: 1, name: "timestamp", protoName: "timestamp", cardinality: "optional", value: { kind: "message", message: () => Timestamp } },
  { number: 2, name: "traceId", protoName: "trace_id", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 3, name: "spanId", protoName: "span_id", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 4, name: "stepIndex", protoName: "step_index", cardinality: "implicit", value: { kind: "scalar", scalar: "int32" } },
  { number: 5, name: "stepName", protoName: "step_name", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 6, name: "iteration", protoName: "iteration", cardinality: "implicit", value: { kind: "scalar", scalar: "int32" } },
  { number: 7, name: "functionName", protoName: "function_name", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 8, name: "operationMeta", protoName: "operation_meta", cardinality: "oneof", value: { kind: "message", message: () => OperationMeta }, oneof: "context" },
  { number: 9, name: "compositionMeta", protoName: "composition_meta", cardinality: "oneof", value: { kind: "message", message: () => CompositionMeta }, oneof: "context" },
]);

export interface OperationMeta extends Message {
  operationName: string;
  operationUid: string;
}
export const OperationMeta: MessageType<OperationMeta> = messageType<OperationMeta>("crossplane.pipeline.v1alpha1.OperationMeta", [
  { number: 1, name: "operationName", protoName: "operation_name", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "operationUid", protoName: "operation_uid", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
]);

export interface CompositionMeta extends Message {
  compositionName: string;
  compositeResourceUid: string;
  compositeResourceName: string;
  compositeResourceNamespace: string;
  compositeResourceApiVersion: string;
  compositeResourceKind: string;
}
export const CompositionMeta: MessageType<CompositionMeta> = messageType<CompositionMeta>("crossplane.pipeline.v1alpha1.CompositionMeta", [
  { number: 1, name: "compositionName", protoName: "composition_name", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "compositeResourceUid", protoName: "composite_resource_uid", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 3, name: "compositeResourceName", protoName: "composite_resource_name", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 4, name: "compositeResourceNamespace", protoName: "composite_resource_namespace", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 5, name: "compositeResourceApiVersion", protoName: "composite_resource_api_version", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 6, name: "compositeResourceKind", protoName: "composite_resource_kind", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
]);
