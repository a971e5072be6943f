// SPDX-License-Identifier: Apache-2.0
// Watchers that do not read: they cost no memory however much is written, and get 410 once their version is compacted.
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { test } from "node:test";
import type { Target } from "../conformance/harness/wire.ts";
import { ask, configMap, configMaps } from "./harness/config-maps.ts";
import { chaosDirectory, startServer } from "./harness/server-process.ts";

const watchers = 20;
const objects = 8;
const updates = 640;
const objectBytes = 100_000;

/** A watch on its own connection whose response is not read yet. */
function openUnread(target: Target, version: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const path = `${target.server}${configMaps}?watch=true&resourceVersion=${version}`;
  request(path, { agent: false, ca: target.caPem, cert: target.certPem, key: target.keyPem }, (incoming) => {
    incoming.pause();
    resolve(incoming);
  })
    .on("error", reject)
    .end();
  return promise;
}

async function write(target: Target, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const name = `large-${i % objects}`;
    const text = `${i}`.padEnd(objectBytes, "x");
    assert.equal((await ask(target, "PUT", `${configMaps}/${name}`, configMap(name, text))).code, 200);
  }
}

interface LastEvents {
  readonly count: number;
  readonly last: { readonly type: string; readonly object: { readonly code?: number; readonly reason?: string } };
}

/** Reads what is left of a watch. */
async function drain(incoming: IncomingMessage): Promise<LastEvents> {
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += String(chunk);
  const lines = text.trim().split("\n");
  return { count: lines.length, last: JSON.parse(lines.at(-1) ?? "") as LastEvents["last"] };
}

test(`${watchers} watchers that read nothing while ${(updates * objectBytes) / 1e6} MB are written`, async () => {
  // Without a limit, each of them would have everything waiting for it: more than a gigabyte.
  await using server = startServer({ directory: chaosDirectory(), nodeOptions: ["--max-old-space-size=600"] });
  const target = await server.ready;
  for (let i = 0; i < objects; i += 1) {
    const { code } = await ask(target, "POST", configMaps, configMap(`large-${i}`, "x".repeat(objectBytes)));
    assert.equal(code, 201);
  }
  // What writing itself needs is not the watchers' fault.
  await write(target, updates);
  const before = server.memory();
  const { body } = await ask(target, "GET", `${configMaps}?limit=1`);
  const slow = await Promise.all(
    Array.from({ length: watchers }, () => openUnread(target, body.metadata.resourceVersion)),
  );
  await write(target, updates);
  const grown = server.memory() - before;
  assert.ok(grown < 200, `slow watchers made the server ${Math.round(grown)} MiB larger`);
  for (const { count, last } of await Promise.all(slow.map(drain))) {
    assert.deepEqual([last.type, last.object.code, last.object.reason], ["ERROR", 410, "Expired"]);
    assert.ok(count < updates, "it received every event, so it was not slow");
  }
  assert.equal((await ask(target, "GET", `${configMaps}/large-0`)).code, 200);
});
