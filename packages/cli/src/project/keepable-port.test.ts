// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { test } from "node:test";
import { keepablePort, listenKeepably } from "./keepable-port.ts";

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once("error", reject)
      .listen(port, "127.0.0.1", () => resolve(server));
  });
}

const portOf = (server: Server): number => (server.address() as { port: number }).port;

test("a port that can be kept is none of those that outgoing connections get", async () => {
  const [first = 0] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split(/\s+/).map(Number);
  const port = await keepablePort();
  assert.ok(port >= 20_000 && port < first, `${port} of ${first}`);
  const server = await listenKeepably(0, listen);
  assert.ok(portOf(server) < first, String(portOf(server)));
  server.close();
});

test("where outgoing connections get all ports, the system chooses", async () => {
  assert.equal(await keepablePort(Promise.resolve("1024\t65535\n")), 0);
  assert.ok((await keepablePort(Promise.resolve(""))) < 32_768, "a system that does not say");
});

test("a port that another program has by now is replaced when it was not asked for", async () => {
  const asked: number[] = [];
  const listenSecond = (port: number): Promise<Server> => {
    asked.push(port);
    if (asked.length > 1) return listen(port);
    return Promise.reject(Object.assign(new Error("in use"), { code: "EADDRINUSE" }));
  };
  (await listenKeepably(0, listenSecond)).close();
  assert.equal(asked[1], 0);
  asked.length = 0;
  await assert.rejects(listenKeepably(4711, listenSecond), /in use/);
  assert.deepEqual(asked, [4711]);
});
