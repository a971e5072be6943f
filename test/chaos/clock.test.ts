// SPDX-License-Identifier: Apache-2.0
// A clock that goes back: versions continue, watches continue, leases and events are kept, and a restart in the past finds everything.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Target } from "../conformance/harness/wire.ts";
import { openStream } from "../conformance/harness/wire-stream.ts";
import { ask, configMap, configMaps, listed } from "./harness/config-maps.ts";
import { chaosDirectory, type ServerProcess, startServer } from "./harness/server-process.ts";

const clock = join(import.meta.dirname, "harness/shifted-clock.mjs");
const start = (directory: string): ServerProcess => startServer({ directory, nodeOptions: ["--import", clock] });

const createdAt = async (target: Target, name: string): Promise<number> => {
  const { code, body } = await ask(target, "POST", configMaps, configMap(name, name));
  assert.equal(code, 201);
  return Date.parse((body.metadata as unknown as { creationTimestamp: string }).creationTimestamp);
};

/** Sets the server's clock back and waits until objects are dated by it. */
async function setBack(server: ServerProcess, target: Target): Promise<void> {
  const before = await createdAt(target, `before-${crypto.randomUUID()}`);
  server.child.kill("SIGUSR2");
  for (let i = 0; (await createdAt(target, `after-${crypto.randomUUID()}`)) >= before; i += 1) {
    assert.ok(i < 500, "the clock was not set back");
    await delay(10);
  }
}

test("a clock that is set back while the server runs", async () => {
  await using server = start(chaosDirectory());
  const target = await server.ready;
  const events = "/api/v1/namespaces/default/events";
  const event = { metadata: { name: "e" }, involvedObject: { kind: "Pod", name: "p", namespace: "default" } };
  assert.equal((await ask(target, "POST", events, event)).code, 201);
  const from = (await ask(target, "GET", configMaps)).body.metadata.resourceVersion;
  const watch = await openStream(target, { method: "GET", path: `${configMaps}?watch=true&resourceVersion=${from}` });
  for (let day = 0; day < 3; day += 1) await setBack(server, target);

  let last = BigInt(from);
  for (const _ of await listed(target)) {
    const seen = (await watch.next(60_000)) as { type: string; object: { metadata: { resourceVersion: string } } };
    assert.equal(seen.type, "ADDED");
    const version = BigInt(seen.object.metadata.resourceVersion);
    assert.ok(version > last, "versions do not come from the clock");
    last = version;
  }
  watch.close();
  assert.equal((await ask(target, "GET", `${events}/e`)).code, 200, "an event lives no shorter");
  const lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const spec = { holderIdentity: "a", leaseDurationSeconds: 15 };
  assert.equal((await ask(target, "POST", lease, { metadata: { name: "l" }, spec })).code, 201);
  assert.equal((await ask(target, "PATCH", `${lease}/l`, { spec: { holderIdentity: "b" } })).code, 200);
});

test("a server that is started again in the past", async () => {
  const directory = chaosDirectory();
  let kept: ReadonlyMap<string, { readonly version: bigint }>;
  {
    await using server = startServer({ directory });
    const target = await server.ready;
    for (let i = 0; i < 50; i += 1) await createdAt(target, `kept-${i}`);
    kept = await listed(target);
    assert.equal(await server.stop(), 0);
  }
  await using server = start(directory);
  const target = await server.ready;
  await setBack(server, target);
  const now = await listed(target);
  for (const [name, { version }] of kept) assert.equal(now.get(name)?.version, version, name);
  const newest = [...kept.values()].reduce((max, { version }) => (version > max ? version : max), 0n);
  const { body } = await ask(target, "PUT", `${configMaps}/kept-0`, configMap("kept-0", "changed"));
  assert.ok(BigInt(body.metadata.resourceVersion) > newest);
  const from = newest.toString();
  const watch = await openStream(target, { method: "GET", path: `${configMaps}?watch=true&resourceVersion=${from}` });
  const names: string[] = [];
  while (!names.includes("kept-0")) {
    names.push(((await watch.next(60_000)) as { object: { metadata: { name: string } } }).object.metadata.name);
  }
  watch.close();
});
