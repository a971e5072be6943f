// SPDX-License-Identifier: Apache-2.0
// Which revision of its Composition an XR is on, on a real API server.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type CompositeBench, createCompositeBench, makeRevision } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { kinds } from "../composite-resource/constants.ts";
import { revisionRefOf, revisionSelectorOf } from "../composite-resource/crossplane-fields.ts";

let cluster: TestCluster;
let definition: KubeObject;
let bench: CompositeBench;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  definition = await cluster.define(cacheDefinition("Cluster"));
  bench = createCompositeBench(cluster, definition);
  bench.functions.set("f", {});
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => void bench.takeEvents());

const fresh = (prefix: string): string => `${prefix}${number++}`;
const synced = async (name: string): Promise<string> => (await bench.condition(name, "Synced")).message ?? "";

async function xrWith(crossplane: JsonObject): Promise<string> {
  const name = fresh("xr");
  await bench.xr(name, { crossplane });
  return name;
}

async function define(fields: JsonObject): Promise<void> {
  const path = { ...kinds.definition, name: definition.metadata.name ?? "" };
  await cluster.kube.patch(path, { spec: { defaultCompositionRevisionSelector: null, ...fields } }, { type: "merge" });
  await bench.seen(kinds.definition, { name: path.name });
}

async function edit(name: string, crossplane: JsonObject): Promise<void> {
  await cluster.kube.patch({ ...bench.kind.type, name }, { spec: { crossplane } }, { type: "merge" });
}

test("the default revision selector is for XRs that neither select nor name a revision", async () => {
  const composition = fresh("c");
  await bench.compositionOf(composition, ["f"], { labels: { channel: "stable" } });
  await define({ defaultCompositionRevisionSelector: { matchLabels: { channel: "stable" } } });
  const bare = await xrWith({ compositionRef: { name: composition } });
  await bench.reconcile(bare);
  assert.deepEqual(revisionSelectorOf(await bench.read(bare), "modern"), { channel: "stable" });
  assert.ok(
    bench
      .takeEvents()
      .includes(`Cache/${bare} Normal CompositionSelection: Default revision selector has been selected`),
  );
  const own = await xrWith({ compositionRef: { name: composition }, compositionRevisionSelector: { matchLabels: {} } });
  await bench.reconcile(own);
  assert.deepEqual(revisionSelectorOf(await bench.read(own), "modern"), {});
  const pinned = await xrWith({
    compositionRef: { name: composition },
    compositionRevisionRef: { name: `${composition}-1` },
    compositionUpdatePolicy: "Manual",
  });
  await bench.reconcile(pinned);
  assert.equal(
    revisionSelectorOf(await bench.read(pinned), "modern"),
    undefined,
    "one that names a revision needs none",
  );
  await define({});
});

/** A Composition with two revisions: an old one that is alpha, and a new one that is beta. */
async function twoRevisions(): Promise<{ composition: KubeObject; name: string }> {
  const name = fresh("c");
  const composition = await bench.compositionOf(name, ["f"], { labels: { channel: "alpha" } });
  await makeRevision(cluster, composition, { revision: 2, labels: { channel: "beta" } });
  return { composition, name };
}
const alpha = { compositionRevisionSelector: { matchLabels: { channel: "alpha" } } };
const gamma = { compositionRevisionSelector: { matchLabels: { channel: "gamma" } } };
const on = async (name: string): Promise<string | undefined> => revisionRefOf(await bench.read(name), "modern");

const rows: Readonly<Record<string, { reason: string; spec: JsonObject; ref?: number; want: number }>> = {
  Automatic: {
    reason: "moves to the newest",
    spec: { compositionUpdatePolicy: "Automatic" },
    ref: 1,
    want: 2,
  },
  AutomaticSelector: {
    reason: "moves to the newest match",
    spec: { compositionUpdatePolicy: "Automatic", ...alpha },
    ref: 2,
    want: 1,
  },
  Manual: { reason: "stays", spec: { compositionUpdatePolicy: "Manual" }, ref: 1, want: 1 },
  ManualFirst: { reason: "the newest is pinned", spec: { compositionUpdatePolicy: "Manual" }, want: 2 },
  ManualSelectorFirst: {
    reason: "the newest match is pinned",
    spec: { compositionUpdatePolicy: "Manual", ...alpha },
    want: 1,
  },
  ManualSelectorStays: {
    reason: "a match stays",
    spec: { compositionUpdatePolicy: "Manual", ...alpha },
    ref: 1,
    want: 1,
  },
  ManualSelectorMoves: {
    reason: "one that does not match gives way",
    spec: { compositionUpdatePolicy: "Manual", ...alpha },
    ref: 2,
    want: 1,
  },
  ManualSelectorGone: {
    reason: "one that is gone gives way",
    spec: { compositionUpdatePolicy: "Manual", ...alpha },
    ref: 9,
    want: 1,
  },
};

for (const [row, { reason, spec, ref, want }] of Object.entries(rows)) {
  test(`${row}: ${reason}, and then writes nothing`, async () => {
    const { name: composition } = await twoRevisions();
    const pinned = ref === undefined ? {} : { compositionRevisionRef: { name: `${composition}-${ref}` } };
    const name = await xrWith({ compositionRef: { name: composition }, ...spec, ...pinned });
    await bench.reconcile(name);
    assert.equal(await on(name), `${composition}-${want}`);
    const emitted = bench.takeEvents().filter((line) => line.includes("Selected composition revision"));
    assert.equal(emitted.length, ref === want ? 0 : 1);
    cluster.takeWrites();
    await bench.reconcile(name);
    assert.deepEqual([cluster.takeWrites(), bench.takeEvents()], [[], []]);
  });
}

test("pinned, and nothing matches: it stays and says so", async () => {
  const { name: composition } = await twoRevisions();
  const compositionRevisionRef = { name: `${composition}-1` };
  const name = await xrWith({
    compositionRef: { name: composition },
    compositionUpdatePolicy: "Manual",
    ...gamma,
    compositionRevisionRef,
  });
  await bench.reconcile(name);
  assert.equal(await on(name), `${composition}-1`);
  const text = `no CompositionRevision of Composition "${composition}" matches the compositionRevisionSelector, staying on "${composition}-1"`;
  assert.ok(bench.takeEvents().includes(`Cache/${name} Warning SelectComposition: ${text}`));
  assert.equal((await bench.condition(name, "Ready")).status, "True");
});

test("pinned, nothing matches, and the Composition is gone: it stays all the same", async () => {
  const { name: composition } = await twoRevisions();
  const bare = { metadata: { ownerReferences: null } };
  await cluster.kube.patch({ ...kinds.revision, name: `${composition}-1` }, bare, { type: "merge" });
  await cluster.kube.delete({ ...kinds.composition, name: composition });
  await bench.seen(kinds.composition, { name: composition });
  const name = await xrWith({
    compositionRef: { name: composition },
    compositionUpdatePolicy: "Manual",
    ...gamma,
    compositionRevisionRef: { name: `${composition}-1` },
  });
  await bench.reconcile(name);
  assert.equal(await on(name), `${composition}-1`);
  assert.equal((await bench.condition(name, "Ready")).status, "True");
});

test("pinned one gone, and nothing matches", async () => {
  const { name: composition } = await twoRevisions();
  const pinned = { compositionRevisionRef: { name: `${composition}-9` } };
  const name = await xrWith({
    compositionRef: { name: composition },
    compositionUpdatePolicy: "Manual",
    ...gamma,
    ...pinned,
  });
  await assert.rejects(bench.reconcile(name));
  assert.match(
    await synced(name),
    /^cannot fetch Composition: cannot get CompositionRevision: .*-9" not found: name another one in compositionRevisionRef, or take it out for the newest$/,
  );
});

test("not pinned, and nothing matches", async () => {
  const { name: composition } = await twoRevisions();
  const name = await xrWith({ compositionRef: { name: composition }, compositionUpdatePolicy: "Manual", ...gamma });
  await assert.rejects(bench.reconcile(name), /no compatible CompositionRevisions found/);
});

test("an edited selector moves the XR, twice; a label that goes does as well", async () => {
  const { name: composition } = await twoRevisions();
  const name = await xrWith({ compositionRef: { name: composition }, compositionUpdatePolicy: "Manual", ...alpha });
  await bench.reconcile(name);
  assert.equal(await on(name), `${composition}-1`);
  await edit(name, { compositionRevisionSelector: { matchLabels: { channel: "beta" } } });
  await bench.reconcile(name);
  assert.equal(await on(name), `${composition}-2`);
  await edit(name, { compositionRevisionSelector: { matchLabels: { channel: "alpha" } } });
  await bench.reconcile(name);
  assert.equal(await on(name), `${composition}-1`);
  const [first, second] = [`${composition}-1`, `${composition}-2`];
  const relabel = (revision: string, channel: string | null): Promise<KubeObject> =>
    cluster.kube.patch({ ...kinds.revision, name: revision }, { metadata: { labels: { channel } } }, { type: "merge" });
  await relabel(first, null);
  await relabel(second, "alpha");
  await bench.seen(kinds.revision, { name: first });
  await bench.seen(kinds.revision, { name: second });
  await bench.reconcile(name);
  assert.equal(await on(name), second);
});

test("a pinned XR needs no Composition", async () => {
  const { name: composition } = await twoRevisions();
  const compositionRevisionRef = { name: `${composition}-1` };
  const name = await xrWith({
    compositionRef: { name: "gone" },
    compositionUpdatePolicy: "Manual",
    compositionRevisionRef,
  });
  await bench.reconcile(name);
  assert.equal((await bench.condition(name, "Ready")).status, "True");
});

test("a rollout of the Composition decides, and its revision is not replaced by the newest when it is gone", async () => {
  const { name } = await twoRevisions();
  const view = (phase: string, stable: string, threshold: number) => ({
    metadata: { name: "r", uid: "r" },
    spec: { compositionRef: { name } },
    status: {
      phase,
      stableRevision: stable,
      candidateRevision: `${name}-2`,
      membership: { threshold, shadowThreshold: 0, cohorts: [] },
    },
  });
  let rollout = view("Progressing", `${name}-1`, 0);
  const rolledOut = createCompositeBench(cluster, definition, { rollouts: { list: async () => [rollout] } });
  rolledOut.functions.set("f", {});
  const xr = await xrWith({ compositionRef: { name }, compositionUpdatePolicy: "Automatic" });
  await rolledOut.reconcile(xr);
  assert.equal(await on(xr), `${name}-1`);
  rollout = view("Progressing", "deleted", 0);
  await rolledOut.reconcile(xr).catch(() => {});
  assert.equal(await on(xr), `${name}-1`, "it stays");
  assert.match(
    await synced(xr),
    /FunctionRollout "r" keeps the composite resource on CompositionRevision "deleted", which does not exist/,
  );
  rollout = view("Progressing", `${name}-1`, 10_000);
  await rolledOut.reconcile(xr);
  assert.equal(await on(xr), `${name}-2`);
  // What an ended rollout left behind does not stop anything.
  rollout = view("RolledBack", "deleted", 0);
  await rolledOut.reconcile(xr);
  assert.equal(await on(xr), `${name}-2`);
});
