// SPDX-License-Identifier: Apache-2.0
// The limit of large responses, over HTTP/1.1 connections of clients that read slowly or pipeline.
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiResponse } from "../request/api-request.ts";
import { http1Exchange } from "./exchange.ts";
import { largeResponses, RequestsInFlight } from "./requests-in-flight.ts";
import { serveExchange } from "./serve-exchange.ts";

const piece = Buffer.alloc(512 * 1024, "x");

/** Made in so many parts that it counts as large. */
function largeOf(pieces: number): ApiResponse {
  const chunks = Array.from({ length: pieces }, () => piece);
  return {
    kind: "complete",
    code: 200,
    payload: {
      contentType: "text/plain",
      chunks: () => chunks,
      *rendering() {
        for (let i = 0; i < 6; i++) yield;
        return chunks;
      },
      value: () => null,
    },
  };
}

const large = largeOf(2);
/** More than the buffers of the system take. */
const huge = largeOf(100);
const small: ApiResponse = {
  kind: "complete",
  code: 200,
  payload: { contentType: "text/plain", chunks: () => [Buffer.from("ok")], value: () => null },
};

/** A server that answers `/small`, `/large`, `/huge`, and `/late` after a while. */
async function serve(t: TestContext, { atOnce = 400 } = {}): Promise<number> {
  const limits = { atOnce, waiting: 1600 };
  const front = {
    tokens: [() => ({ name: "u", groups: [] })],
    inFlight: new RequestsInFlight(limits),
    largeResponses: largeResponses(limits),
    handle: async ({ path }: { readonly path: string }) => {
      if (path === "/late") await delay(100);
      if (path === "/huge") return huge;
      return path === "/small" ? small : large;
    },
  };
  const server = createServer((incoming, outgoing) => void serveExchange(http1Exchange(incoming, outgoing), front));
  server.listen(0, "127.0.0.1");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const head = "Host: x\r\nAuthorization: Bearer x\r\n\r\n";
const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${head}`;

test("pipelined large responses come in order, although a later one is ready first", async (t) => {
  const client = connect(await serve(t), "127.0.0.1");
  t.after(() => client.destroy());
  const count = 20;
  client.write(get("/late") + get("/large").repeat(count - 1));
  let received = 0;
  for await (const part of client) {
    received += (part as Buffer).length;
    if (received > count * 2 * piece.length) break;
  }
});

test("clients that read no large response leave room for small ones, and get 429 when too many wait", async (t) => {
  const port = await serve(t, { atOnce: 40 });
  const agent = new Agent({ maxSockets: 100 });
  t.after(() => agent.destroy());
  const statusOf = async (path: string): Promise<number | undefined> => {
    const sent = request({ port, path, agent, headers: { authorization: "Bearer x" } }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    // The connection is closed at the end.
    response.on("error", () => {});
    if (path === "/small") response.resume();
    return response.statusCode;
  };
  // Half of 40 are for large ones: 8 are sent, 12 wait, and one is refused.
  const begun = await Promise.all(Array.from({ length: 8 }, () => statusOf("/huge")));
  assert.deepEqual(new Set(begun), new Set([200]));
  const others = Array.from({ length: 13 }, () => statusOf("/huge"));
  const ended = Promise.allSettled(others);
  assert.equal(await Promise.race(others), 429);
  assert.equal(await statusOf("/small"), 200);
  agent.destroy();
  await ended;
});
