// SPDX-License-Identifier: Apache-2.0
// Generated from grpc/reflection/v1/reflection.proto by `npm run generate`. Do not edit.
import { type Message, type MessageType, messageType } from "../descriptor.ts";

export interface ServerReflectionRequest extends Message {
  host: string;
  messageRequest?: { case: "fileByFilename"; value: string } | { case: "fileContainingSymbol"; value: string } | { case: "fileContainingExtension"; value: ExtensionRequest } | { case: "allExtensionNumbersOfType"; value: string } | { case: "listServices"; value: string } | undefined;
}
export const ServerReflectionRequest: MessageType<ServerReflectionRequest> = messageType<ServerReflectionRequest>("grpc.reflection.v1.ServerReflectionRequest", [
  { number: 1, name: "host", protoName: "host", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 3, name: "fileByFilename", protoName: "file_by_filename", cardinality: "oneof", value: { kind: "scalar", scalar: "string" }, oneof: "messageRequest" },
  { number: 4, name: "fileContainingSymbol", protoName: "file_containing_symbol", cardinality: "oneof", value: { kind: "scalar", scalar: "string" }, oneof: "messageRequest" },
  { number: 5, name: "fileContainingExtension", protoName: "file_containing_extension", cardinality: "oneof", value: { kind: "message", message: () => ExtensionRequest }, oneof: "messageRequest" },
  { number: 6, name: "allExtensionNumbersOfType", protoName: "all_extension_numbers_of_type", cardinality: "oneof", value: { kind: "scalar", scalar: "string" }, oneof: "messageRequest" },
  { number: 7, name: "listServices", protoName: "list_services", cardinality: "oneof", value: { kind: "scalar", scalar: "string" }, oneof: "messageRequest" },
]);

export interface ExtensionRequest extends Message {
  containingType: string;
  extensionNumber: number;
}
export const ExtensionRequest: MessageType<ExtensionRequest> = messageType<ExtensionRequest>("grpc.reflection.v1.ExtensionRequest", [
  { number: 1, name: "containingType", protoName: "containing_type", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "extensionNumber", protoName: "extension_number", cardinality: "implicit", value: { kind: "scalar", scalar: "int32" } },
]);

export interface ServerReflectionResponse extends Message {
  validHost: string;
  originalRequest?: ServerReflectionRequest | undefined;
  messageResponse?: { case: "fileDescriptorResponse"; value: FileDescriptorResponse } | { case: "allExtensionNumbersResponse"; value: ExtensionNumberResponse } | { case: "listServicesResponse"; value: ListServiceResponse } | { case: "errorResponse"; value: ErrorResponse } | undefined;
}
export const ServerReflectionResponse: MessageType<ServerReflectionResponse> = messageType<ServerReflectionResponse>("grpc.reflection.v1.ServerReflectionResponse", [
  { number: 1, name: "validHost", protoName: "valid_host", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "originalRequest", protoName: "original_request", cardinality: "optional", value: { kind: "message", message: () => ServerReflectionRequest } },
  { number: 4, name: "fileDescriptorResponse", protoName: "file_descriptor_response", cardinality: "oneof", value: { kind: "message", message: () => FileDescriptorResponse }, oneof: "messageResponse" },
  { number: 5, name: "allExtensionNumbersResponse", protoName: "all_extension_numbers_response", cardinality: "oneof", value: { kind: "message", message: () => ExtensionNumberResponse }, oneof: "messageResponse" },
  { number: 6, name: "listServicesResponse", protoName: "list_services_response", cardinality: "oneof", value: { kind: "message", message: () => ListServiceResponse }, oneof: "messageResponse" },
  { number: 7, name: "errorResponse", protoName: "error_response", cardinality: "oneof", value: { kind: "message", message: () => ErrorResponse }, oneof: "messageResponse" },
]);

export interface FileDescriptorResponse extends Message {
  fileDescriptorProto: Uint8Array[];
}
export const FileDescriptorResponse: MessageType<FileDescriptorResponse> = messageType<FileDescriptorResponse>("grpc.reflection.v1.FileDescriptorResponse", [
  { number: 1, name: "fileDescriptorProto", protoName: "file_descriptor_proto", cardinality: "list", value: { kind: "scalar", scalar: "bytes" } },
]);

export interface ExtensionNumberResponse extends Message {
  baseTypeName: string;
  extensionNumber: number[];
}
export const ExtensionNumberResponse: MessageType<ExtensionNumberResponse> = messageType<ExtensionNumberResponse>("grpc.reflection.v1.ExtensionNumberResponse", [
  { number: 1, name: "baseTypeName", protoName: "base_type_name", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
  { number: 2, name: "extensionNumber", protoName: "extension_number", cardinality: "list", value: { kind: "scalar", scalar: "int32" } },
]);

export interface ListServiceResponse extends Message {
  service: ServiceResponse[];
}
export const ListServiceResponse: MessageType<ListServiceResponse> = messageType<ListServiceResponse>("grpc.reflection.v1.ListServiceResponse", [
  { number: 1, name: "service", protoName: "service", cardinality: "list", value: { kind: "message", message: () => ServiceResponse } },
]);

export interface ServiceResponse extends Message {
  name: string;
}
export const ServiceResponse: MessageType<ServiceResponse> = messageType<ServiceResponse>("grpc.reflection.v1.ServiceResponse", [
  { number: 1, name: "name", protoName: "name", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
]);

export interface ErrorResponse extends Message {
  errorCode: number;
  errorMessage: string;
}
export const ErrorResponse: MessageType<ErrorResponse> = messageType<ErrorResponse>("grpc.reflection.v1.ErrorResponse", [
  { number: 1, name: "errorCode", protoName: "error_code", cardinality: "implicit", value: { kind: "scalar", scalar: "int32" } },
  { number: 2, name: "errorMessage", protoName: "error_message", cardinality: "implicit", value: { kind: "scalar", scalar: "string" } },
]);
