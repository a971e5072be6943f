// SPDX-License-Identifier: Apache-2.0
// Large stored objects that are no longer decoded in memory: looking into them again must not hold the event loop.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { send } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, definitions, objectNamed, objectsOf, sendJson } from "./attacked-kind.ts";

/** Together several times what the server keeps decoded. */
const objects = 12;
/** Just below the 100,000 values that a body may have. */
const items = Array.from({ length: 24_000 }, (_, i) => ({
  name: `name-${i}`,
  size: i,
  note: `a note about item ${i}`,
}));

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());
const item = {
  type: "object",
  properties: { name: { type: "string" }, size: { type: "integer" }, note: { type: "string" } },
};
await define(server.target, "Evicted", definition("Evicted", { items: { type: "array", items: item } }));
const evicted = objectsOf("Evicted");
await fill(evicted);

/** Creates the objects in a namespace. */
async function fill(path: string): Promise<void> {
  for (let i = 0; i < objects; i += 1) {
    const { code, text } = await sendJson(server.target, ["POST", path], objectNamed("Evicted", `o${i}`, { items }));
    assert.equal(code, 201, text.slice(0, 300));
  }
}

const requests: Record<string, { readonly method?: string; readonly path: string; readonly accept?: string }> = {
  "a list by label": { path: `${evicted}?labelSelector=a!%3Db` },
  "a list by a label that no object has": { path: `${evicted}?labelSelector=a%3Db` },
  "a list by name": { path: `${evicted}?fieldSelector=metadata.name!%3Do1` },
  "a Table": { path: evicted, accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
  "partial metadata": { path: evicted, accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" },
  YAML: { path: `${evicted}/o3`, accept: "application/yaml" },
  "one object": { path: `${evicted}/o5` },
  "a watch from the beginning by label": { path: `${evicted}?watch=true&timeoutSeconds=2&labelSelector=a!%3Db` },
  "deletion by label": { method: "DELETE", path: `${evicted}?labelSelector=a!%3Db` },
};
for (const [name, { method = "GET", path, accept = "application/json" }] of Object.entries(requests)) {
  test(`${name} of large objects that are not in memory`, async () => {
    const { code } = await server.during(name, () => send(server.target, { method, path, headers: { accept } }));
    assert.equal(code, 200);
  });
}

/** Deletes something and waits until it is gone. */
async function deleteAndWait(path: string): Promise<void> {
  assert.equal((await sendJson(server.target, ["DELETE", path])).code, 200);
  while ((await sendJson(server.target, ["GET", path])).code !== 404) await delay(20);
}

test("the deletion of a namespace with large objects that are not in memory", async () => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "crowded" } };
  assert.equal((await sendJson(server.target, ["POST", "/api/v1/namespaces"], namespace)).code, 201);
  await fill(evicted.replace("/default/", "/crowded/"));
  await server.during("namespace", () => deleteAndWait("/api/v1/namespaces/crowded"));
});

test("the deletion of a definition with large objects that are not in memory", async () => {
  await fill(evicted);
  await server.during("definition", () => deleteAndWait(`${definitions}/evicteds.hostile.example.org`));
});
