// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import {
  decode,
  encode,
  type ProtocolVersion,
  RunFunctionRequest,
  RunFunctionResponse,
  runFunctionPaths,
} from "@purlin/function-protocol";
import { nopLogger } from "../logging/new-logger.ts";
import type { FunctionHandler, ServeOptions } from "../runtime/serve-options.ts";
import { type RunningFunction, start } from "../runtime/start.ts";

/** A function that is served on this machine, and a client for it. */
export interface TestServer extends RunningFunction {
  /** Calls the function over the network. Rejects with the gRPC error when the call fails. */
  call(req: RunFunctionRequest, protocol?: ProtocolVersion): Promise<RunFunctionResponse>;
}

const asIs = (bytes: Buffer): Buffer => bytes;
const largest = 64 * 1024 * 1024;

/** Serves a function in plaintext on a free port of the loopback interface, without metrics. */
export async function startTestServer(handler: FunctionHandler, options: ServeOptions = {}): Promise<TestServer> {
  const defaults = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger };
  const running = await start(handler, { ...defaults, ...options });
  const client = new Client(running.address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": largest,
    "grpc.use_local_subchannel_pool": 1,
  });
  const stop = async (graceMs?: number): Promise<void> => {
    client.close();
    await running.stop(graceMs);
  };
  return {
    ...running,
    call: (req, protocol = "v1") => unary(client, runFunctionPaths[protocol], req),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

function unary(client: Client, path: string, req: RunFunctionRequest): Promise<RunFunctionResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<RunFunctionResponse>();
  const done = (error: ServiceError | null, bytes?: Buffer): void => {
    if (error !== null) reject(error);
    else if (bytes === undefined) reject(new Error("the server answered without a message"));
    else resolve(decode(RunFunctionResponse, bytes));
  };
  client.makeUnaryRequest(path, asIs, asIs, encode(RunFunctionRequest, req), done);
  return promise;
}
