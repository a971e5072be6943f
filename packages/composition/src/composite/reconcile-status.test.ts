// SPDX-License-Identifier: Apache-2.0
// What functions write into the status of an XR, on a real API server.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt, textAt } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { appDefinition, cacheDefinition, definitionVersion } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import type { ResponseWish } from "../../test/test-doubles.ts";
import { annotations } from "../composite-resource/constants.ts";
import { composedName } from "../composite-resource/crossplane-fields.ts";

const at = { namespace: "default" };
const map = (): JsonObject => configMap({}, at);

let cluster: TestCluster;
let bench: CompositeBench;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  const status = { type: "object", properties: { url: { type: "string", maxLength: 20 }, size: { type: "integer" } } };
  const schema = { type: "object", properties: { spec: { type: "object" }, status } };
  const versions = [definitionVersion("v1", { schema })];
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Cluster", { spec: { versions } })));
  await bench.compositionOf("c", ["f"]);
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => void bench.takeEvents());

const want = (wish: ResponseWish): void => bench.functions.set("f", wish);
const synced = async (name: string): Promise<string> => (await bench.condition(name, "Synced")).message ?? "";

async function xr(wish: ResponseWish): Promise<{ name: string; nameOf: (resource: string) => string }> {
  want(wish);
  const name = `xr${number++}`;
  const { metadata } = await bench.xr(name);
  await bench.reconcile(name).catch(() => undefined);
  return { name, nameOf: (resource) => composedName(name, metadata.uid ?? "", resource) };
}

test("a status that is invalid is reported completely in the event, and without detail in the condition", async () => {
  const { name } = await xr({ status: { url: "much longer than twenty characters" } });
  assert.equal(await synced(name), "cannot compose resources: some resources were invalid, check events");
  assert.match(
    bench.takeEvents().join("\n"),
    /Warning ComposeResources: cannot compose resources: cannot apply composite resource status: .*url/,
  );
});

test("a status the schema refuses fails the compose, and resources stay", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() }, status: { size: "x" } });
  assert.equal((await bench.condition(name, "Synced")).status, "False");
  await cluster.kube.get({ apiVersion: "v1", kind: "ConfigMap" }, { ...at, name: nameOf("a") });
});

test("a status that is refused again and again never looks fine, and is reported each time", async () => {
  const { name } = await xr({ status: { size: "x" } });
  const reported = await synced(name);
  assert.match(reported, /cannot apply composite resource status: .*\.status\.size: expected numeric/);
  const seen = new Set<string>();
  for (let i = 0; i < 3; i++) {
    cluster.takeWrites();
    await assert.rejects(bench.reconcile(name));
    seen.add(await synced(name));
    assert.deepEqual(
      cluster.takeWrites().filter((line) => line.startsWith("PUT")),
      [],
    );
  }
  assert.deepEqual([...seen], [reported]);
  want({ status: { size: 3 } });
  await bench.reconcile(name);
  assert.deepEqual([(await bench.condition(name, "Synced")).status, await synced(name)], ["True", ""]);
});

test("a status that is not an object is reported", async () => {
  const { name } = await xr({ composite: { status: "fine" } });
  assert.equal(
    await synced(name),
    "cannot compose resources: cannot apply composite resource status: the desired status is a string; it must be an object",
  );
});

test("a message of any length is reported, and shortened", async () => {
  const { name } = await xr({ results: [{ severity: 1, message: "x".repeat(5_000_000) }] });
  const reported = await synced(name);
  assert.ok(reported.startsWith("cannot compose resources: ") && reported.endsWith("x…"));
  assert.ok(reported.length < 33_000);
});

test("a status field functions no longer return disappears", async () => {
  const { name } = await xr({ status: { url: "u", size: 3 } });
  assert.equal(textAt(await bench.read(name), ["status", "url"]), "u");
  want({ status: { size: 3 } });
  await bench.reconcile(name);
  const { status } = (await bench.read(name)) as unknown as { status: JsonObject };
  assert.deepEqual([status["url"], status["size"]], [undefined, 3]);
  want({});
  await bench.reconcile(name);
  assert.equal(((await bench.read(name)) as unknown as { status: JsonObject }).status["size"], undefined);
});

test("spec and labels a function returns for the XR are ignored", async () => {
  const composite = { metadata: { labels: { mine: "x" } }, spec: { image: "theirs" }, status: { url: "u" } };
  const { name } = await xr({ composite });
  const stored = await bench.read(name);
  assert.equal(stored.metadata.labels?.["mine"], undefined);
  assert.equal(textAt(stored, ["spec", "image"]), undefined);
  assert.equal(textAt(stored, ["status", "url"]), "u");
});

test("a status of functions costs one write together with the conditions", async () => {
  want({ status: { url: "u" } });
  const name = `xr${number++}`;
  await bench.xr(name);
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(
    cluster.takeWrites().filter((line) => line.endsWith("/status")),
    [`PATCH /apis/platform.example.org/v1/caches/${name}/status`],
  );
});

test("status fields of the author's stay the author's, and no request is answered in them", async () => {
  const properties = { claimConditions: { type: "string" }, lastHandledReconcileAt: { type: "integer" } };
  const schema = { type: "object", properties: { spec: { type: "object" }, status: { type: "object", properties } } };
  const xrd = await cluster.define(appDefinition({ schema }));
  const authored = createCompositeBench(cluster, xrd);
  await authored.compositionOf("authored", ["f"]);
  const status = { claimConditions: "mine", lastHandledReconcileAt: 7 };
  authored.functions.set("f", { status, conditions: [{ type: "Up", status: 2, reason: "Yes", target: 2 }] });
  await authored.xr("own", {}, { annotations: { [annotations.reconcileRequested]: "token" } });
  for (const _ of ["first", "again"]) await authored.reconcile("own");
  const { conditions: _, ...stored } = objectAt(await authored.read("own"), ["status"]);
  assert.deepEqual(stored, { ...status, claimConditionTypes: ["Up"] });
  assert.deepEqual(
    authored.takeEvents().filter((line) => line.includes("ReconcileRequestHandled")),
    [],
  );
});
