// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { freePort } from "./free-port.ts";

async function listen(t: TestContext, port: number): Promise<void> {
  const server = createServer().listen(port, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
}

test("ports are free, and no two of them are the same while they are used", async (t) => {
  for (let count = 0; count < 50; count++) await listen(t, await freePort());
});

test("no port is one that the system assigns by itself", async () => {
  for (let count = 0; count < 50; count++) assert.ok((await freePort()) < 32_768);
});
