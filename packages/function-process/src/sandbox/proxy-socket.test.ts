// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/oci/testing";
import type { PrivateNetwork } from "./private-network.ts";
import { openBehind, openProxySocket } from "./proxy-socket.ts";

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
