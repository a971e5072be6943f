// SPDX-License-Identifier: Apache-2.0
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { clientCertificate } from "./client-certificate.ts";
import type { Exchange, OutgoingHeaders, Outlet } from "./exchange.ts";
import { readLimited } from "./read-body.ts";

/** An exchange over HTTP/2. */
export function http2Exchange(stream: ServerHttp2Stream, incoming: IncomingHttpHeaders): Exchange {
  const headers = incoming as Readonly<Record<string, string | undefined>>;
  const socket = stream.session?.socket as TLSSocket | undefined;
  // Every stream of a client that vanishes reports it; "close" follows, and is where it is dealt with.
  stream.on("error", () => {});
  // Not derived from the stream itself: after a cancel it looks finished.
  let answered = false;
  return {
    method: headers[":method"] ?? "GET",
    url: headers[":path"] ?? "/",
    headers,
    certificate: socket === undefined ? undefined : clientCertificate(socket),
    address: socket?.remoteAddress,
    hasBody: !stream.endAfterHeaders,
    readBody: (limit) => readLimited(stream, limit, headers["content-length"]),
    onGone: (callback) => {
      if (stream.destroyed) {
        callback();
      } else {
        stream.once("close", () => answered || callback());
      }
    },
    respond: (code, outgoing, chunks) => {
      answered = true;
      if (!begin(stream, { code, headers: outgoing, endStream: chunks.length === 0 })) return;
      for (const chunk of chunks.slice(0, -1)) {
        stream.write(chunk);
      }
      stream.end(chunks.at(-1));
      refuseRest(stream);
    },
    begin: (code, outgoing) => {
      begin(stream, { code, headers: outgoing, endStream: false });
      stream.resume();
      return outlet(stream);
    },
  };
}

function begin(
  stream: ServerHttp2Stream,
  {
    code,
    headers,
    endStream,
  }: { readonly code: number; readonly headers: OutgoingHeaders; readonly endStream: boolean },
): boolean {
  if (stream.destroyed || stream.headersSent) return false;
  stream.respond({ ":status": code, ...headers } as Record<string, string | number | string[]>, { endStream });
  return !endStream;
}

// The response is complete although the request is not: ask the client to stop sending, without an error.
function refuseRest(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.endAfterHeaders) return;
  stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
  stream.resume();
}

function outlet(stream: ServerHttp2Stream): Outlet {
  return {
    write: (bytes) => stream.write(bytes),
    onDrain: (callback) => stream.on("drain", callback),
    end: () => stream.end(),
    abort: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  };
}
