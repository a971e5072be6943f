// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { clientCertificate } from "./client-certificate.ts";
import type { Exchange, OutgoingHeaders, Outlet } from "./exchange.ts";
import { readLimited } from "./read-body.ts";

/** An exchange over HTTP/1.1. */
export function http1Exchange(request: IncomingMessage, response: ServerResponse): Exchange {
  const headers = request.headers as Readonly<Record<string, string | undefined>>;
  let answered = false;
  return {
    method: request.method ?? "GET",
    url: request.url ?? "/",
    headers,
    certificate: clientCertificate(request.socket as TLSSocket),
    address: request.socket.remoteAddress,
    hasBody: headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined,
    readBody: (limit) => readLimited(request, limit, headers["content-length"]),
    onGone: (callback) => {
      if (response.destroyed) {
        callback();
      } else {
        response.once("close", () => answered || callback());
      }
    },
    respond: (code, outgoing, chunks) => {
      answered = true;
      response.writeHead(code, nodeHeaders(outgoing));
      for (const chunk of chunks.slice(0, -1)) {
        response.write(chunk);
      }
      if (request.complete || response.shouldKeepAlive) {
        response.end(chunks.at(-1));
      } else {
        endLater(request, response, chunks.at(-1));
      }
      // An unread body must not stay in front of the next request.
      request.resume();
    },
    begin: (code, outgoing) => {
      response.writeHead(code, nodeHeaders(outgoing));
      response.flushHeaders();
      request.resume();
      return outlet(response);
    },
  };
}

/** How long a client that was answered may go on sending. */
const lingerMs = 2_000;

/**
 * Node ends a connection that is not kept with its last answer. A client that is still sending then is reset, and may lose the answer
 * that it has not read yet: it is left to finish what it sends, within reason.
 */
function endLater(request: IncomingMessage, response: ServerResponse, lastChunk: Uint8Array | undefined): void {
  if (lastChunk === undefined) response.flushHeaders();
  else response.write(lastChunk);
  const end = (): void => {
    clearTimeout(limit);
    if (!response.writableEnded) response.end();
  };
  const limit = setTimeout(end, lingerMs);
  request.once("end", end);
  request.once("close", end);
}

function outlet(response: ServerResponse): Outlet {
  return {
    write: (bytes) => response.write(bytes),
    onDrain: (callback) => response.on("drain", callback),
    end: () => response.end(),
    abort: () => response.destroy(),
  };
}

function nodeHeaders(headers: OutgoingHeaders): Record<string, string | string[]> {
  return headers as Record<string, string | string[]>;
}
