// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { type Server, type ServerDuplexStream, status } from "@grpc/grpc-js";
import { create, decode, fileDescriptors, type Message, type MessageType, reflection } from "@purlin/function-protocol";
import { messageMethod } from "./function-service.ts";

const { ServerReflectionRequest, ServerReflectionResponse } = reflection;

/** The name of the service. */
export const reflectionServiceName = "grpc.reflection.v1.ServerReflection";

/** Older tools ask under this name, with the same messages. */
const olderName = "grpc.reflection.v1alpha.ServerReflection";

type Answer = NonNullable<reflection.ServerReflectionResponse["messageResponse"]>;
type Stream = ServerDuplexStream<reflection.ServerReflectionRequest, reflection.ServerReflectionResponse>;

/** Serves the services and message types to tools such as grpcurl. */
export function registerReflection(server: Server, services: readonly string[]): void {
  let index: DescriptorIndex | undefined;
  const serve = (stream: Stream): void => {
    // Reflection is rarely used: building the index on first use takes a millisecond.
    index ??= createDescriptorIndex();
    const known = index;
    stream.on("data", (request: reflection.ServerReflectionRequest) => {
      stream.write(reply(request, answer(request.messageRequest, known, services)));
    });
    stream.on("end", () => stream.end());
  };
  for (const name of [reflectionServiceName, olderName]) {
    const path = `/${name}/ServerReflectionInfo`;
    const types = { request: ServerReflectionRequest, response: ServerReflectionResponse };
    const method = messageMethod(path, { ...types, requestStream: true, responseStream: true });
    server.addService({ serverReflectionInfo: method }, { serverReflectionInfo: serve });
  }
}

function reply(
  request: reflection.ServerReflectionRequest,
  messageResponse: Answer,
): reflection.ServerReflectionResponse {
  return create(ServerReflectionResponse, { validHost: request.host, originalRequest: request, messageResponse });
}

function answer(
  asked: reflection.ServerReflectionRequest["messageRequest"],
  index: DescriptorIndex,
  services: readonly string[],
): Answer {
  switch (asked?.case) {
    case "listServices":
      return listServices(services);
    case "fileByFilename":
      return files(index.withImports(asked.value), `file ${JSON.stringify(asked.value)}`);
    case "fileContainingSymbol":
      return files(index.withImports(index.fileOf(asked.value) ?? ""), `symbol ${JSON.stringify(asked.value)}`);
    case "allExtensionNumbersOfType":
      return extensions(asked.value, index);
    case "fileContainingExtension":
      return problem(status.NOT_FOUND, "extensions are not supported");
    case undefined:
      return problem(status.INVALID_ARGUMENT, "empty reflection request");
  }
}

function listServices(services: readonly string[]): Answer {
  const service = services.map((name) => create(reflection.ServiceResponse, { name }));
  return { case: "listServicesResponse", value: create(reflection.ListServiceResponse, { service }) };
}

function files(found: Uint8Array[] | undefined, what: string): Answer {
  if (found === undefined) return problem(status.NOT_FOUND, `unknown ${what}`);
  const value = create(reflection.FileDescriptorResponse, { fileDescriptorProto: found });
  return { case: "fileDescriptorResponse", value };
}

function extensions(type: string, index: DescriptorIndex): Answer {
  if (!index.isMessage(type)) return problem(status.NOT_FOUND, `unknown message ${JSON.stringify(type)}`);
  const value = create(reflection.ExtensionNumberResponse, { baseTypeName: type });
  return { case: "allExtensionNumbersResponse", value };
}

function problem(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: create(reflection.ErrorResponse, { errorCode, errorMessage }) };
}

type Field = MessageType<Message>["fields"][number];

// The few fields of descriptor.proto that name things; the codec skips the rest.
interface Named extends Message {
  name: string;
}
interface MessageDescriptor extends Named {
  fields: Named[];
  nested: MessageDescriptor[];
  enums: EnumDescriptor[];
}
interface EnumDescriptor extends Named {
  values: Named[];
}
interface ServiceDescriptor extends Named {
  methods: Named[];
}
interface FileDescriptor extends Named {
  package: string;
  dependencies: string[];
  messages: MessageDescriptor[];
  enums: EnumDescriptor[];
  services: ServiceDescriptor[];
}

const text = (number: number, name: string, cardinality: Field["cardinality"] = "implicit"): Field => ({
  number,
  name,
  protoName: name,
  cardinality,
  value: { kind: "scalar", scalar: "string" },
});

const list = (number: number, name: string, message: () => MessageType<Message>): Field => ({
  number,
  name,
  protoName: name,
  cardinality: "list",
  value: { kind: "message", message },
});

function describe<T extends Message>(typeName: string, fields: readonly Field[]): MessageType<T> {
  return { typeName, fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
}

const Name = describe<Named>("google.protobuf.Named", [text(1, "name")]);
const Enum = describe<EnumDescriptor>("google.protobuf.EnumDescriptorProto", [
  text(1, "name"),
  list(2, "values", () => Name),
]);
const Service = describe<ServiceDescriptor>("google.protobuf.ServiceDescriptorProto", [
  text(1, "name"),
  list(2, "methods", () => Name),
]);
const MessageProto: MessageType<MessageDescriptor> = describe<MessageDescriptor>("google.protobuf.DescriptorProto", [
  text(1, "name"),
  list(2, "fields", () => Name),
  list(3, "nested", () => MessageProto),
  list(4, "enums", () => Enum),
]);
const File = describe<FileDescriptor>("google.protobuf.FileDescriptorProto", [
  text(1, "name"),
  text(2, "package"),
  text(3, "dependencies", "list"),
  list(4, "messages", () => MessageProto),
  list(5, "enums", () => Enum),
  list(6, "services", () => Service),
]);

/** Finds compiled .proto files by what they define. */
interface DescriptorIndex {
  /** A file and all it imports, itself first. Undefined for one we do not have. */
  withImports(file: string): Uint8Array[] | undefined;
  /** The file that defines a fully qualified name. */
  fileOf(symbol: string): string | undefined;
  isMessage(symbol: string): boolean;
}

/** Reads the compiled .proto files of the protocol. */
export function createDescriptorIndex(): DescriptorIndex {
  const files = new Map(Object.entries(fileDescriptors).map(([name, base64]) => [name, Buffer.from(base64, "base64")]));
  const imports = new Map<string, readonly string[]>();
  const symbols = new Map<string, string>();
  const messages = new Set<string>();
  for (const [name, bytes] of files) {
    const file = decode(File, bytes);
    imports.set(name, file.dependencies);
    for (const symbol of symbolsOf(file, messages)) symbols.set(symbol, name);
  }
  return {
    withImports: (file) =>
      files.has(file) ? closure(file, imports).flatMap((name) => files.get(name) ?? []) : undefined,
    fileOf: (symbol) => symbols.get(symbol),
    isMessage: (symbol) => messages.has(symbol),
  };
}

function closure(file: string, imports: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set([file]);
  for (const name of found) for (const imported of imports.get(name) ?? []) found.add(imported);
  return [...found];
}

function symbolsOf(file: FileDescriptor, messages: Set<string>): string[] {
  return [
    ...file.messages.flatMap((message) => messageSymbols(file.package, message, messages)),
    ...file.enums.flatMap((one) => enumSymbols(file.package, one)),
    ...file.services.flatMap(({ name, methods }) => withMembers(`${file.package}.${name}`, methods)),
  ];
}

function messageSymbols(scope: string, message: MessageDescriptor, messages: Set<string>): string[] {
  const name = `${scope}.${message.name}`;
  messages.add(name);
  return [
    ...withMembers(name, message.fields),
    ...message.nested.flatMap((nested) => messageSymbols(name, nested, messages)),
    ...message.enums.flatMap((one) => enumSymbols(name, one)),
  ];
}

/** Values of an enum are named beside it, not inside: protobuf takes that from C++. */
function enumSymbols(scope: string, { name, values }: EnumDescriptor): string[] {
  return [`${scope}.${name}`, ...values.map((value) => `${scope}.${value.name}`)];
}

function withMembers(name: string, members: readonly Named[]): string[] {
  return [name, ...members.map((member) => `${name}.${member.name}`)];
}
