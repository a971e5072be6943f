// SPDX-License-Identifier: Apache-2.0
// Servers that are not functions, called as if they were.
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";

/** Serves gRPC by hand: answers every call with these bytes, or with none, and with a status. */
export async function serveGrpc(
  port: number,
  { message, status = 0 }: { readonly message?: Buffer; readonly status?: number },
): Promise<AsyncDisposable> {
  const server = createHttp2Server();
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": String(status), "grpc-message": "by hand" }));
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.end(message && framed(message));
  });
  return listening(server, port);
}

/** A gRPC frame: not compressed, its length, the message. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Serves anything: what to do with each connection is up to the caller. */
export async function serveSockets(port: number, onConnection: (socket: Socket) => void): Promise<AsyncDisposable> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    onConnection(socket);
  });
  return listening(server, port);
}

async function listening(server: Server, port: number): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
