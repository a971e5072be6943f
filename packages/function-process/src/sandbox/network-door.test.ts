// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/oci/testing";
import { openBehind, openDoor } from "./network-door.ts";
import type { PrivateNetwork } from "./private-network.ts";

/** A network with somebody in it who says everything twice, and how often it was entered. */
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

test("whoever comes to the door is let in, and whoever knows the way needs no door", async () => {
  using folder = tempFolder();
  await using network = await echoing();
  const path = join(folder.path, "door");
  const door = await openDoor(path);
  door.lead(network);
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
  door.close();
});

test("nothing is opened for somebody who says nothing", async () => {
  using folder = tempFolder();
  await using network = await echoing();
  const door = await openDoor(join(folder.path, "door"));
  door.lead(network);
  const outside = connect(join(folder.path, "door"));
  await once(outside, "connect");
  const closed = once(outside, "close");
  outside.destroy();
  await closed;
  const second = connect(join(folder.path, "door"));
  second.write("x");
  assert.equal(await said(second), "xx");
  assert.equal(network.opened, 1, "only the one that spoke");
  second.destroy();
  door.close();
});

test("a door that leads nowhere closes in one's face, and so does one whose network is not there", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "door");
  const door = await openDoor(path);
  const early = connect(path);
  await once(early, "close");
  assert.equal(openBehind(path), undefined);
  door.lead({ open: () => Promise.reject(new Error("nobody listens")) });
  const outside = connect(path);
  outside.on("error", () => {}).write("x");
  await once(outside, "close");
  await assert.rejects(openBehind(path) ?? Promise.resolve(), /nobody listens/);
  door.close();
  assert.equal(openBehind(path), undefined);
  assert.equal(existsSync(path), false);
});
