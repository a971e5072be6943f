// SPDX-License-Identifier: Apache-2.0
// The least a gRPC server in Node can do: takes bytes, gives bytes. What an SDK costs is what it lacks to this one.
import type { Buffer } from "node:buffer";
import { Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import { runFunctionPaths } from "@purlin/function-protocol";

const unchanged = (bytes: Buffer): Buffer => bytes;
const service: ServiceDefinition = {
  runFunction: {
    path: runFunctionPaths.v1,
    requestStream: false,
    responseStream: false,
    requestSerialize: unchanged,
    requestDeserialize: unchanged,
    responseSerialize: unchanged,
    responseDeserialize: unchanged,
  },
};
const server = new Server();
server.addService(service, {
  runFunction: (call: { readonly request: Buffer }, done: (error: null, answer: Buffer) => void) =>
    done(null, call.request),
});
const [address = "127.0.0.1:0"] = process.argv.slice(2);
server.bindAsync(address, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
});
process.once("SIGTERM", () => server.forceShutdown());
