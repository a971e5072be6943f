// SPDX-License-Identifier: Apache-2.0
// Generated from grpc/health/v1/health.proto by `npm run generate`. Do not edit.
import { type EnumType, type Message, type MessageType, messageType } from "../descriptor.ts";

export const ServingStatus = {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
} as const;
/** A number of {@link ServingStatus}; numbers of newer protocol versions are kept. */
export type ServingStatus = (typeof ServingStatus)[keyof typeof ServingStatus] | (number & {});
const ServingStatusType: EnumType = { typeName: "grpc.health.v1.HealthCheckResponse.ServingStatus", values: ServingStatus };

export interface HealthCheckRequest extends Message {
  service: string;
}
export const HealthCheckRequest: MessageType<HealthCheckRequest> = messageType<HealthCheckRequest>("grpc.health.v1.HealthCheckRequest", [
  { number: 1, name: "service", protoName: "service", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
]);

export interface HealthCheckResponse extends Message {
  status: ServingStatus;
}
export const HealthCheckResponse: MessageType<HealthCheckResponse> = messageType<HealthCheckResponse>("grpc.health.v1.HealthCheckResponse", [
  { number: 1, name: "status", protoName: "status", cardinality: "implicit", value: { kind: "enum", enum: ServingStatusType } },
]);
