// SPDX-License-Identifier: Apache-2.0
// A function that answers whatever a test wants, written by hand on HTTP/2: no gRPC server would send most of it.
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type OutgoingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { decode, RunFunctionRequest } from "@purlin/function-protocol";

/** What goes over the wire for one call. */
export interface WireAnswer {
  /** The message; already compressed where `encoding` says so. */
  readonly message: Uint8Array;
  readonly encoding?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly trailers?: OutgoingHttpHeaders;
  /** Send the message in this many pieces with pauses in between. */
  readonly pieces?: number;
}

/** Answers one request of a function. */
export type Answering = (request: RunFunctionRequest) => WireAnswer;

/** A function that runs. */
export interface AnsweringFunction extends AsyncDisposable {
  /** Where it listens. */
  readonly address: string;
  /** How often it was called. */
  readonly calls: () => number;
}

/** Starts a function on a free port. */
export async function startFunction(answering: Answering): Promise<AnsweringFunction> {
  const server = createServer({ maxSessionMemory: 4_096 });
  const sessions = new Set<ServerHttp2Session>();
  let calls = 0;
  const ignore = (): void => {};
  server.on("session", (session) => void sessions.add(session.on("error", ignore)));
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", ignore);
    calls++;
    void respond(stream, answering).catch(ignore);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

async function respond(stream: ServerHttp2Stream, answering: Answering): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const {
    message,
    encoding,
    headers = {},
    trailers = {},
    pieces = 1,
  } = answering(decode(RunFunctionRequest, Buffer.concat(chunks).subarray(5)));
  const head = Buffer.alloc(5);
  head[0] = encoding === undefined ? 0 : 1;
  head.writeUInt32BE(message.length, 1);
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc",
      ...(encoding && { "grpc-encoding": encoding }),
      ...headers,
    },
    { waitForTrailers: true },
  );
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", ...trailers }));
  await dripped(stream, Buffer.concat([head, message]), pieces);
  stream.end();
}

async function dripped(stream: ServerHttp2Stream, bytes: Buffer, pieces: number): Promise<void> {
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += size) {
    stream.write(bytes.subarray(at, at + size));
    if (pieces > 1) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
