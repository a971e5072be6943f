// SPDX-License-Identifier: Apache-2.0
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** What a server of a test does with a request. */
export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that does what the test wants, and writes down what it was asked. */
interface HttpScript {
  readonly host: string;
  /** `METHOD path authorization`, with `anonymous` for requests without authorization. */
  readonly asked: string[];
}

/** Starts a server on loopback that ends with the test. */
export async function serveHttp(t: TestContext, handle: HttpHandler): Promise<HttpScript> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? "anonymous"}`);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
