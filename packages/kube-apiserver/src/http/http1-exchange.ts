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
      response.end(chunks.at(-1));
      // A body nobody wanted must not stay in front of the next request.
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

function outlet(response: ServerResponse): Outlet {
  return {
    write: (bytes) => response.write(bytes),
    onDrain: (callback) => response.on("drain", callback),
    end: () => response.end(),
  };
}

function nodeHeaders(headers: OutgoingHeaders): Record<string, string | string[]> {
  return headers as Record<string, string | string[]>;
}
