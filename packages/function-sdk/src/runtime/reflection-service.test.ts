// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { Buffer } from "node:buffer";
import { type TestContext, test } from "node:test";
import { createFileRegistry, create as createMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { create, decode, encode, reflection } from "@purlin/function-protocol";
import { hasCode, RawClient } from "../../test/raw-client.ts";
import { nopLogger } from "../logging/new-logger.ts";
import { createDescriptorIndex } from "./reflection-service.ts";
import { start } from "./start.ts";

const { ServerReflectionRequest, ServerReflectionResponse } = reflection;
type Asked = NonNullable<reflection.ServerReflectionRequest["messageRequest"]>;

const v1 = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const v1alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

async function serving(t: TestContext, on = true): Promise<RawClient> {
  const options = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger, reflection: on };
  const running = await start((req, ctx) => ctx.to(req), options);
  t.after(() => running.stop(0));
  return new RawClient(t, running.address);
}

/** Sends questions on one stream and collects the answers. */
async function ask(
  client: RawClient,
  questions: readonly Asked[],
  path = v1,
): Promise<reflection.ServerReflectionResponse[]> {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const stream = client.client.makeBidiStreamRequest(path, asIs, asIs);
  for (const messageRequest of questions) {
    stream.write(encode(ServerReflectionRequest, create(ServerReflectionRequest, { host: "h", messageRequest })));
  }
  stream.end();
  const answers: reflection.ServerReflectionResponse[] = [];
  for await (const bytes of stream) answers.push(decode(ServerReflectionResponse, bytes as Buffer));
  return answers;
}

async function filesOf(client: RawClient, question: Asked): Promise<string[]> {
  const [answer] = await ask(client, [question]);
  assert.equal(answer?.messageResponse?.case, "fileDescriptorResponse");
  const { fileDescriptorProto } = answer.messageResponse.value as reflection.FileDescriptorResponse;
  return fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
}

test("services are listed, under the old name of reflection too", async (t) => {
  const client = await serving(t);
  for (const path of [v1, v1alpha]) {
    const [answer] = await ask(client, [{ case: "listServices", value: "*" }], path);
    assert.equal(answer?.validHost, "h");
    assert.equal(answer?.originalRequest?.messageRequest?.case, "listServices");
    assert.equal(answer?.messageResponse?.case, "listServicesResponse");
    const { service } = answer.messageResponse.value as reflection.ListServiceResponse;
    assert.deepEqual(
      service.map(({ name }) => name),
      [
        "apiextensions.fn.proto.v1.FunctionRunnerService",
        "apiextensions.fn.proto.v1beta1.FunctionRunnerService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
      ],
    );
  }
});

const functionFiles = [
  "apiextensions/fn/proto/v1/run_function.proto",
  "google/protobuf/duration.proto",
  "google/protobuf/struct.proto",
];

const symbols: Record<string, string[]> = {
  "apiextensions.fn.proto.v1.FunctionRunnerService": functionFiles,
  "apiextensions.fn.proto.v1.FunctionRunnerService.RunFunction": functionFiles,
  "apiextensions.fn.proto.v1.RunFunctionRequest": functionFiles,
  "apiextensions.fn.proto.v1.RunFunctionRequest.meta": functionFiles,
  "apiextensions.fn.proto.v1.State.ResourcesEntry": functionFiles,
  "apiextensions.fn.proto.v1.Capability": functionFiles,
  "apiextensions.fn.proto.v1.CAPABILITY_CAPABILITIES": functionFiles,
  "google.protobuf.Struct": ["google/protobuf/struct.proto"],
  "grpc.health.v1.Health": ["grpc/health/v1/health.proto"],
  "grpc.health.v1.HealthCheckResponse.SERVING": ["grpc/health/v1/health.proto"],
  "grpc.reflection.v1.ServerReflection": ["grpc/reflection/v1/reflection.proto"],
};

test("symbols are found with every file they need", async (t) => {
  const client = await serving(t);
  for (const [symbol, want] of Object.entries(symbols)) {
    assert.deepEqual(await filesOf(client, { case: "fileContainingSymbol", value: symbol }), want, symbol);
  }
  assert.deepEqual(await filesOf(client, { case: "fileByFilename", value: functionFiles[0] ?? "" }), functionFiles);
});

test("what is answered is enough to build the service from nothing", () => {
  const index = createDescriptorIndex();
  for (const version of ["v1", "v1beta1"]) {
    const name = `apiextensions.fn.proto.${version}.FunctionRunnerService`;
    const files = index.withImports(index.fileOf(name) ?? "") ?? [];
    const file = files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes)).reverse();
    const service = createFileRegistry(createMessage(FileDescriptorSetSchema, { file })).getService(name);
    assert.equal(service?.methods[0]?.name, "RunFunction");
  }
});

test("one stream takes many questions; wrong ones are answered, not failed", async (t) => {
  const client = await serving(t);
  const extension = create(reflection.ExtensionRequest, { containingType: "x", extensionNumber: 1 });
  const answers = await ask(client, [
    { case: "fileContainingSymbol", value: "no.Such" },
    { case: "fileByFilename", value: "no.proto" },
    { case: "fileContainingExtension", value: extension },
    { case: "allExtensionNumbersOfType", value: "no.Such" },
    { case: "allExtensionNumbersOfType", value: "google.protobuf.Struct" },
  ]);
  const codes = answers.map(({ messageResponse }) =>
    messageResponse?.case === "errorResponse" ? messageResponse.value.errorCode : messageResponse?.case,
  );
  assert.deepEqual(codes, [5, 5, 5, 5, "allExtensionNumbersResponse"]);
  const [empty] = await ask(client, [undefined as unknown as Asked]);
  assert.equal(empty?.messageResponse?.case, "errorResponse");
});

test("reflection can be switched off", async (t) => {
  const client = await serving(t, false);
  await assert.rejects(ask(client, [{ case: "listServices", value: "" }]), hasCode(status.UNIMPLEMENTED));
});
