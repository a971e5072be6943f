// SPDX-License-Identifier: Apache-2.0
// The connector itself, in the network of this machine: it does not care which it is in.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { test } from "node:test";
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

async function greeter(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => void socket.on("error", () => {}).end("hello")).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as { port: number }).port };
}

test("sockets that were opened elsewhere are handed over, also several at once", async () => {
  const { server, port } = await greeter();
  await using child = startConnector(port);
  const network = privateNetworkOf(child);
  const sockets = await Promise.all([network.open(), network.open(), network.open()]);
  for (const socket of sockets) assert.equal(String((await once(socket, "data"))[0]), "hello");
  assert.equal(new Set(sockets.map(({ localPort }) => localPort)).size, 3);
  for (const socket of sockets) socket.destroy();
  server.close();
});

test("a program that does not listen yet is told as that, and found later", async () => {
  const { server, port } = await greeter();
  server.close();
  await once(server, "close");
  await using child = startConnector(port);
  const network = privateNetworkOf(child);
  await assert.rejects(network.open(), /the function cannot be reached: ECONNREFUSED/);
  const later = createServer((socket) => void socket.end("late")).listen(port, "127.0.0.1");
  await once(later, "listening");
  const socket = await network.open();
  assert.equal(String((await once(socket, "data"))[0]), "late");
  socket.destroy();
  later.close();
});

test("it outlives requests to end, but not its parent's channel", async () => {
  await using child = startConnector(1);
  await assert.rejects(privateNetworkOf(child).open(), /ECONNREFUSED/);
  child.kill("SIGTERM");
  await assert.rejects(privateNetworkOf(child).open(), /ECONNREFUSED/, "it is still there");
  const exit = once(child, "exit");
  child.disconnect();
  assert.deepEqual(await exit, [0, null]);
  await assert.rejects(privateNetworkOf(child).open(), /the function cannot be reached/);
});

test("whoever waits when it ends is told so", async () => {
  await using child = startConnector(1);
  const network = privateNetworkOf(child);
  await assert.rejects(network.open(), /ECONNREFUSED/);
  child.kill("SIGSTOP");
  const waiting = assert.rejects(network.open(), /the function cannot be reached: it ended/);
  child.kill("SIGKILL");
  await waiting;
});
