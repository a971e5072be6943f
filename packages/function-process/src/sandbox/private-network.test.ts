// SPDX-License-Identifier: Apache-2.0
// The connector itself, in the network of this machine: it does not care which it is in.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { connectorProgram } from "./connector-program.ts";
import { privateNetworkOf } from "./private-network.ts";

function startConnector(port: number): ChildProcess & AsyncDisposable {
  const args = ["--input-type=module", "--eval", connectorProgram, String(port)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  return Object.assign(child, {
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  });
}

async function greeter(t: TestContext): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => void socket.on("error", () => {}).end("hello")).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  return { server, port: (server.address() as { port: number }).port };
}

test("sockets that were opened elsewhere are handed over, also several at once", async (t) => {
  const { port } = await greeter(t);
  await using child = startConnector(port);
  const network = privateNetworkOf(child);
  const sockets = await Promise.all([network.open(), network.open(), network.open()]);
  // Asked before anything is read: a socket that has come to its end no longer knows its port.
  assert.equal(new Set(sockets.map(({ localPort }) => localPort)).size, 3);
  for (const socket of sockets) assert.equal(String((await once(socket, "data"))[0]), "hello");
  for (const socket of sockets) socket.destroy();
});

test("open fails with ECONNREFUSED while the program does not listen and succeeds later", async (t) => {
  const { server, port } = await greeter(t);
  server.close();
  await once(server, "close");
  await using child = startConnector(port);
  const network = privateNetworkOf(child);
  await assert.rejects(network.open(), /cannot connect in the sandbox network: ECONNREFUSED/);
  const later = createServer((socket) => void socket.end("late")).listen(port, "127.0.0.1");
  t.after(() => later.close());
  await once(later, "listening");
  const socket = await network.open();
  assert.equal(String((await once(socket, "data"))[0]), "late");
  socket.destroy();
});

test("it outlives requests to end, but not its parent's channel", async () => {
  await using child = startConnector(1);
  await assert.rejects(privateNetworkOf(child).open(), /ECONNREFUSED/);
  child.kill("SIGTERM");
  await assert.rejects(privateNetworkOf(child).open(), /ECONNREFUSED/, "it is still there");
  const exit = once(child, "exit");
  child.disconnect();
  assert.deepEqual(await exit, [0, null]);
  await assert.rejects(privateNetworkOf(child).open(), /cannot connect in the sandbox network/);
});

test("pending opens fail when the connector exits", async () => {
  await using child = startConnector(1);
  const network = privateNetworkOf(child);
  await assert.rejects(network.open(), /ECONNREFUSED/);
  child.kill("SIGSTOP");
  const waiting = assert.rejects(network.open(), /cannot connect in the sandbox network: it exited/);
  child.kill("SIGKILL");
  await waiting;
});
