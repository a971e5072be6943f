// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@purlin/base";
import { ShadowStore } from "@purlin/function-runner";
import { annotationOf, type KubeObject, numberAt, objectAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { functionRevision, memoryCluster, rolloutOf } from "../test/memory-cluster.ts";

const withheld = "pkg.crossplane.io/withheld";
const steps = [{ percent: 50, minDuration: "1h" }, { percent: 100 }];
const named = (name: string) => ({ functionRevisionRef: { name } });

test("of two rollouts of one Function that are looked at at the same time one starts", async () => {
  const cluster = memoryCluster(4);
  const reconcile = cluster.controller();
  // The second one is created while the first one is looked at, and wins a tie by its name: each could take itself for the first.
  const later = Promise.withResolvers<void>();
  let isLater = false;
  cluster.onList = (kind) => {
    if (kind !== "CompositeResourceDefinition" || isLater) return;
    isLater = true;
    cluster.put(rolloutOf("a", { candidate: named("f-2"), steps }));
    void reconcile("a").then(() => later.resolve(), later.reject);
  };
  cluster.put(rolloutOf("b", { candidate: named("f-2"), steps }));
  await Promise.all([reconcile("b"), later.promise]);
  for (let turn = 0; turn < 3; turn++) await Promise.all([reconcile("a"), reconcile("b")]);
  const phases = ["a", "b"].map((name) => stringAt(cluster.get("FunctionRollout", name) ?? {}, ["status", "phase"]));
  assert.deepEqual(phases.toSorted(), ["Pending", "Progressing"]);
});

test("a rollout that cannot start as it is does not keep another one of the Function waiting", async () => {
  const cluster = memoryCluster(4);
  const reconcile = cluster.controller();
  const window = { schedule: "61 * * * *", duration: "1h" };
  cluster.put(rolloutOf("a", { candidate: named("f-2"), steps, window }));
  cluster.put(rolloutOf("b", { candidate: named("f-2"), steps }));
  for (const name of ["a", "b", "a", "b"]) await reconcile(name);
  const statusOf = (name: string, field: string): string =>
    stringAt(cluster.get("FunctionRollout", name) ?? {}, ["status", field]);
  assert.deepEqual([statusOf("a", "phase"), statusOf("b", "phase")], ["Pending", "Progressing"]);
  const broken = cluster.get("FunctionRollout", "a");
  assert.ok(broken !== undefined);
  const { window: _, ...mended } = objectAt(broken, ["spec"]);
  cluster.put({ ...broken, spec: mended });
  for (const name of ["a", "b", "a", "b"]) await reconcile(name);
  assert.deepEqual([statusOf("a", "phase"), statusOf("b", "phase")], ["Pending", "Progressing"]);
  const [progressing] = objectsAt(cluster.get("FunctionRollout", "a") ?? {}, ["status", "conditions"]).filter(
    (one) => one["type"] === "Progressing",
  );
  assert.match(
    stringAt(progressing ?? {}, ["message"]),
    /^FunctionRollout "b" came first for a Function of this rollout/,
  );
});

test("a rollout that succeeded does not release a revision that another one withholds", async () => {
  const cluster = memoryCluster(2);
  const reconcile = cluster.controller();
  const status = {
    phase: "Succeeded",
    startedAt: "2026-01-01T00:00:00Z",
    functions: [{ name: "f", stableRevision: "f-1", candidateRevision: "f-2" }],
    membership: { threshold: 10_000, shadowThreshold: 0, cohorts: [] },
  };
  cluster.put({ ...rolloutOf("old", { steps }), status });
  cluster.put(functionRevision(3));
  // Back to the second revision after a third one.
  cluster.put(rolloutOf("new", { stable: named("f-3"), candidate: named("f-2"), steps }));
  await reconcile("new");
  for (let turn = 0; turn < 3; turn++) {
    await reconcile("old");
    await reconcile("new");
  }
  const marks = cluster.writes.filter((one) => one === "FunctionRevision/f-2");
  assert.deepEqual(marks, ["FunctionRevision/f-2"], "the revision is marked once");
  const revision = cluster.get("FunctionRevision", "f-2");
  assert.equal(revision && annotationOf(revision, withheld), "new");
});

test("a rollout that has ended costs nothing and keeps its numbers; its composite resources are woken when it is deleted", async () => {
  const cluster = memoryCluster(3);
  const reconcile = cluster.controller();
  const status = {
    phase: "RolledBack",
    startedAt: "2026-01-01T00:00:00Z",
    functions: [{ name: "f", stableRevision: "f-2", candidateRevision: "f-1" }],
    membership: { threshold: 0, shadowThreshold: 0, cohorts: [] },
    composites: { total: 40, candidate: 0, moved: 0, healthy: 0, unhealthy: 0 },
  };
  cluster.put({ ...rolloutOf("old", { steps }), status });
  await reconcile("old");
  cluster.writes.length = 0;
  await reconcile("old");
  assert.equal(cluster.lists.get("App"), undefined);
  assert.deepEqual(cluster.writes, []);
  const kept = cluster.get("FunctionRollout", "old") ?? {};
  assert.equal(numberAt(kept, ["status", "composites", "total"]), 40);
  cluster.remove("FunctionRollout", "old");
  await reconcile("old");
  assert.deepEqual(cluster.woken, ["app-0", "app-1", "app-2"], "they are on the candidate, and resolve again");
});

test("a gate does not take a revision that does not exist for a healthy one", async () => {
  const cluster = memoryCluster(2);
  const reconcile = cluster.controller();
  cluster.put(rolloutOf("r", { candidate: named("f-2"), steps, healthGates: [{ type: "RuntimeHealthy" }] }));
  await reconcile("r");
  const rollout = cluster.get("FunctionRollout", "r");
  assert.ok(rollout);
  cluster.put({ ...rollout, spec: { ...(rollout["spec"] as object), paused: true } } as typeof rollout);
  await reconcile("r");
  cluster.remove("FunctionRevision", "f-2");
  await reconcile("r");
  const paused = cluster.get("FunctionRollout", "r") as { status?: { gates?: readonly { result: string }[] } };
  assert.deepEqual(
    paused.status?.gates?.map(({ result }) => result),
    ["Unknown"],
  );
});

test("an outage counts from the first look of a process, by a clock that never jumps", async () => {
  const cluster = memoryCluster(2);
  let [wall, steady] = [Date.parse("2026-03-01T00:00:00Z"), 0];
  const clock = { now: () => wall, schedule: systemClock.schedule };
  const start = () => cluster.controller({ clock, monotonic: () => steady });
  const result = async (look: (rollout: string) => Promise<unknown>): Promise<string> => {
    await look("r");
    const rollout = cluster.get("FunctionRollout", "r") ?? {};
    return `${stringAt(rollout, ["status", "phase"])} ${stringAt(objectsAt(rollout, ["status", "gates"])[0] ?? {}, ["result"])}`;
  };
  cluster.put(rolloutOf("r", { candidate: named("f-2"), steps, healthGates: [{ type: "RuntimeHealthy" }] }));
  let look = start();
  await look("r");
  const { status, ...revision } = cluster.get("FunctionRevision", "f-2") as KubeObject & { status: object };
  const condition = { type: "RuntimeHealthy", status: "False", lastTransitionTime: "2026-03-01T00:00:00Z" };
  cluster.put({ ...revision, status: { ...status, conditions: [condition] } } as KubeObject);
  assert.equal(await result(look), "Progressing Unknown");
  wall += 3_600_000;
  assert.equal(await result(look), "Progressing Unknown", "the wall clock has jumped");
  look = start();
  assert.equal(await result(look), "Progressing Unknown", "another process gives functions time to start");
  steady += 29_000;
  assert.equal(await result(look), "Progressing Unknown");
  const again = { ...condition, lastTransitionTime: "2026-03-01T01:00:29Z" };
  cluster.put({ ...revision, status: { ...status, conditions: [again] } } as KubeObject);
  steady += 1000;
  assert.equal(await result(look), "Progressing Unknown", "it was healthy in between");
  steady += 30_000;
  assert.equal(await result(look), "RollingBack Failed");
});

test("a rollout of a Composition stops when one of its revisions is deleted", async () => {
  const cluster = memoryCluster(2);
  const reconcile = cluster.controller();
  const revision = (name: string) => ({ compositionRevisionRef: { name } });
  const sides = { stable: revision("apps-1"), candidate: revision("apps-2") };
  const spec = { compositionRef: { name: "apps" }, ...sides, steps };
  cluster.put(rolloutOf("r", spec));
  await reconcile("r");
  await reconcile("r");
  assert.equal(stringAt(cluster.get("FunctionRollout", "r") ?? {}, ["status", "phase"]), "Progressing");
  cluster.remove("CompositionRevision", "apps-2");
  await reconcile("r");
  const status = cluster.get("FunctionRollout", "r") ?? {};
  assert.equal(stringAt(status, ["status", "phase"]), "RollingBack");
});

test("reports of composite resources and rollouts that are gone are dropped", async () => {
  const cluster = memoryCluster(2);
  const shadow = new ShadowStore();
  const reconcile = cluster.controller({ shadow });
  const found = (uid: string, step = "s"): Parameters<ShadowStore["add"]>[1] => ({
    composite: { apiVersion: "example.org/v1", kind: "App", name: uid, uid },
    step,
    class: "delete",
    at: "2026-01-01T00:00:00Z",
    durationMs: 1,
    stableMs: 1,
    resources: [],
    differing: 1,
  });
  cluster.put(rolloutOf("r", { candidate: named("f-2"), steps: [{ shadow: true }, { percent: 100 }] }));
  for (const uid of ["uid-app-0", "uid-app-1", "uid-gone"]) shadow.add("uid-r", found(uid));
  shadow.add("uid-of-another-rollout", found("uid-app-0"));
  await reconcile("r");
  assert.deepEqual([shadow.report("uid-r").total, shadow.report("uid-r").classes.delete], [2, 2]);
  assert.equal(shadow.report("uid-of-another-rollout").total, 0);
});
