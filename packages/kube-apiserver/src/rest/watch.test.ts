// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";

const path = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string, more: JsonObject = {}): JsonObject => ({ metadata: { name, ...more } });
const versionOf = (object: JsonObject): string => (object["metadata"] as { resourceVersion: string }).resourceVersion;

async function listVersion({ body }: TestServer): Promise<string> {
  return versionOf(await body(path));
}

test("changes come in order, deletions with what was last there at the version of the deletion", async () => {
  await using server = await startTestServer();
  const watch = await server.watch(`${path}?watch=true&resourceVersion=${await listVersion(server)}`);
  await server.post(path, configMap("a"));
  const changed = await server.patch(`${path}/a`, { data: { x: "1" } });
  await server.delete(`${path}/a`);
  await server.post("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
  assert.deepEqual(await watch.names(2), ["ADDED a", "MODIFIED a"]);
  const deleted = await watch.next();
  assert.deepEqual(
    [deleted?.type, deleted?.object["data"], deleted?.object["kind"]],
    ["DELETED", { x: "1" }, "ConfigMap"],
  );
  assert.ok(Number(versionOf(deleted?.object ?? {})) > Number(versionOf(changed)));
});

test("a watch without a version, or from 0, begins with what is there, by name", async () => {
  await using server = await startTestServer();
  for (const name of ["b", "a", "c"]) await server.post(path, configMap(name));
  for (const query of ["", "&resourceVersion=0"]) {
    const watch = await server.watch(`${path}?watch=true${query}`);
    await server.post(path, { metadata: { generateName: "new-" } });
    const seen = await watch.names(4);
    assert.deepEqual(seen.slice(0, 3), ["ADDED a", "ADDED b", "ADDED c"]);
    assert.match(seen[3] ?? "", /^ADDED new-/);
    await server.delete(`${path}?labelSelector=none`);
    const rest = (await server.body(path)) as unknown as { items: { metadata: { name: string } }[] };
    for (const { metadata } of rest.items.filter(({ metadata: one }) => one.name.startsWith("new-"))) {
      await server.delete(`${path}/${metadata.name}`);
    }
  }
});

test("initial events end with a bookmark of the watched kind, also when there are none", async () => {
  await using server = await startTestServer();
  const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const empty = await (await server.watch(`${path}?${query}`)).next();
  const { annotations } = (empty?.object["metadata"] ?? {}) as { annotations?: JsonObject };
  assert.deepEqual(
    [empty?.type, empty?.object["kind"], annotations],
    ["BOOKMARK", "ConfigMap", { "k8s.io/initial-events-end": "true" }],
  );
  await server.post(path, configMap("a"));
  const watch = await server.watch(`${path}?${query}`);
  await server.post(path, configMap("b"));
  assert.deepEqual(await watch.names(3), ["ADDED a", "BOOKMARK", "ADDED b"]);
  const live = await server.watch(`${path}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`);
  await server.post(path, configMap("c"));
  assert.deepEqual(await live.names(1), ["ADDED c"]);
});

test("with a selector objects come and go by whether they match", async () => {
  await using server = await startTestServer();
  const version = await listVersion(server);
  const watch = await server.watch(`${path}?watch=true&resourceVersion=${version}&labelSelector=on%3Dyes`);
  await server.post(path, configMap("a"));
  await server.patch(`${path}/a`, { metadata: { labels: { on: "yes" } } });
  await server.patch(`${path}/a`, { data: { x: "1" } });
  const gone = await server.patch(`${path}/a`, { metadata: { labels: { on: "no" } }, data: { x: "2" } });
  await server.delete(`${path}/a`);
  assert.deepEqual(await watch.names(2), ["ADDED a", "MODIFIED a"]);
  const last = await watch.next();
  assert.deepEqual(
    [last?.type, last?.object["data"], versionOf(last?.object ?? {})],
    ["DELETED", { x: "1" }, versionOf(gone)],
  );
  const named = await server.watch(`${path}?watch=true&resourceVersion=${version}&fieldSelector=metadata.name%3Db`);
  await server.post(path, configMap("b"));
  assert.deepEqual(await named.names(1), ["ADDED b"]);
});

test("a version that history has forgotten is answered with one error and the end", async () => {
  await using server = await startTestServer();
  await server.post(path, configMap("a"));
  server.server.compact();
  const watch = await server.watch(`${path}?watch=true&resourceVersion=2`);
  const event = await watch.next();
  assert.deepEqual([event?.type, event?.object["code"], event?.object["reason"]], ["ERROR", 410, "Expired"]);
  assert.match(String(event?.object["message"]), /^too old resource version: 2 \(\d+\)$/);
  assert.equal(await watch.next(), undefined);
});

test("a watcher that is too slow for the history gets an error", async () => {
  await using server = await startTestServer({ history: { maxChanges: 20, keepChanges: 5, keepMs: 0 } });
  const watch = await server.watch(`${path}?watch=true&resourceVersion=${await listVersion(server)}`);
  for (let i = 0; i < 40; i += 1) await server.post(path, { metadata: { generateName: "x-" } });
  const event = await watch.next();
  assert.deepEqual([event?.type, event?.object["code"]], ["ERROR", 410]);
  assert.equal(await watch.next(), undefined);
});

test("a watch ends at its time, after a last bookmark, and with the server", async (t) => {
  await using server = await startTestServer();
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const watch = await server.watch(
    `${path}?watch=true&timeoutSeconds=90&allowWatchBookmarks=true&resourceVersion=${await listVersion(server)}`,
  );
  t.mock.timers.tick(61_000);
  const bookmark = await watch.next();
  assert.deepEqual([bookmark?.type, versionOf(bookmark?.object ?? {})], ["BOOKMARK", await listVersion(server)]);
  t.mock.timers.tick(27_500);
  assert.equal((await watch.next())?.type, "BOOKMARK");
  t.mock.timers.tick(2_000);
  assert.equal(await watch.next(), undefined);
  t.mock.timers.reset();
  const open = await server.watch(`${path}?watch=true&resourceVersion=${await listVersion(server)}`);
  const ended = open.next();
  await server.server.close();
  assert.equal(await ended, undefined);
});

test("events are shown as tables and as metadata, columns only once", async () => {
  await using server = await startTestServer();
  await server.post(path, configMap("a"));
  const table = await server.send(`${path}?watch=true`, {
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
  });
  await server.post(path, configMap("b"));
  assert.equal(table.kind, "stream");
  const stream = table.kind === "stream" ? table.open(() => {}) : undefined;
  const objects: JsonObject[] = [];
  // A stream may rest until the next turn of the event loop with objects left.
  for (; objects.length < 2; await new Promise((resolve) => setImmediate(resolve))) {
    objects.push(...(stream?.take() ?? []).map((event) => (event.value() as { object: JsonObject }).object));
  }
  assert.deepEqual(
    objects.map((object) => [object["kind"], object["columnDefinitions"] !== null]),
    [
      ["Table", true],
      ["Table", false],
    ],
  );
  stream?.close();
});

test("events in both groups are the same objects under other names", async () => {
  await using server = await startTestServer();
  const core = "/api/v1/namespaces/default/events";
  const named = "/apis/events.k8s.io/v1/namespaces/default/events";
  const watch = await server.watch(`${named}?watch=true&resourceVersion=${versionOf(await server.body(named))}`);
  await server.post(core, {
    metadata: { name: "e" },
    involvedObject: { kind: "Pod", name: "p", namespace: "default" },
    message: "hello",
    reason: "Because",
  });
  const event = await watch.next();
  assert.deepEqual(
    [event?.object["apiVersion"], event?.object["note"], event?.object["message"]],
    ["events.k8s.io/v1", "hello", undefined],
  );
  const { items } = (await server.body(`${named}?fieldSelector=regarding.name%3Dp`)) as unknown as {
    items: JsonObject[];
  };
  assert.equal(items.length, 1);
  assert.equal((await server.send(`${core}?fieldSelector=regarding.name%3Dp`)).code, 400);
});
