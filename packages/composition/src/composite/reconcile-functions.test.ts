// SPDX-License-Identifier: Apache-2.0
// Pipelines as functions see them: what they get, what they may ask for, and what is remembered of it.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { finish } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { create, MatchLabels, ResourceSelector, type RunFunctionRequest } from "@purlin/function-protocol";
import { observedStructsEncoded } from "@purlin/function-runner";
import type { ReconcileResult } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { respond } from "../../test/test-doubles.ts";
import { createReconcile } from "./reconciler.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
const byName = (name: string, namespace = "default"): ResourceSelector =>
  create(ResourceSelector, { ...maps, namespace, match: { case: "matchName", value: name } });
const byLabel = (key: string, value: string): ResourceSelector =>
  create(ResourceSelector, {
    ...maps,
    match: { case: "matchLabels", value: create(MatchLabels, { labels: new Map([[key, value]]) }) },
  });

let cluster: TestCluster;
let xrd: KubeObject;
let bench: CompositeBench;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  xrd = await cluster.define(cacheDefinition("Cluster"));
  bench = createCompositeBench(cluster, xrd);
  await bench.compositionOf("c", ["first", "second"]);
  await cluster.kube.create({
    ...maps,
    metadata: { name: "wanted", namespace: "default", labels: { app: "web" } },
    data: { v: "1" },
  });
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
  bench.functions.set("first", {});
  bench.functions.set("second", {});
});

async function xr(composition = "c"): Promise<string> {
  const name = `xr${number++}`;
  await bench.xr(name, { crossplane: { compositionRef: { name: composition } } });
  return name;
}

/** The requests a reconcile makes. */
async function requestsOf(name: string): Promise<RunFunctionRequest[]> {
  const before = bench.functions.calls.length;
  await bench.reconcile(name);
  return bench.functions.calls.slice(before).map(({ request }) => request);
}
const found = (request: RunFunctionRequest | undefined, requirement: string): unknown =>
  request?.requiredResources
    .get(requirement)
    ?.items.map(({ resource }) => textAt(resource?.value ?? {}, ["metadata", "name"]));

test("without requirements each step is called once", async () => {
  assert.equal((await requestsOf(await xr())).length, 2);
});

test("every step sees the same observed state, and what the step before it desired", async () => {
  bench.functions.set("first", {
    resources: { a: configMap({}, { namespace: "default" }) },
    context: { hello: "world" },
  });
  const [one, two] = await requestsOf(await xr());
  assert.equal(one?.observed, two?.observed);
  assert.deepEqual([one?.desired?.resources.size, two?.desired?.resources.size], [0, 1]);
  assert.deepEqual([one?.context?.value, two?.context?.value], [{}, { hello: "world" }]);
  assert.deepEqual(two?.meta?.capabilities, [1, 2, 3, 4, 5]);
});

test("a step that answers no context leaves the next without one", async () => {
  bench.functions.set("first", (request) => ({ ...respond(request), context: undefined }));
  const [, two] = await requestsOf(await xr());
  assert.equal(two?.context, undefined);
});

test("what a step asks for is fetched at first, and seeded from then on", async () => {
  bench.functions.set("first", { requires: { it: byName("wanted") } });
  const name = await xr();
  const fresh = await requestsOf(name);
  assert.equal(fresh.length, 3, "first, first with its answer, second");
  assert.deepEqual([found(fresh[0], "it"), found(fresh[1], "it")], [undefined, ["wanted"]]);
  const seeded = await requestsOf(name);
  assert.equal(seeded.length, 2);
  assert.deepEqual(found(seeded[0], "it"), ["wanted"]);
});

test("what was asked for through the deprecated field is watched too, and seeded into the new one", async () => {
  bench.functions.set("first", { extraRequires: { it: byLabel("app", "web") } });
  const name = await xr();
  await requestsOf(name);
  const wanted = await cluster.kube.get(maps, { namespace: "default", name: "wanted" });
  assert.ok([...bench.state.tracker.dependents(wanted)].some((key) => key.name === name));
  const [one] = await requestsOf(name);
  assert.deepEqual(found(one, "it"), ["wanted"]);
});

test("requirements that never settle fail the step", async () => {
  let count = 0;
  bench.functions.set("first", (request) => respond(request, { requires: { it: byName(`n${count++}`) } }));
  const name = await xr();
  await assert.rejects(bench.reconcile(name));
  assert.equal(
    (await bench.condition(name, "Synced")).message,
    'cannot compose resources: cannot run Composition pipeline step "first": Function "first": requirements didn\'t stabilize after the maximum number of iterations (5): the function must return the same requirements on every call, also when they are satisfied',
  );
  assert.equal(count, 6);
});

test("a fatal is final, whatever it requires", async () => {
  let count = 0;
  bench.functions.set("first", (request) => {
    count++;
    return respond(request, { requires: { it: byName("wanted") }, results: [{ severity: 1, message: "boom" }] });
  });
  await assert.rejects(bench.reconcile(await xr()));
  assert.equal(count, 1);
});

test("what does not exist is an empty answer, and what appears later is in it", async () => {
  const late = `late${number++}`;
  bench.functions.set("first", { requires: { it: byName(late) } });
  const name = await xr();
  const fresh = await requestsOf(name);
  assert.deepEqual(found(fresh.at(-2), "it"), []);
  const made = await cluster.kube.create({ ...maps, metadata: { name: late, namespace: "default" } });
  assert.deepEqual([...bench.state.tracker.dependents(made)], [{ name }]);
  await bench.seen(maps, { namespace: "default", name: late });
  assert.deepEqual(found((await requestsOf(name))[0], "it"), [late]);
});

test("bootstrap requirements are in the first request and survive those of functions", async () => {
  const requirements = {
    requiredResources: [{ requirementName: "boot", ...maps, namespace: "default", name: "wanted" }],
  };
  const composition = `c${number++}`;
  await bench.compositionOf(composition, [{ step: "s", functionRef: { name: "first" }, requirements }]);
  bench.functions.set("first", { requires: { own: byLabel("app", "web") } });
  const name = await xr(composition);
  const requests = await requestsOf(name);
  assert.deepEqual(
    requests.map((request) => [found(request, "boot"), found(request, "own")]),
    [
      [["wanted"], undefined],
      [["wanted"], ["wanted"]],
    ],
  );
  const wanted = await cluster.kube.get(maps, { namespace: "default", name: "wanted" });
  assert.ok([...bench.state.tracker.dependents(wanted)].some((key) => key.name === name));
});

test("seeds that cannot be read are left out, and the function asks", async () => {
  bench.functions.set("first", { requires: { it: byName("wanted") } });
  const name = await xr();
  await requestsOf(name);
  const nothing = create(ResourceSelector, { apiVersion: "x.example.org/v1", kind: "Nothing" });
  const requirements = [{ step: "first", name: "it", selector: nothing }];
  finish(bench.state.tracker.record({ name }, { composed: [], requirements }));
  const again = await requestsOf(name);
  assert.deepEqual([found(again[0], "it"), found(again[1], "it")], [undefined, ["wanted"]]);
});

/** After this long, and then at the next quarter of a second. */
function assertDueIn(ms: number, { requeueAfterMs = 0 }: ReconcileResult): void {
  assert.ok(requeueAfterMs >= ms && requeueAfterMs < ms + 250, `${requeueAfterMs}`);
}

test("without realtime nothing is seeded", async () => {
  const polling = createCompositeBench(cluster, xrd, {
    settings: { realtime: false },
  });
  polling.functions.set("first", { requires: { it: byName("wanted") } });
  polling.functions.set("second", {});
  const name = await xr();
  assertDueIn(60_000, await polling.reconcile(name));
  const before = polling.functions.calls.length;
  await polling.reconcile(name);
  assert.equal(polling.functions.calls.length - before, 3);
});

test("a requirement that names a namespace for a cluster-scoped kind depends on the object it got", async () => {
  const selector = create(ResourceSelector, {
    apiVersion: "v1",
    kind: "Namespace",
    namespace: "ignored",
    match: { case: "matchName", value: "default" },
  });
  bench.functions.set("first", { requires: { it: selector } });
  const name = await xr();
  await bench.reconcile(name);
  const namespace = await cluster.kube.get({ apiVersion: "v1", kind: "Namespace" }, { name: "default" });
  assert.ok([...bench.state.tracker.dependents(namespace)].some((key) => key.name === name));
});

test("the shortest time to live of all steps decides when to look again", async () => {
  bench.functions.set("first", { ttlSeconds: 300 });
  bench.functions.set("second", { ttlSeconds: 60 });
  assertDueIn(60_000, await bench.reconcile(await xr()));
});

test("a steady XR's objects are encoded once, however often it is reconciled", async () => {
  const resources = Object.fromEntries(
    ["a", "b", "c"].map((name) => [name, configMap({ name }, { namespace: "default" })]),
  );
  bench.functions.set("first", { resources, ready: ["a", "b", "c"] });
  const name = await xr();
  await bench.reconcile(name);
  // News of what was just written is encoded once more, whenever it comes; after that nothing is.
  await eventually("five passes in a row encode nothing", async () => {
    const before = observedStructsEncoded();
    for (let i = 0; i < 5; i++) await bench.reconcile(name);
    return observedStructsEncoded() === before;
  });
});

test("a function that hangs is given up at the deadline, and the XR says so", async () => {
  const clock = manualClock(Date.now());
  const waiting = createCompositeBench(cluster, xrd, {
    settings: { deadlineMs: 50 },
    clock,
    runStep: (_reference, _request, { signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
        clock.advance(50);
      }),
  });
  const name = await xr();
  await assert.rejects(waiting.reconcile(name));
  assert.equal(
    (await bench.condition(name, "Synced")).message,
    'cannot compose resources: cannot run Composition pipeline step "first": Function "first": reconcile timed out after 0.05s',
  );
});

test("a step without an answer is reported on the XR while it runs, and the reconcile continues from there", async () => {
  const clock = manualClock(Date.parse("2026-01-02T03:04:05Z"));
  const release = Promise.withResolvers<void>();
  const slow = createCompositeBench(cluster, xrd, { clock });
  const name = await xr();
  slow.functions.set("first", (request) => respond(request));
  slow.functions.set("second", async (request) => {
    clock.advance(9_999);
    clock.advance(1);
    await release.promise;
    const map = { ...maps, metadata: { name: `${name}-map`, namespace: "default" } };
    return respond(request, { resources: { map }, ready: ["map"] });
  });
  const reconciled = slow.reconcile(name);
  await eventually("the XR says what it waits for", async () => {
    const { status, reason, message } = await bench.condition(name, "Synced");
    return status === "Unknown" && reason === "WaitingForFunction" && message !== undefined;
  });
  assert.equal(
    (await bench.condition(name, "Synced")).message,
    'waiting for Function "second" in pipeline step "second" since 2026-01-02T03:04:05Z',
  );
  release.resolve();
  await reconciled;
  assert.equal((await bench.condition(name, "Synced")).status, "True");
});

test("a step without an answer is reported on an XR that has changed since it was read", async () => {
  const clock = manualClock(Date.parse("2026-01-02T03:04:05Z"));
  const release = Promise.withResolvers<void>();
  const slow = createCompositeBench(cluster, xrd, { clock });
  const name = await xr();
  let seen: number | undefined;
  slow.functions.set("first", (request) => respond(request));
  slow.functions.set("second", async (request) => {
    seen = (await bench.read(name)).metadata.generation;
    await cluster.kube.patch({ ...slow.kind.type, name }, { spec: { image: "edited" } }, { type: "merge" });
    clock.advance(10_000);
    await release.promise;
    return respond(request);
  });
  const reconciled = slow.reconcile(name);
  await eventually("the XR says what it waits for", async () => {
    return (await bench.condition(name, "Synced")).reason === "WaitingForFunction";
  });
  const edited = await bench.read(name);
  assert.equal(textAt(edited, ["spec", "image"]), "edited");
  assert.notEqual(edited.metadata.generation, seen);
  assert.equal((await bench.condition(name, "Synced")).observedGeneration, seen, "functions have not seen the edit");
  release.resolve();
  await reconciled;
  const { status, observedGeneration } = await bench.condition(name, "Synced");
  assert.deepEqual([status, observedGeneration], ["True", seen]);
});

test("a function that always takes long is reported once, and then costs no write until it takes longer or the XR changes", async () => {
  const clock = manualClock(Date.parse("2026-01-02T03:04:05Z"));
  const slow = createCompositeBench(cluster, xrd, { clock });
  const name = await xr();
  let seconds = 15;
  slow.functions.set("first", async (request) => {
    for (let elapsed = 0; elapsed < seconds; elapsed++) clock.advance(1000);
    // What was due is written before the answer.
    await new Promise((resolve) => setTimeout(resolve, 100));
    return respond(request);
  });
  slow.functions.set("second", (request) => respond(request));
  const versions = async (): Promise<number> => {
    const before = (await bench.read(name)).metadata.resourceVersion ?? "";
    await slow.reconcile(name);
    assert.equal((await bench.condition(name, "Synced")).status, "True");
    return Number((await bench.read(name)).metadata.resourceVersion) - Number(before);
  };
  assert.ok((await versions()) > 1, "the first time it is not known to be slow");
  assert.deepEqual([await versions(), await versions()], [0, 0], "a steady slow function costs no writes");
  seconds = 31;
  assert.ok((await versions()) > 0, "twice as long as the last time is reported");
  assert.equal(await versions(), 0);
  await cluster.kube.patch({ ...slow.kind.type, name }, { spec: { image: "x" } }, { type: "merge" });
  assert.ok((await versions()) > 1, "a change of the XR is worth to know that it waits");
  seconds = 1;
  assert.equal(await versions(), 0);
  seconds = 11;
  assert.ok((await versions()) > 0, "after an answer in time the next slow one is reported");
});

test("a step that fails after it was reported leaves its failure, not the report", async () => {
  const clock = manualClock(Date.now());
  const failing = createCompositeBench(cluster, xrd, { clock });
  failing.functions.set("first", () => {
    clock.advance(10_000);
    throw new Error("no");
  });
  const name = await xr();
  await assert.rejects(failing.reconcile(name));
  const { status, message } = await bench.condition(name, "Synced");
  assert.deepEqual([status, message?.endsWith("no")], ["False", true]);
});

test("functions time out before the reconcile does, so that the slow one can be reported", async () => {
  const clock = manualClock(Date.now());
  const began = clock.now();
  let [deadline, abortedAt] = [0, 0];
  const waiting = createCompositeBench(cluster, xrd, {
    settings: { deadlineMs: 200 },
    clock,
    runStep: (_reference, _request, call) =>
      new Promise((_, reject) => {
        deadline = call.deadline;
        call.signal?.addEventListener("abort", () => {
          abortedAt = clock.now();
          reject(call.signal?.reason);
        });
        clock.advance(1000);
      }),
  });
  await assert.rejects(waiting.reconcile(await xr()));
  assert.deepEqual([deadline - began, abortedAt - began], [180, 200]);
});

test("a controller that stops leaves without a word", async () => {
  const name = await xr();
  const stop = new AbortController();
  bench.functions.set("first", (request) => {
    stop.abort(new Error("stopping"));
    return respond(request);
  });
  bench.takeEvents();
  await bench.seen(bench.kind.type, { name });
  await assert.rejects(createReconcile(bench.deps, bench.state)({ name }, stop.signal));
  assert.equal((await bench.condition(name, "Synced")).status, "Unknown");
  assert.deepEqual(
    bench.takeEvents().filter((line) => line.includes("Warning")),
    [],
  );
});
