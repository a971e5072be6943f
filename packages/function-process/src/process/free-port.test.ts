// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { createPortPool } from "./free-port.ts";

test("ports are free and none is handed out twice at a time", async () => {
  const pool = createPortPool();
  const ports = await Promise.all(Array.from({ length: 50 }, () => pool.take()));
  assert.equal(new Set(ports).size, 50);
  const [port = 0] = ports;
  const server = createServer().listen({ host: "127.0.0.1", port });
  await once(server, "listening");
  server.close();
  for (const taken of ports) pool.giveBack(taken);
});

test("the wanted port is returned if it is free, otherwise another one", async () => {
  const pool = createPortPool();
  const port = await pool.take();
  assert.notEqual(await pool.take(port), port, "it was handed out");
  pool.giveBack(port);
  assert.equal(await pool.take(port), port);
  pool.giveBack(port);
  const server = createServer().listen({ host: "127.0.0.1", port });
  await once(server, "listening");
  assert.notEqual(await pool.take(port), port, "another program listens there");
  server.close();
});

test("a published port of a function that did not come up there is not given to other functions", async () => {
  const offered = [4711, 4711, 4712, 4711];
  const pool = createPortPool(async (wanted) => wanted || offered.shift());
  assert.equal(await pool.take(4711), 4711);
  pool.giveBack(4711);
  assert.equal(await pool.take(), 4712, "callers of the first function would reach the second");
  assert.equal(await pool.take(4711), 4711, "the function itself gets it again");
});
