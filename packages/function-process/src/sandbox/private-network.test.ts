// SPDX-License-Identifier: Apache-2.0
// The connector itself, in the network of this machine: it does not care which it is in.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { connectorProgram } from "../image/sandbox-network.ts";
import {
  forwardInward,
  openBehind,
  openProxySocket,
  type PrivateNetwork,
  privateNetworkOf,
} from "./private-network.ts";

function startConnector(port: number | string): ChildProcess & AsyncDisposable {
  const args = ["--input-type=module", "--eval", connectorProgram(), String(port)];
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

test("a Provider has a limited number of connections at a time: more are closed, and one that ends makes room", async (t) => {
  const most = 3;
  const { server, port: inward } = await greeter(t);
  server.close();
  await once(server, "close");
  // An API server that reports each connection, and waits.
  const connected = new Set<Socket>();
  const api = createServer((socket) => {
    connected.add(socket.on("error", () => {}).on("close", () => void connected.delete(socket)));
    socket.write("hello");
  }).listen(0, "127.0.0.1");
  t.after(() => api.close());
  await once(api, "listening");
  await using child = startConnector(`1:${inward}`);
  const { port } = api.address() as { port: number };
  await forwardInward(child, { host: "127.0.0.1", port }, most);
  const dial = async (): Promise<Socket | undefined> => {
    const socket = connect(inward, "127.0.0.1").on("error", () => {});
    t.after(() => socket.destroy());
    const [first] = await Promise.race([once(socket, "data"), once(socket, "close").then(() => [undefined])]);
    return first === undefined ? undefined : socket;
  };
  const admitted: Socket[] = [];
  for (let at = 0; at < most; at++) admitted.push((await dial()) ?? assert.fail("it was closed"));
  for (let at = 0; at < 20; at++) assert.equal(await dial(), undefined);
  assert.equal(connected.size, most);
  admitted[0]?.destroy();
  const deadline = Date.now() + 60_000;
  let again = await dial();
  while (again === undefined && Date.now() < deadline) again = await dial();
  assert.ok(again);
});

/** A network with a server that echoes each message twice; counts how often it was opened. */
async function echoing(): Promise<PrivateNetwork & AsyncDisposable & { opened: number }> {
  const server = createServer((socket) => {
    socket.on("data", (bytes) => socket.write(`${bytes}${bytes}`)).on("error", () => {});
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const network = {
    opened: 0,
    async open(): Promise<Socket> {
      network.opened++;
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    },
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
  return network;
}

const said = async (socket: Socket): Promise<string> => String((await once(socket, "data"))[0]);

test("the proxy socket and openBehind both reach the attached network", async () => {
  using folder = tempFolder();
  await using network = await echoing();
  const path = join(folder.path, "socket");
  const proxy = await openProxySocket(path);
  proxy.attach(network);
  const outside = connect(path);
  outside.write("a");
  assert.equal(await said(outside), "aa");
  const direct = await openBehind(path);
  assert.ok(direct);
  direct.write("b");
  assert.equal(await said(direct), "bb");
  direct.destroy();
  const closed = once(outside, "close");
  outside.end();
  await closed;
  proxy.close();
});

test("no connection is opened for a client that sends nothing", async () => {
  using folder = tempFolder();
  await using network = await echoing();
  const proxy = await openProxySocket(join(folder.path, "socket"));
  proxy.attach(network);
  const outside = connect(join(folder.path, "socket"));
  await once(outside, "connect");
  const closed = once(outside, "close");
  outside.destroy();
  await closed;
  const second = connect(join(folder.path, "socket"));
  second.write("x");
  assert.equal(await said(second), "xx");
  assert.equal(network.opened, 1, "only the one that spoke");
  second.destroy();
  proxy.close();
});

test("connections are closed while no network is attached or the network is unreachable", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "socket");
  const proxy = await openProxySocket(path);
  const early = connect(path);
  await once(early, "close");
  assert.equal(openBehind(path), undefined);
  proxy.attach({ open: () => Promise.reject(new Error("connection refused")) });
  const outside = connect(path);
  outside.on("error", () => {}).write("x");
  await once(outside, "close");
  await assert.rejects(openBehind(path) ?? Promise.resolve(), /connection refused/);
  proxy.close();
  assert.equal(openBehind(path), undefined);
  assert.equal(existsSync(path), false);
});
