// SPDX-License-Identifier: Apache-2.0
import { type Server, type ServerDuplexStream, status } from "@grpc/grpc-js";
import { create, reflection } from "@purlin/function-protocol";
import { createDescriptorIndex, type DescriptorIndex } from "./descriptor-index.ts";
import { messageMethod } from "./grpc-method.ts";

const { ServerReflectionRequest, ServerReflectionResponse } = reflection;

/** The name of the service. */
export const reflectionServiceName = "grpc.reflection.v1.ServerReflection";

/** Older tools ask under this name, with the same messages. */
const olderName = "grpc.reflection.v1alpha.ServerReflection";

type Answer = NonNullable<reflection.ServerReflectionResponse["messageResponse"]>;
type Stream = ServerDuplexStream<reflection.ServerReflectionRequest, reflection.ServerReflectionResponse>;

/** Tells tools such as grpcurl which services there are and what their messages look like. */
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
