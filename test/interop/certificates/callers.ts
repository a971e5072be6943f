// SPDX-License-Identifier: Apache-2.0
// Clients of several TLS implementations that call a function once with the certificates of a folder.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import { tlsFromDirectory } from "@purlin/function-runner";
import { purlinCommand } from "../../../packages/cli/test/spawn-purlin.ts";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { pythonOf, pythonSdk } from "../../../tools/peers/catalog.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { createControlPlane } from "../control-plane.ts";
import { grpcurl, withCertificates } from "../grpcurl.ts";

/** Whether a call was answered, and what the caller said about it. */
export interface Outcome {
  readonly answered: boolean;
  readonly text: string;
}

/** Calls the function on a port of this machine, as localhost. */
export type Caller = (folder: string, port: number) => Promise<Outcome>;

const method = "apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

/** grpcurl: Go's TLS. */
export const go: Caller = async (folder, port) => {
  const { code, stdout, stderr } = await grpcurl(...withCertificates(folder), `localhost:${port}`, method);
  return { answered: code === 0, text: stdout + stderr };
};

/** gRPC's Python client: BoringSSL. */
export const python: Caller = (folder, port) => {
  const program = pythonOf(installed(pythonSdk, cacheDirectory));
  return run(program, [join(import.meta.dirname, "call.py"), folder, String(port)]);
};

/** Node's HTTP/2 client: OpenSSL. It cannot verify Crossplane's server certificates, so it does not. */
export const node: Caller = (folder, port) => {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  const session = connect(`https://localhost:${port}`, {
    rejectUnauthorized: false,
    cert: read("tls.crt"),
    key: read("tls.key"),
  });
  const fail = (error: Error): void => resolve({ answered: false, text: error.message });
  session.on("error", fail).once("close", () => fail(new Error("the connection was closed")));
  const stream = session.request({
    ":method": "POST",
    ":path": `/${method}`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", fail).resume();
  stream.once("trailers", (trailers) => {
    resolve({ answered: trailers["grpc-status"] === "0", text: JSON.stringify(trailers) });
  });
  // An empty message, framed.
  stream.end(Buffer.alloc(5));
  return promise.finally(() => session.destroy());
};

/** Our runner. A peer that it refuses is tried again until the deadline. */
export const runner: Caller = async (folder, port) => {
  using plane = createControlPlane({ security: tlsFromDirectory(folder) });
  const request = create(RunFunctionRequest, { meta: { tag: "from-runner", capabilities: [] } });
  // Until the error of a connection is known it is not in the message, so a refusal needs time for one connection.
  const call = { deadline: Date.now() + 10_000 };
  try {
    const { meta } = await plane.callOnce(port, request, call);
    return { answered: meta?.tag === "from-runner", text: "" };
  } catch (error) {
    return { answered: false, text: String(error) };
  }
};

/** `purlin function call`. */
export const command: Caller = (folder, port) => {
  const request = join(import.meta.dirname, "request.yaml");
  const flags = ["--target", `localhost:${port}`, "--tls-certs-dir", folder, "--request", request];
  return run(process.execPath, [purlinCommand, "function", "call", ...flags]);
};

function run(program: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(program, args, (error, stdout, stderr) => resolve({ answered: error === null, text: stdout + stderr }));
  });
}
