// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { systemClock } from "@purlin/base";
import {
  create,
  encode,
  inspector,
  type Message,
  type MessageType,
  RunFunctionRequest,
  RunFunctionResponse,
  toJson,
} from "@purlin/function-protocol";
import { systemNames } from "../dial/channel-context.ts";
import { FunctionConnection } from "../dial/connection.ts";
import type { RequestRecord, ResponseRecord, RunSink } from "./record-runs.ts";

/** How an inspector is reached. */
interface InspectorOptions {
  /** A record the inspector does not take in time is lost. Default 100. */
  readonly timeoutMs?: number | undefined;
}

const service = "/crossplane.pipeline.v1alpha1.PipelineInspectorService";
const maxBytes = 64 * 2 ** 20;

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
