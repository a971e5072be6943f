// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { serveHttp } from "../testing/http-script.ts";
import { createRegistryHttp } from "./registry-http.ts";
import { isTimeout, limitRequest } from "./request-limits.ts";

const limits = { connectTimeoutMs: 10_000, idleTimeoutMs: 30_000 };

/** A server that takes connections and says nothing. */
async function silentServer(t: TestContext): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function failureOf(outgoing: ClientRequest): Promise<Error> {
  const [error] = await once(outgoing, "error").catch((thrown: unknown) => [thrown]);
  assert.ok(isTimeout(error), String(error));
  return error as Error;
}

test("a connection that is not established fails with a connection timeout", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  // Theirs is the time for which a connection may idle between two requests; it runs while one is made, too.
  const agent = new HttpAgent({ keepAlive: true, timeout: 20 });
  const outgoing = requestHttp({ host: "registry.example.org", agent, lookup: () => {} });
  limitRequest(outgoing, limits);
  const failed = once(outgoing, "error");
  const [socket] = (await once(outgoing, "socket")) as [Socket];
  await once(socket, "timeout");
  t.mock.timers.tick(9_999);
  assert.equal(outgoing.destroyed, false, "the agent's time is not ours");
  t.mock.timers.tick(1);
  const [error] = (await failed) as [Error];
  assert.deepEqual([error.message, isTimeout(error)], ["connection timed out after 10s", true]);
});

test("a server that accepts the connection but does no TLS fails with a handshake timeout", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const outgoing = requestHttps(`https://${await silentServer(t)}/`);
  limitRequest(outgoing, limits);
  const failed = failureOf(outgoing);
  const [socket] = (await once(outgoing, "socket")) as [Socket];
  await once(socket, "connect");
  t.mock.timers.tick(10_000);
  assert.equal((await failed).message, "TLS handshake timed out after 10s");
});

test("a server that sends no response fails with an idle timeout", async (t) => {
  const outgoing = requestHttp(`http://${await silentServer(t)}/`);
  limitRequest(outgoing, { ...limits, idleTimeoutMs: 50 });
  outgoing.end();
  assert.equal((await failureOf(outgoing)).message, "no response for 0.05s");
});

test("the connect timeout ends with the connection, new or reused", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const connections = new Set<Socket>();
  const { host } = await serveHttp(t, (request, response) => {
    connections.add(request.socket);
    t.mock.timers.tick(60_000);
    response.end();
  });
  const send = createRegistryHttp();
  for (let time = 0; time < 3; time++) {
    const { status, body } = await send({ method: "GET", url: new URL(`http://${host}/`) });
    body.resume();
    await once(body, "close");
    await new Promise((go) => setImmediate(go));
    assert.equal(status, 200);
  }
  assert.equal(connections.size, 1);
});

test("errors that are not timeouts", () => {
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  for (const error of [reset, new Error("no response"), { code: "ETIMEDOUT" }, undefined]) {
    assert.equal(isTimeout(error), false, String(error));
  }
});
