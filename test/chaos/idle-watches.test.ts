// SPDX-License-Identifier: Apache-2.0
// Ten thousand watches that wait, on as few connections as Go clients would use: each costs the server at most 20 KB.
import assert from "node:assert/strict";
import { type ClientHttp2Session, connect } from "node:http2";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Target } from "../conformance/harness/wire.ts";
import { ask, configMap, configMaps } from "./harness/config-maps.ts";
import { chaosDirectory, startServer } from "./harness/server-process.ts";

const connections = 20;
const watchesEach = 500;
const watches = connections * watchesEach;
const mostKilobytesEach = 20;

async function openSession({ server, caPem, certPem, keyPem }: Target): Promise<ClientHttp2Session> {
  const session = connect(server, { ca: caPem, cert: certPem, key: keyPem });
  await new Promise((resolve, reject) => session.once("remoteSettings", resolve).once("error", reject));
  return session;
}

/** Opens a watch; `onEvent` is called with each line. Resolves when the server has begun to answer. */
function openWatch(session: ClientHttp2Session, path: string, onEvent: (line: string) => void): Promise<void> {
  const stream = session.request({ ":path": path });
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onEvent(line);
  });
  return new Promise((resolve, reject) => {
    stream.once("response", (headers) => (headers[":status"] === 200 ? resolve() : reject(new Error("refused"))));
    stream.once("error", reject);
  });
}

/** Resident memory once it no longer falls: collectors take their time. */
async function settledMemory(memory: () => number): Promise<number> {
  let least = memory();
  for (let quiet = 0; quiet < 5; quiet += 1) {
    await delay(1000);
    const now = memory();
    if (now < least - 1) quiet = -1;
    least = Math.min(least, now);
  }
  return least;
}

test(`${watches} idle watches`, async () => {
  await using server = startServer({ directory: chaosDirectory() });
  const target = await server.ready;
  const { body } = await ask(target, "GET", configMaps);
  const path = `${configMaps}?watch=true&allowWatchBookmarks=true&resourceVersion=${body.metadata.resourceVersion}`;
  const sessions = await Promise.all(Array.from({ length: connections }, () => openSession(target)));
  const before = await settledMemory(server.memory);
  let events = 0;
  const { promise: allSeen, resolve } = Promise.withResolvers<void>();
  const onEvent = (line: string): void => {
    if (!line.startsWith('{"type":"ADDED"')) return;
    events += 1;
    if (events === watches) resolve();
  };
  for (const session of sessions) {
    await Promise.all(Array.from({ length: watchesEach }, () => openWatch(session, path, onEvent)));
  }
  const each = (((await settledMemory(server.memory)) - before) * 1024) / watches;
  console.log(`an idle watch costs ${each.toFixed(1)} KiB`);
  assert.ok(each * 1.024 <= mostKilobytesEach, `an idle watch costs ${each.toFixed(1)} KiB`);

  assert.equal((await ask(target, "POST", configMaps, configMap("for-everybody", "1"))).code, 201);
  await allSeen;
  for (const session of sessions) session.destroy();
  assert.equal((await ask(target, "GET", configMaps)).code, 200);
});
