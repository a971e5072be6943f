// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { respond } from "@purlin/composition/testing";
import { createCrd, installCrds } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { condition, gate, listed, map, operationOf, pipeline, type Scene, startScene } from "../../test/scene.ts";
import { kinds, labels } from "../names.ts";
import { createWatchController } from "./watch-controller.ts";
import { isWatched, operationName } from "./watched-object.ts";

let scene: Scene;
const breakerLimits = { burst: 20, refillPerSecond: 0.001, cooldownMs: 60_000 };
before(async () => {
  scene = await startScene();
  await scene.runOperations();
  await scene.control.run(createWatchController({ ...scene.deps, breakerLimits }));
  scene.functions.set("f", {});
});
after(() => scene[Symbol.asyncDispose]());

const watch = (name: string, label: string, spec: JsonObject = {}, metadata: JsonObject = {}): KubeObject =>
  ({
    ...kinds.watch,
    metadata: { name, ...metadata },
    spec: {
      watch: { apiVersion: "v1", kind: "ConfigMap", matchLabels: { for: label } },
      operationTemplate: { spec: pipeline("f") },
      successfulHistoryLimit: 50,
      ...spec,
    },
  }) as KubeObject;
const object = (name: string, label: string, data: Record<string, string> = {}): KubeObject =>
  map(name, data, { labels: { for: label } }) as KubeObject;
const edit = (name: string, change: JsonObject) =>
  scene.control.users.patch({ apiVersion: "v1", kind: "ConfigMap", namespace: "default", name }, change, {
    type: "merge",
  });
const patchWatch = (name: string, change: JsonObject) =>
  scene.control.users.patch({ ...kinds.watch, name }, change, { type: "merge" });
const operationsOf = async (name: string): Promise<readonly KubeObject[]> =>
  (await scene.list(kinds.operation)).filter(
    ({ metadata }) => metadata.labels?.["ops.crossplane.io/watchoperation"] === name,
  );
const count = (name: string, wanted: number) =>
  eventually(`${wanted} Operations of ${name}`, async () => (await operationsOf(name)).length === wanted);
const watching = (text: string) => (one: KubeObject) => condition(one, "Watching").startsWith(text);
/** Waits until a change made after everything else has had its effect. */
async function settled(name: string, label: string): Promise<void> {
  const before = (await operationsOf(name)).length;
  await scene.create(object(`${name}-settled-${before}`, label));
  await eventually("the last change", async () =>
    (await operationsOf(name)).some(
      ({ metadata }) =>
        metadata.annotations?.["ops.crossplane.io/watched-resource-name"] === `${name}-settled-${before}`,
    ),
  );
}

test("the name of an Operation is that of Crossplane", () => {
  const pod = (metadata: JsonObject): KubeObject =>
    ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "test-pod", namespace: "default", ...metadata },
    }) as KubeObject;
  assert.equal(operationName("w", pod({ uid: "test-uid", resourceVersion: "123" })), "w-2ae9bd3");
  assert.equal(operationName("w", pod({ uid: "test-uid", resourceVersion: "124" })), "w-a1051fc");
  const gone = { resourceVersion: "ops.crossplane.io/synthetic-deleted", deletionTimestamp: "2023-01-01T00:00:00Z" };
  assert.equal(operationName("w", pod(gone)), "w-ef68891");
});

test("existing objects trigger, a change triggers once more, a deletion too", async () => {
  await scene.create(object("a1", "a"));
  const second = await scene.create(object("a2", "a"));
  await scene.create(watch("a", "a"));
  await count("a", 2);
  const stored = await scene.until(kinds.watch, "a", watching("True WatchActive"));
  assert.equal(memberAt(stored, ["status", "watchingResources"]), 2);
  await edit("a1", { data: { x: "1" } });
  await count("a", 3);
  await scene.control.users.delete({ apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "a2" });
  await count("a", 4);
  const gone = (await operationsOf("a")).find(
    ({ metadata }) =>
      metadata.annotations?.["ops.crossplane.io/watched-resource-resourceversion"] ===
      "ops.crossplane.io/synthetic-deleted",
  );
  assert.equal(gone?.metadata.annotations?.["ops.crossplane.io/watched-resource-name"], second.metadata.name);
  const steps = memberAt(gone ?? {}, ["spec", "pipeline"]) as { requirements: { requiredResources: JsonObject[] } }[];
  assert.deepEqual(steps[0]?.requirements.requiredResources, [
    {
      requirementName: "ops.crossplane.io/watched-resource",
      apiVersion: "v1",
      kind: "ConfigMap",
      name: "a2",
      namespace: "default",
    },
  ]);
});

test("of many Operations that run at the same time 100 are listed, and a condition says so", async () => {
  const slow = gate((request) => respond(request, {}));
  scene.functions.set("slow", slow.run);
  const owner = await scene.create(watch("many", "many"));
  await scene.until(kinds.watch, "many", watching("True WatchActive"));
  const spec = pipeline("slow");
  for (let at = 0; at < 101; at += 1)
    await scene.create(operationOf(owner, { name: `many-${at}`, label: labels.watch, spec }));
  const full = await scene.until(kinds.watch, "many", (one) => condition(one, "Synced").includes("more than 100"));
  assert.equal(listed(full).length, 100);
  slow.release();
  await scene.until(kinds.watch, "many", (one) => condition(one, "Synced") === "True ReconcileSuccess");
});

test("an object that leaves the selector triggers nothing; an edited selector is in force at once", async () => {
  await scene.create(object("b1", "b"));
  await scene.create(object("b2", "other"));
  await scene.create(watch("b", "b"));
  await count("b", 1);
  await edit("b1", { metadata: { labels: { for: "nothing" } } });
  await settled("b", "b");
  assert.equal((await operationsOf("b")).length, 2);
  await patchWatch("b", { spec: { watch: { matchLabels: { for: "other" } } } });
  await count("b", 3);
});

test("a change while Forbid waits runs afterwards, with the newest state", async () => {
  const held = gate((request) => respond(request));
  scene.functions.set("slow", held.run);
  await scene.create(object("c1", "c"));
  await scene.create(watch("c", "c", { concurrencyPolicy: "Forbid", operationTemplate: { spec: pipeline("slow") } }));
  await held.called;
  await edit("c1", { data: { x: "1" } });
  const newest = await edit("c1", { data: { x: "2" } });
  assert.equal((await operationsOf("c")).length, 1);
  held.release();
  await count("c", 2);
  const versions = (await operationsOf("c")).map(
    ({ metadata }) => metadata.annotations?.["ops.crossplane.io/watched-resource-resourceversion"],
  );
  assert.ok(versions.includes(newest.metadata.resourceVersion));
});

test("a function that applies what the object has already triggers nothing", async () => {
  scene.functions.set("same", { resources: { a: object("d1", "d", { x: "1" }) as JsonObject } });
  await scene.create(object("d1", "d", { x: "1" }));
  await scene.create(watch("d", "d", { operationTemplate: { spec: pipeline("same") } }));
  await count("d", 1);
  await settled("d", "d");
  assert.equal((await operationsOf("d")).length, 2);
});

test("a cluster-scoped object has no namespace in annotations and requirement", async () => {
  const namespace = { apiVersion: "v1", kind: "Namespace" };
  await scene.create({ ...namespace, metadata: { name: "cluster-scoped", labels: { for: "cluster" } } });
  const kind = { ...namespace, matchLabels: { for: "cluster" }, namespace: "ignored" };
  await scene.create(watch("cluster", "cluster", { watch: kind }));
  await count("cluster", 1);
  const [operation] = await operationsOf("cluster");
  const prefix = "ops.crossplane.io/watched-resource";
  const { [`${prefix}-resourceversion`]: version, ...others } = operation?.metadata.annotations ?? {};
  assert.match(version ?? "", /^[0-9]+$/);
  assert.deepEqual(others, {
    [`${prefix}-apiversion`]: "v1",
    [`${prefix}-kind`]: "Namespace",
    [`${prefix}-name`]: "cluster-scoped",
  });
  assert.deepEqual(memberAt(operation ?? {}, ["spec", "pipeline"]), [
    {
      step: "f",
      functionRef: { name: "f" },
      requirements: { requiredResources: [{ requirementName: prefix, ...namespace, name: "cluster-scoped" }] },
    },
  ]);
});

const requiring = (requirementName: string): JsonObject => ({
  ...{ step: "f", functionRef: { name: "f" } },
  requirements: { requiredResources: [{ requirementName, apiVersion: "v1", kind: "Secret" }] },
});

test("the watched object comes after the requirements of a step", async () => {
  await scene.create(object("k1", "k"));
  await scene.create(watch("k", "k", { operationTemplate: { spec: pipeline(requiring("mine")) } }));
  await count("k", 1);
  const [operation] = await operationsOf("k");
  const steps = memberAt(operation ?? {}, ["spec", "pipeline"]) as {
    requirements: { requiredResources: { requirementName: string }[] };
  }[];
  assert.deepEqual(
    steps[0]?.requirements.requiredResources.map(({ requirementName }) => requirementName),
    ["mine", "ops.crossplane.io/watched-resource"],
  );
});

test("a step with a requirement of the reserved name is refused, with an event", async () => {
  await scene.create(object("l1", "l"));
  const spec = pipeline(requiring("ops.crossplane.io/watched-resource"));
  await scene.create(watch("l", "l", { operationTemplate: { spec } }));
  const failed = await scene.until(kinds.watch, "l", (one) => condition(one, "Synced").startsWith("False"));
  const text = 'Duplicate value: {"requirementName":"ops.crossplane.io/watched-resource"}';
  assert.ok(condition(failed, "Synced").includes(text), condition(failed, "Synced"));
  const events = scene.control.events.texts();
  assert.ok(
    events.some((one) => one.startsWith("Warning CreateOperation: cannot create Operation ") && one.includes(text)),
  );
  assert.deepEqual(await operationsOf("l"), []);
});

test("Replace keeps the Operation that runs for the same version of its object", async () => {
  const held = gate((request) => respond(request));
  scene.functions.set("held", held.run);
  await scene.create(object("m1", "m"));
  await scene.create(watch("m", "m", { concurrencyPolicy: "Replace", operationTemplate: { spec: pipeline("held") } }));
  await held.called;
  const [before] = await operationsOf("m");
  // Another filter and the first one again: the object is new to it, at the version for which an Operation runs.
  for (const [label, size] of [
    ["m-other", 0],
    ["m", 1],
  ] as const) {
    await patchWatch("m", { spec: { watch: { matchLabels: { for: label } } } });
    await scene.until(kinds.watch, "m", (one) => memberAt(one, ["status", "watchingResources"]) === size);
  }
  assert.deepEqual(
    (await operationsOf("m")).map(({ metadata }) => metadata.uid),
    [before?.metadata.uid],
  );
  held.release();
});

test("a WatchOperation does not trigger on Operations and events that exist because of it", async () => {
  const about = (name: string): KubeObject =>
    ({ ...kinds.operation, metadata: { name, labels: { for: "ops" } }, spec: pipeline("f") }) as KubeObject;
  const template = { metadata: { labels: { for: "ops" } }, spec: pipeline("f") };
  const kind = { ...kinds.operation, matchLabels: { for: "ops" } };
  const fields = { annotations: { "purlin.dev/watch-fields": "metadata.generation" } };
  for (const name of ["ops-a", "ops-b"]) {
    await scene.create(watch(name, "ops", { watch: kind, operationTemplate: template }, fields));
  }
  await scene.create(about("foreign"));
  for (const name of ["ops-a", "ops-b"]) await count(name, 1);
  await scene.create(about("another"));
  for (const name of ["ops-a", "ops-b"]) await count(name, 2);
  const event = (kindOf: string, name: string): KubeObject =>
    ({
      ...{ apiVersion: "v1", kind: "Event", metadata: { name: "e", namespace: "default" } },
      involvedObject: { apiVersion: kinds.watch.apiVersion, kind: kindOf, name },
    }) as KubeObject;
  const events = watch("ev", "x", { watch: { apiVersion: "v1", kind: "Event" } });
  assert.ok(!isWatched(events, event("Operation", "ev-0123456")));
  assert.ok(!isWatched(events, event("WatchOperation", "ev")));
  assert.ok(isWatched(events, event("Operation", "other-0123456")));
});

test("a pause keeps changes until it ends", async () => {
  await scene.create(object("e1", "e"));
  await scene.create(watch("e", "e"));
  await count("e", 1);
  await patchWatch("e", { metadata: { annotations: { "crossplane.io/paused": "true" } } });
  const paused = await scene.until(kinds.watch, "e", watching("False WatchPaused"));
  assert.match(condition(paused, "Synced"), /^False ReconcilePaused/);
  await edit("e1", { data: { x: "1" } });
  await edit("e1", { data: { x: "2" } });
  await patchWatch("e", { metadata: { annotations: { "crossplane.io/paused": null } } });
  await count("e", 2);
});

test("an update triggers only if a named field changes", async () => {
  await scene.create(object("g1", "g"));
  await scene.create(watch("g", "g", {}, { annotations: { "purlin.dev/watch-fields": "data.x, data.y" } }));
  await count("g", 1);
  await edit("g1", { data: { other: "1" } });
  await edit("g1", { data: { y: "1" } });
  await count("g", 2);
  await settled("g", "g");
  assert.equal((await operationsOf("g")).length, 3);
});

test("a restart creates nothing for objects that did not change", async () => {
  for (let index = 0; index < 5; index++) await scene.create(object(`h${index}`, "h"));
  await scene.create(watch("h", "h", { successfulHistoryLimit: 1 }));
  await scene.until(kinds.watch, "h", (one) => memberAt(one, ["status", "lastHandledResourceVersion"]) !== undefined);
  await eventually("the history", async () => (await operationsOf("h")).length === 1);
  const names = (await operationsOf("h")).map(({ metadata }) => metadata.name);
  // Another control plane takes over: it starts with empty memory.
  await scene.control.engine.stop("ops/watchoperation.ops.crossplane.io");
  await scene.control.run(createWatchController({ ...scene.deps, breakerLimits }));
  await settled("h", "h");
  const created = (await operationsOf("h")).filter(({ metadata }) => !names.includes(metadata.name));
  assert.equal(created.length, 1, "only the object that was created since");
});

test("a kind that is not served is a condition, and its definition ends it", async () => {
  const nope = { apiVersion: "nope.example.org/v1", kind: "Nope" };
  await scene.create(watch("nope", "x", { watch: nope }));
  const failed = await scene.until(kinds.watch, "nope", watching("False WatchFailed"));
  assert.match(
    condition(failed, "Watching"),
    /cannot start watched resource controller watches: cannot get informer for "nope.example.org\/v1, Kind=Nope": no matches for kind "Nope" in version "nope.example.org\/v1"/,
  );
  assert.ok(scene.control.events.texts().some((text) => text.startsWith("Warning EstablishWatched: ")));
  const version = { name: "v1", fields: {}, columns: [], hasStatus: false };
  await installCrds(scene.control.users, [
    createCrd({ group: "nope.example.org", kind: "Nope", plural: "nopes", versions: [version] }),
  ]);
  await scene.until(kinds.watch, "nope", watching("True WatchActive"));
});

test("Operations that change the watched object each time are limited", async () => {
  let runs = 0;
  scene.functions.set("loop", (request) =>
    respond(request, { resources: { a: object("loop1", "loop", { x: String(++runs) }) as JsonObject } }),
  );
  await scene.create(object("loop1", "loop"));
  await scene.create(watch("loop", "loop", { operationTemplate: { spec: pipeline("loop") } }));
  await eventually("the event", () =>
    scene.control.events.texts().some((text) => text.startsWith("Warning WatchCircuitOpen: ConfigMap ")),
  );
  const made = (await operationsOf("loop")).length;
  assert.ok(made <= 12, `${made} Operations`);
  assert.equal(condition(await scene.until(kinds.watch, "loop", () => true), "Watching"), "True WatchActive");
});

test("a name that is too long for a label is a condition", async () => {
  const name = "w".repeat(64);
  await scene.create(watch(name, "long"));
  const failed = await scene.until(kinds.watch, name, watching("False WatchFailed"));
  assert.match(condition(failed, "Watching"), /metadata.name must have no more than 63 characters/);
});

test("the kind of a WatchOperation cannot be edited", async () => {
  await assert.rejects(patchWatch("a", { spec: { watch: { kind: "Secret" } } }), /kind is immutable/);
});

test("a deleted WatchOperation is gone, and creates nothing more", async () => {
  await scene.control.users.delete({ ...kinds.watch, name: "a" });
  await eventually("the end", async () => (await scene.get(kinds.watch, "a")) === undefined);
});
