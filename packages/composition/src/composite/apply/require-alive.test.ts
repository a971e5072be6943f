// SPDX-License-Identifier: Apache-2.0
// XRs that are deleted while functions run, on a real API server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ignoreNotFound, isConflict } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../../test/composite-bench.ts";
import { cacheDefinition } from "../../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../../test/test-control.ts";
import { respond, type TestFunction } from "../../../test/test-doubles.ts";
import { composedName } from "../../composite-resource/crossplane-fields.ts";
import { requireAlive } from "./apply-composed.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
const at = { namespace: "default" };

let cluster: TestCluster;
let bench: CompositeBench;
before(async () => {
  cluster = await startTestCluster();
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Cluster")));
  await bench.compositionOf("maps", ["compose"]);
});
after(() => cluster[Symbol.asyncDispose]());

const answer: TestFunction = (request) =>
  respond(request, { resources: { a: configMap({ x: "1" }, at) }, ready: ["a"] });

interface MapKey {
  readonly namespace: string;
  readonly name: string;
}

interface Row {
  readonly reason: string;
  /** Whether it has composed before. */
  readonly composed: boolean;
  /** What others do to the composed resource before the pass. */
  readonly before?: (key: MapKey) => Promise<unknown>;
  /** What happens to the XR while functions run. */
  readonly meanwhile: (name: string, key: MapKey) => Promise<unknown>;
  /** The error of the reconcile; a conflict, which is not reported, unless given. */
  readonly refused?: RegExp;
  readonly check: (composed: KubeObject | undefined) => void;
}

const deleteXr = (name: string): Promise<unknown> => cluster.kube.delete({ ...bench.kind.type, name });
const replaceXr = async (name: string): Promise<void> => {
  const bare = { metadata: { finalizers: null } };
  await cluster.kube.patch({ ...bench.kind.type, name }, bare, { type: "merge" });
  await deleteXr(name);
  await bench.xr(name);
  // Until the controller has received the event, there are no references to store.
  await bench.seen(bench.kind.type, { name });
};
const collect = (key: MapKey): Promise<unknown> => cluster.kube.delete({ ...maps, ...key });
const orphan = (key: MapKey): Promise<unknown> =>
  cluster.kube.patch({ ...maps, ...key }, { metadata: { ownerReferences: null } }, { type: "merge" });
/** The XR goes, and the garbage collector acts before the pass is over. */
const deleteXrAnd =
  (then: (key: MapKey) => Promise<unknown>) =>
  async (name: string, key: MapKey): Promise<void> => {
    await deleteXr(name);
    await then(key);
    await bench.seen(maps, key);
  };
const isAbsent = (composed: KubeObject | undefined): void => assert.equal(composed, undefined);
const isFree = (composed: KubeObject | undefined): void => {
  assert.ok(composed);
  assert.deepEqual(composed.metadata.ownerReferences ?? [], []);
};

const rows: Readonly<Record<string, Row>> = {
  Fresh: {
    reason: "nothing is made for one that goes before anything was made",
    composed: false,
    meanwhile: deleteXr,
    check: isAbsent,
  },
  Collected: {
    reason: "what is collected first is not made again",
    composed: true,
    before: collect,
    meanwhile: deleteXr,
    check: isAbsent,
  },
  Orphaned: {
    reason: "what is left behind is not taken back",
    composed: true,
    before: orphan,
    meanwhile: deleteXr,
    check: isFree,
  },
  CollectedMeanwhile: {
    reason: "nor what is collected while functions run",
    composed: true,
    meanwhile: deleteXrAnd(collect),
    check: isAbsent,
  },
  OrphanedMeanwhile: {
    reason: "nor is what is left behind while functions run",
    composed: true,
    meanwhile: deleteXrAnd(orphan),
    check: isFree,
  },
  Replaced: {
    reason: "another XR of the same name is not this one, as storing references says",
    composed: true,
    refused: /metadata\.uid: Invalid value: .*: field is immutable/,
    before: collect,
    meanwhile: replaceXr,
    check: isAbsent,
  },
};

for (const [title, { reason, composed, before: prepare, meanwhile, refused, check }] of Object.entries(rows)) {
  test(`an XR that goes while functions run, ${title}: ${reason}`, async () => {
    const name = title.toLowerCase();
    const { uid = "" } = (await bench.xr(name)).metadata;
    const key = { ...at, name: composedName(name, uid, "a") };
    bench.functions.set("compose", answer);
    if (composed) await bench.reconcile(name);
    await prepare?.(key);
    await bench.seen(maps, key);
    bench.functions.set("compose", async (request) => {
      await meanwhile(name, key);
      return answer(request);
    });
    bench.takeEvents();
    await assert.rejects(bench.reconcile(name), refused ?? isConflict);
    check(await ignoreNotFound(cluster.kube.get(maps, key)));
    const warnings = bench.takeEvents().filter((line) => line.includes(" Warning "));
    assert.equal(warnings.length, refused === undefined ? 0 : 1);
  });
}

test("another XR of the same name is not this one, also when there are no references to store", async () => {
  const now = await bench.xr("namesake");
  const { signal } = new AbortController();
  const alive = (read: KubeObject): Promise<void> =>
    requireAlive(
      { read, stored: read },
      { observed: undefined, current: undefined },
      { client: bench.deps.client, signal: signal },
    );
  await alive(now);
  await assert.rejects(alive({ ...now, metadata: { ...now.metadata, uid: "another" } }), isConflict);
});

test("a steady XR is not read once more", async () => {
  const { uid = "" } = (await bench.xr("steady")).metadata;
  bench.functions.set("compose", answer);
  await bench.reconcile("steady");
  await bench.seen(maps, { ...at, name: composedName("steady", uid, "a") });
  let reads = 0;
  const { client } = bench.deps;
  const live = {
    ...client.live,
    get: (...args: Parameters<typeof client.live.get>) => ++reads && client.live.get(...args),
  };
  const counting = createCompositeBench(
    cluster,
    await cluster.kube.get(cacheDefinition("Cluster"), { name: bench.kind.definition }),
    {
      client: { ...client, live } as typeof client,
      runStep: bench.deps.runStep,
    },
  );
  await counting.reconcile("steady");
  assert.equal(reads, 0);
});
