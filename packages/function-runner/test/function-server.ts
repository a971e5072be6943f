// SPDX-License-Identifier: Apache-2.0
// A function as the runner's tests need it: a bare gRPC server whose connections can be counted and cut.
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerOptions,
  type ServerUnaryCall,
  type ServiceDefinition,
} from "@grpc/grpc-js";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";
import { type CrossplaneLeafOptions, issueAsCrossplane } from "@purlin/certificates/testing";
import {
  create,
  decode,
  encode,
  type ProtocolVersion,
  ResponseMeta,
  RunFunctionRequest,
  RunFunctionResponse,
  runFunctionPaths,
} from "@purlin/function-protocol";

/** What a handler may look at besides the request. */
interface HandlerCall {
  readonly version: ProtocolVersion;
  readonly requestBytes: Buffer;
  readonly cancelled: AbortSignal;
  /** The deadline the client sent. */
  readonly deadline: number;
}

export type Handler = (
  request: RunFunctionRequest,
  call: HandlerCall,
) => RunFunctionResponse | Buffer | Promise<RunFunctionResponse | Buffer>;

export interface FunctionServerOptions {
  readonly handler?: Handler;
  readonly versions?: readonly ProtocolVersion[];
  /** A host, or the path of a unix socket. Default 127.0.0.1. */
  readonly listen?: { readonly host?: string; readonly port?: number } | { readonly path: string };
  readonly credentials?: ServerCredentials;
  readonly serverOptions?: ServerOptions;
}

export interface FunctionServer extends AsyncDisposable {
  readonly port: number;
  readonly endpoint: string;
  /** Every call, in the order of arrival. */
  readonly calls: readonly { readonly version: ProtocolVersion; readonly request: RunFunctionRequest }[];
  /** How many connections were ever accepted, and how many are open. */
  readonly accepted: number;
  readonly open: number;
  /** Resolves when no connection is open. */
  drained(): Promise<void>;
  /** Cuts all connections, as a crash does. The server continues to listen. */
  cut(): void;
  /** Stops listening and cuts all connections. */
  stop(): Promise<void>;
}

/** An answer that echoes the tag, as every function must. */
export function answer(request: RunFunctionRequest, init: Partial<RunFunctionResponse> = {}): RunFunctionResponse {
  const meta = create(ResponseMeta, { tag: request.meta?.tag ?? "" });
  return create(RunFunctionResponse, { meta, desired: request.desired, context: request.context, ...init });
}

/** An error a handler throws to answer with a gRPC status. */
export function statusError(code: number, details: string): Error {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}

const asIs = (bytes: Buffer): Buffer => bytes;

export async function serveFunction(options: FunctionServerOptions = {}): Promise<FunctionServer> {
  const { handler = (request) => answer(request), versions = ["v1", "v1beta1"] } = options;
  const calls: { version: ProtocolVersion; request: RunFunctionRequest }[] = [];
  const grpc = new Server({ "grpc.max_receive_message_length": -1, ...options.serverOptions });
  for (const version of versions) {
    grpc.addService(definitionOf(version), {
      runFunction: unary(version, (request, call) => {
        calls.push({ version, request });
        return handler(request, call);
      }),
    });
  }
  const injector = grpc.createConnectionInjector(options.credentials ?? ServerCredentials.createInsecure());
  const sockets = new Set<Socket>();
  let accepted = 0;
  const tcp = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    injector.injectConnection(socket);
  });
  tcp.listen(options.listen ?? { host: "127.0.0.1", port: 0 });
  await once(tcp, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const drained = async (): Promise<void> => {
    for (const socket of sockets) if (!socket.closed) await once(socket, "close");
  };
  const stop = async (): Promise<void> => {
    const closed = tcp.listening ? once(tcp.close(), "close") : undefined;
    cut();
    injector.destroy();
    grpc.forceShutdown();
    await closed;
  };
  const address = tcp.address();
  const { port, text } = addressText(address as AddressInfo | string);
  return {
    port,
    endpoint: text,
    calls,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    drained,
    cut,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function addressText(address: AddressInfo | string): { readonly port: number; readonly text: string } {
  if (typeof address === "string") return { port: 0, text: `unix:${address}` };
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return { port: address.port, text: `${host}:${address.port}` };
}

function definitionOf(version: ProtocolVersion): ServiceDefinition {
  return {
    runFunction: {
      path: runFunctionPaths[version],
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  };
}

function unary(version: ProtocolVersion, handler: Handler): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    respond(version, handler, call).then(
      (bytes) => callback(null, bytes),
      (error: Error) => callback(error),
    );
  };
}

async function respond(
  version: ProtocolVersion,
  handler: Handler,
  call: ServerUnaryCall<Buffer, Buffer>,
): Promise<Buffer> {
  const cancelled = new AbortController();
  call.once("cancelled", () => cancelled.abort());
  const deadline = Number(call.getDeadline());
  const request = decode(RunFunctionRequest, call.request);
  const result = await handler(request, { version, requestBytes: call.request, cancelled: cancelled.signal, deadline });
  return Buffer.isBuffer(result) ? result : encode(RunFunctionResponse, result);
}

// Certificates for tests, in the layout functions and runners use.

/** A directory that is removed when the test ends. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "purlin-runner-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function authority(): KeyPair {
  return createAuthority({ commonName: "test authority" });
}

/** Writes, or replaces, the client side of mutual TLS. */
export function writeClientFiles(directory: string, ca: KeyPair, signer: KeyPair = ca): void {
  const client = issueCertificate(signer, { commonName: "runner", usages: ["client"] });
  writeFileSync(join(directory, "ca.crt"), ca.certPem);
  writeFileSync(join(directory, "tls.crt"), client.certPem);
  writeFileSync(join(directory, "tls.key"), client.keyPem);
}

/** Writes the client side of mutual TLS as Crossplane makes it. */
export function writeCrossplaneFiles(directory: string, ca: KeyPair): void {
  const client = issueAsCrossplane(ca, { dnsNames: ["crossplane.crossplane-system"], usages: ["client"] });
  writeFileSync(join(directory, "ca.crt"), ca.certPem);
  writeFileSync(join(directory, "tls.crt"), client.certPem);
  writeFileSync(join(directory, "tls.key"), client.keyPem);
}

/** The server side of TLS as Crossplane makes it. Clients are not checked: grpc-js cannot verify such certificates. */
export function crossplaneCredentials(ca: KeyPair, options: Partial<CrossplaneLeafOptions>): ServerCredentials {
  const { certPem, keyPem } = issueAsCrossplane(ca, { usages: ["server"], ...options });
  const pair = { private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certPem) };
  return ServerCredentials.createSsl(Buffer.from(ca.certPem), [pair], false);
}

/** The server side of mutual TLS; clients must show a certificate of the same authority. */
export function serverCredentials(
  ca: KeyPair,
  names: { readonly dnsNames?: readonly string[]; readonly ipAddresses?: readonly string[] },
): ServerCredentials {
  const { certPem, keyPem } = issueCertificate(ca, { commonName: "function", usages: ["server"], ...names });
  const pair = { private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certPem) };
  return ServerCredentials.createSsl(Buffer.from(ca.certPem), [pair], true);
}
