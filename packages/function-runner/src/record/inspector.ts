// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { type MethodDefinition, Server, ServerCredentials } from "@grpc/grpc-js";
import { systemClock } from "@purlin/base";
import {
  create,
  decode,
  encode,
  fromJson,
  inspector,
  type Message,
  type MessageType,
  RunFunctionRequest,
  RunFunctionResponse,
  toJson,
} from "@purlin/function-protocol";
import { systemNames } from "../dial/channel-resolver.ts";
import { FunctionConnection } from "../dial/connection.ts";
import type { RequestRecord, ResponseRecord, RunSink } from "./record-runs.ts";

/** Receives what a control plane sends to its pipeline inspector. */
export interface InspectorReceiver {
  request(meta: inspector.StepMeta, request: RunFunctionRequest): void;
  /** The response, or the error of the call. */
  response(meta: inspector.StepMeta, outcome: RunFunctionResponse | string): void;
  /** A message that cannot be read. */
  invalid(error: unknown): void;
}

const service = "/crossplane.pipeline.v1alpha1.PipelineInspectorService";

const maxBytes = 64 * 2 ** 20;

/** Serves Crossplane's pipeline inspector on a unix socket. Replaces a socket that an earlier server left, not one that is served. */
export async function serveInspector(socketPath: string, receiver: InspectorReceiver): Promise<AsyncDisposable> {
  if (statSync(socketPath, { throwIfNoEntry: false })?.isSocket()) {
    if (await isServed(socketPath)) throw new Error("another process serves this socket");
    rmSync(socketPath);
  }
  const server = new Server({ "grpc.max_receive_message_length": maxBytes });
  // A sender does not wait for the outcome of its message, and must not fail because of it.
  const take = (receive: (bytes: Buffer) => void) => {
    return ({ request }: { request: Buffer }, reply: (error: null, value: Buffer) => void): void => {
      try {
        receive(request);
      } catch (error) {
        receiver.invalid(error);
      }
      reply(null, Buffer.alloc(0));
    };
  };
  server.addService(
    { EmitRequest: method("EmitRequest"), EmitResponse: method("EmitResponse") },
    {
      EmitRequest: take((bytes) => {
        const { request, meta } = decode(inspector.EmitRequestRequest, bytes);
        if (meta !== undefined) receiver.request(meta, fromJson(RunFunctionRequest, parse(request)));
      }),
      EmitResponse: take((bytes) => {
        const { response, error, meta } = decode(inspector.EmitResponseRequest, bytes);
        if (meta === undefined) return;
        receiver.response(meta, response.length === 0 ? error : fromJson(RunFunctionResponse, parse(response)));
      }),
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  return {
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
      rmSync(socketPath, { force: true });
    },
  };
}

function isServed(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socketPath);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", () => resolve(false));
  });
}

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString());
}

function method(name: string): MethodDefinition<Buffer, Buffer> {
  const same = (value: Buffer): Buffer => value;
  return {
    path: `${service}/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

/** How an inspector is reached. */
interface InspectorOptions {
  /** A record the inspector does not take in time is lost. Default 100. */
  readonly timeoutMs?: number | undefined;
}

/** A sink that sends runs to a recorder behind a unix socket. */
export interface InspectorSink extends RunSink {
  request(record: RequestRecord): Promise<void>;
  response(record: ResponseRecord): Promise<void>;
  close(): void;
}

/** Sends runs in protobuf-JSON to Crossplane's pipeline inspector service. Connects with the first run. */
export function createInspectorSink(socketPath: string, { timeoutMs = 100 }: InspectorOptions = {}): InspectorSink {
  const connection = new FunctionConnection(`unix:${socketPath}`, {
    tls: undefined,
    names: systemNames,
    clock: systemClock,
    maxRequestBytes: maxBytes,
    maxResponseBytes: maxBytes,
  });
  const emit = async (method: string, message: Buffer): Promise<void> => {
    await connection.invoke(`${service}/${method}`, message, { deadline: Date.now() + timeoutMs });
  };
  return {
    async request({ meta, request }) {
      const json = jsonBytes(RunFunctionRequest, request);
      const message = create(inspector.EmitRequestRequest, { request: json, meta });
      await emit("EmitRequest", encode(inspector.EmitRequestRequest, message));
    },
    async response({ meta, response, error = "" }) {
      const json = response === undefined ? new Uint8Array(0) : jsonBytes(RunFunctionResponse, response);
      const message = create(inspector.EmitResponseRequest, { response: json, error, meta });
      await emit("EmitResponse", encode(inspector.EmitResponseRequest, message));
    },
    close: () => connection.close(),
  };
}

function jsonBytes<T extends Message>(type: MessageType<T>, message: T): Buffer {
  return Buffer.from(JSON.stringify(toJson(type, message)));
}
