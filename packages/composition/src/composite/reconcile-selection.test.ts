// SPDX-License-Identifier: Apache-2.0
// Which Composition and which revision an XR uses, on a real API server.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { systemClock } from "@purlin/base";
import { internalError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type CompositeBench, createCompositeBench, makeRevision } from "../../test/composite-bench.ts";
import { appDefinition, cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { type Intercept, intercepted } from "../../test/test-doubles.ts";
import { kinds, labels } from "../composite-resource/constants.ts";
import { compositionRefOf } from "../composite-resource/crossplane-fields.ts";

let cluster: TestCluster;
let definition: KubeObject;
let bench: CompositeBench;
let legacy: CompositeBench;
let intercept: Intercept;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  definition = await cluster.define(cacheDefinition("Cluster"));
  const client = intercepted(cluster.client, (call) => intercept(call));
  bench = createCompositeBench(cluster, definition, { client });
  legacy = createCompositeBench(cluster, await cluster.define(appDefinition()), { client });
  for (const { functions } of [bench, legacy]) functions.set("f", {});
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
  intercept = () => {};
  bench.takeEvents();
  legacy.takeEvents();
});

const fresh = (prefix: string): string => `${prefix}${number++}`;
const synced = async (name: string): Promise<string> => (await bench.condition(name, "Synced")).message ?? "";

async function xrWith(crossplane: JsonObject, metadata: JsonObject = {}): Promise<string> {
  const name = fresh("xr");
  await bench.xr(name, { crossplane }, metadata);
  return name;
}

async function define(fields: JsonObject): Promise<void> {
  const path = { ...kinds.definition, name: definition.metadata.name ?? "" };
  const nothing = {
    enforcedCompositionRef: null,
    defaultCompositionRef: null,
    defaultCompositionRevisionSelector: null,
  };
  await cluster.kube.patch(path, { spec: { ...nothing, ...fields } }, { type: "merge" });
  await bench.seen(kinds.definition, { name: path.name });
}

async function edit(name: string, crossplane: JsonObject): Promise<void> {
  await cluster.kube.patch({ ...bench.kind.type, name }, { spec: { crossplane } }, { type: "merge" });
}

test("an XR without any Composition says so, and is marked as ours all the same", async () => {
  const name = await xrWith({ compositionSelector: { matchLabels: { no: "match" } } });
  await assert.rejects(bench.reconcile(name));
  const why = "none has the compositeTypeRef Cache (platform.example.org/v1) and the labels no=match";
  const text = `cannot select Composition: no compatible Compositions found: ${why}: apply one, or correct the compositionSelector`;
  assert.equal(await synced(name), text);
  assert.deepEqual(bench.takeEvents(), [`Cache/${name} Warning SelectComposition: ${text}`]);
  assert.deepEqual((await bench.read(name)).metadata.finalizers, ["composite.apiextensions.crossplane.io"]);
});

test("Compositions that cannot be listed are reported", async () => {
  const name = await xrWith({});
  intercept = ({ method, kind }) => {
    if (method === "list" && kind === "Composition") throw internalError("boom");
  };
  await assert.rejects(bench.reconcile(name));
  assert.match(await synced(name), /^cannot select Composition: cannot list Compositions: .*boom/);
});

test("a definition that cannot be read is reported", async () => {
  const name = await xrWith({});
  intercept = ({ method, kind }) => {
    if (method === "get" && kind === "CompositeResourceDefinition") throw internalError("boom");
  };
  await assert.rejects(bench.reconcile(name));
  assert.match(await synced(name), /^cannot select Composition: cannot get composite resource definition: .*boom/);
});

test("a Composition that does not exist is reported with the reason of composing", async () => {
  const name = await xrWith({ compositionRef: { name: "gone" } });
  await assert.rejects(bench.reconcile(name));
  assert.match(
    await synced(name),
    /^cannot fetch Composition: cannot get Composition: .*"gone" not found: apply it, or name another one in compositionRef$/,
  );
  assert.match(bench.takeEvents().join(), /Warning ComposeResources: cannot fetch Composition: /);
});

test("an XR whose revision has not been checked yet waits in silence for the verdict, then composes", async () => {
  const composition = fresh("c");
  const made = await bench.compositionOf(composition, ["f"], { valid: null });
  const name = await xrWith({ compositionRef: { name: composition } });
  const calls = bench.functions.calls.length;
  bench.takeEvents();
  assert.deepEqual(await bench.reconcile(name), { requeueAfterMs: 250 });
  assert.deepEqual(
    bench.takeEvents().filter((line) => line.includes(" Warning ")),
    [],
  );
  assert.equal((await bench.condition(name, "Synced")).status, "Unknown");
  assert.equal(bench.functions.calls.length, calls);
  await makeRevision(cluster, made, { revision: 2 });
  await bench.reconcile(name);
  assert.equal((await bench.condition(name, "Synced")).status, "True");
});

test("a revision that nothing checks is not used, and an XR that has waited for the check says so", async () => {
  let ms = Date.now();
  const slow = createCompositeBench(cluster, definition, { clock: { ...systemClock, now: () => ms } });
  const composition = fresh("c");
  await slow.compositionOf(composition, ["f"], { valid: null });
  const name = await xrWith({ compositionRef: { name: composition } });
  await slow.reconcile(name);
  ms += 9999;
  assert.deepEqual(await slow.reconcile(name), { requeueAfterMs: 250 });
  ms += 1;
  await assert.rejects(slow.reconcile(name));
  const text = `selected CompositionRevision ${composition}-1 does not have a valid function pipeline: pipeline status unknown`;
  assert.equal(await synced(name), text);
  assert.ok(slow.takeEvents().includes(`Cache/${name} Warning ComposeResources: ${text}`));
});

test("a revision found invalid is not used, and says why", async () => {
  const composition = fresh("c");
  const valid = { status: "False", reason: "MissingCapabilities", message: "function f lacks composition" };
  await bench.compositionOf(composition, ["f"], { valid });
  const name = await xrWith({ compositionRef: { name: composition } });
  const calls = bench.functions.calls.length;
  await assert.rejects(bench.reconcile(name));
  assert.match(await synced(name), /: function f lacks composition$/);
  assert.equal(bench.functions.calls.length, calls);
});

test("a Composition of another kind is reported", async () => {
  const composition = fresh("c");
  await legacy.compositionOf(composition, ["f"]);
  const name = await xrWith({ compositionRef: { name: composition } });
  await assert.rejects(bench.reconcile(name));
  assert.equal(
    await synced(name),
    `cannot configure composite resource: referenced composition is not compatible with this composite resource: CompositionRevision "${composition}-1" is made for XApp (platform.example.org/v1alpha1), not for Cache (platform.example.org/v1): name another Composition in compositionRef`,
  );
});

test("a Composition that is named is used, whatever the selector says", async () => {
  const composition = fresh("c");
  await bench.compositionOf(composition, ["f"]);
  const name = await xrWith({
    compositionRef: { name: composition },
    compositionSelector: { matchLabels: { no: "match" } },
  });
  await bench.reconcile(name);
  assert.equal(await synced(name), "");
});

test("one of several is picked, and stays when selector and labels change", async () => {
  const label = fresh("label");
  const names = [fresh("c"), fresh("c"), fresh("c")];
  for (const composition of names) await bench.compositionOf(composition, ["f"], { labels: { pick: label } });
  const name = await xrWith({ compositionSelector: { matchLabels: { pick: label } } });
  await bench.reconcile(name);
  const picked = compositionRefOf(await bench.read(name), "modern") ?? "";
  assert.equal(picked, names[1], "the middle one, as the random number is one half");
  assert.deepEqual(bench.takeEvents(), [
    `Cache/${name} Normal SelectComposition: Successfully selected composition: ${picked}`,
    `Cache/${name} Normal SelectComposition: Selected composition revision: ${picked}-1`,
  ]);
  await edit(name, { compositionSelector: { matchLabels: { pick: "other" } } });
  await bench.reconcile(name);
  assert.equal(compositionRefOf(await bench.read(name), "modern"), picked);
  assert.deepEqual(bench.takeEvents(), []);
});

test("a random choice is stored although the revision cannot be found", async () => {
  const label = fresh("label");
  const composition = fresh("c");
  const spec = {
    compositeTypeRef: { ...bench.kind.type },
    mode: "Pipeline",
    pipeline: [{ step: "f", functionRef: { name: "f" } }],
  };
  await cluster.kube.create({ ...kinds.composition, metadata: { name: composition, labels: { pick: label } }, spec });
  await bench.seen(kinds.composition, { name: composition });
  const name = await xrWith({ compositionSelector: { matchLabels: { pick: label } } });
  await assert.rejects(bench.reconcile(name), /no compatible CompositionRevisions found/);
  assert.equal(compositionRefOf(await bench.read(name), "modern"), composition);
});

test("a Composition for another version of the kind is not a candidate", async () => {
  const label = fresh("label");
  const composition = fresh("c");
  const compositeTypeRef = { apiVersion: "platform.example.org/v9", kind: "Cache" };
  await bench.compositionOf(composition, ["f"], { labels: { pick: label }, spec: { compositeTypeRef } });
  const name = await xrWith({ compositionSelector: { matchLabels: { pick: label } } });
  await assert.rejects(bench.reconcile(name), /no compatible Compositions found/);
});

test("the default is for XRs that neither name nor select", async () => {
  const [byDefault, bySelector] = [fresh("c"), fresh("c")];
  const label = fresh("label");
  await bench.compositionOf(byDefault, ["f"]);
  await bench.compositionOf(bySelector, ["f"], { labels: { pick: label } });
  await define({ defaultCompositionRef: { name: byDefault } });
  const undecided = await xrWith({});
  await bench.reconcile(undecided);
  assert.equal(compositionRefOf(await bench.read(undecided), "modern"), byDefault);
  assert.equal(
    bench.takeEvents()[0],
    `Cache/${undecided} Normal CompositionSelection: Default composition has been selected`,
  );
  const selecting = await xrWith({ compositionSelector: { matchLabels: { pick: label } } });
  await bench.reconcile(selecting);
  assert.equal(compositionRefOf(await bench.read(selecting), "modern"), bySelector);
  await define({});
});

test("the enforced Composition overwrites another, once", async () => {
  const [enforced, wished] = [fresh("c"), fresh("c")];
  await bench.compositionOf(enforced, ["f"]);
  await bench.compositionOf(wished, ["f"]);
  const name = await xrWith({ compositionRef: { name: wished } });
  await bench.reconcile(name);
  await define({ enforcedCompositionRef: { name: enforced } });
  bench.takeEvents();
  await bench.reconcile(name);
  assert.equal(compositionRefOf(await bench.read(name), "modern"), enforced);
  assert.equal(
    bench.takeEvents()[0],
    `Cache/${name} Normal CompositionSelection: Enforced composition has been selected`,
  );
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual([cluster.takeWrites(), bench.takeEvents()], [[], []]);
  await define({});
});

test("a legacy XR without a Secret gets one named after itself", async () => {
  const composition = fresh("c");
  await legacy.compositionOf(composition, ["f"], { spec: { writeConnectionSecretsToNamespace: "default" } });
  const name = fresh("xr");
  const { metadata } = await legacy.xr(name, { compositionRef: { name: composition } });
  await legacy.reconcile(name);
  const { spec } = (await legacy.read(name)) as unknown as { spec: JsonObject };
  assert.deepEqual(spec["writeConnectionSecretToRef"], { name: metadata.uid, namespace: "default" });
  await cluster.kube.get(kinds.secret, { namespace: "default", name: metadata.uid ?? "" });
});

test("a modern XR of such a revision is not written for it", async () => {
  const composition = fresh("c");
  await bench.compositionOf(composition, ["f"], { spec: { writeConnectionSecretsToNamespace: "default" } });
  const name = await xrWith({ compositionRef: { name: composition } });
  await bench.reconcile(name);
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(cluster.takeWrites(), []);
});

test("an XR gets its own name as label, and a nested one keeps its root's", async () => {
  const composition = fresh("c");
  await bench.compositionOf(composition, ["f"]);
  const root = await xrWith({ compositionRef: { name: composition } });
  const nested = await xrWith({ compositionRef: { name: composition } }, { labels: { [labels.composite]: "root" } });
  await bench.reconcile(root);
  await bench.reconcile(nested);
  assert.equal((await bench.read(root)).metadata.labels?.[labels.composite], root);
  assert.equal((await bench.read(nested)).metadata.labels?.[labels.composite], "root");
});
