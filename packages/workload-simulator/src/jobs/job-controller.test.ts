// SPDX-License-Identifier: Apache-2.0
// Jobs over Pods in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, conditionTime, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { jobController } from "./job-controller.ts";
import { trackingFinalizer } from "./job-status.ts";

const labels = { "batch.kubernetes.io/job-name": "j" };

function worldWith(spec: JsonObject = {}): World {
  const world = new World();
  const template = {
    metadata: { labels },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image: "x" }] },
  };
  const base = { parallelism: 1, completions: 1, backoffLimit: 6, selector: { matchLabels: labels }, template };
  world.put(kinds.job, "j", { spec: { ...base, ...spec } });
  return world;
}

const step = (world: World) => world.reconcile(jobController, "j");
const job = (world: World): KubeObject => world.get(kinds.job, "j");
const statusOf = (world: World): JsonObject => job(world)["status"] as JsonObject;
const running = (world: World): readonly KubeObject[] =>
  world
    .list(kinds.pod)
    .filter((pod) => !["Succeeded", "Failed"].includes(String((pod["status"] as JsonObject | undefined)?.["phase"])));
const types = (world: World): readonly string[] => conditionsOf(job(world)).map(({ type }) => type);

/** Ends Pods that run. */
function end(world: World, phase: "Succeeded" | "Failed", pods = running(world)): void {
  const finishedAt = conditionTime(world.now);
  for (const { metadata } of pods) {
    const containerStatuses = [{ state: { terminated: { exitCode: 0, finishedAt } } }];
    world.change(kinds.pod, metadata.name ?? "", { status: { phase, containerStatuses } });
  }
}

/** Reconciles until nothing changes. */
async function settle(world: World): Promise<void> {
  for (let round = 0; round < 20; round++) {
    world.takeWrites();
    const { requeueAfterMs } = await step(world);
    if (requeueAfterMs !== 1 && world.takeWrites().length === 0) return;
  }
  assert.fail("the Job never settles");
}

test("a Job starts its Pod with the finalizer that keeps it until it is counted", async () => {
  const world = worldWith();
  await step(world);
  const [pod] = world.list(kinds.pod);
  assert.deepEqual(pod?.metadata.finalizers, [trackingFinalizer]);
  assert.equal(statusOf(world)["startTime"], "2026-01-01T00:00:00Z");
  assert.equal(statusOf(world)["active"], 1);
  assert.deepEqual(world.takeEvents(), [`SuccessfulCreate: Created pod: ${pod?.metadata.name}`]);
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});

test("a Job whose Pod succeeds is complete", async () => {
  const world = worldWith();
  await step(world);
  end(world, "Succeeded");
  world.now += 5000;
  await settle(world);
  assert.deepEqual(types(world), ["SuccessCriteriaMet", "Complete"]);
  const { conditions: _conditions, ...counters } = statusOf(world);
  assert.deepEqual(counters, {
    startTime: "2026-01-01T00:00:00Z",
    completionTime: "2026-01-01T00:00:05Z",
    succeeded: 1,
    terminating: 0,
    ready: 0,
    uncountedTerminatedPods: {},
  });
  assert.deepEqual(world.list(kinds.pod)[0]?.metadata.finalizers ?? [], []);
  assert.equal(world.takeEvents().at(-1), "Completed: Job completed");
});

test("no more Pods run at once than the parallelism allows, and none more than are left", async () => {
  const world = worldWith({ parallelism: 3, completions: 5 });
  await step(world);
  assert.equal(running(world).length, 3);
  end(world, "Succeeded");
  await settle(world);
  assert.equal(running(world).length, 2);
  end(world, "Succeeded");
  await settle(world);
  assert.equal(statusOf(world)["succeeded"], 5);
  assert.deepEqual(types(world), ["SuccessCriteriaMet", "Complete"]);
});

test("without completions, one success is enough once no Pod runs", async () => {
  const world = worldWith({ parallelism: 2, completions: null });
  await step(world);
  assert.equal(running(world).length, 2);
  end(world, "Succeeded", running(world).slice(0, 1));
  await settle(world);
  assert.deepEqual(types(world), []);
  assert.equal(running(world).length, 1, "no Pod is started after the first success");
  end(world, "Succeeded");
  await settle(world);
  assert.deepEqual(types(world), ["SuccessCriteriaMet", "Complete"]);
});

test("a Pod that fails is replaced after a pause that doubles", async () => {
  const world = worldWith();
  await settle(world);
  for (const seconds of [10, 20, 40]) {
    end(world, "Failed");
    await settle(world);
    assert.equal(running(world).length, 0);
    assert.deepEqual(await step(world), { requeueAfterMs: seconds * 1000 });
    world.now += seconds * 1000;
    await settle(world);
    assert.equal(running(world).length, 1, `a Pod runs after ${seconds} s`);
  }
  assert.equal(statusOf(world)["failed"], 3);
});

test("a Job fails when more Pods failed than the backoff limit allows", async () => {
  const world = worldWith({ backoffLimit: 1 });
  for (let round = 0; round < 2; round++) {
    world.now += 60_000;
    await settle(world);
    end(world, "Failed");
  }
  await settle(world);
  assert.deepEqual(types(world), ["FailureTarget", "Failed"]);
  assert.equal(world.takeEvents().at(-1), "BackoffLimitExceeded: Job has reached the specified backoff limit");
  assert.equal(statusOf(world)["completionTime"], undefined);
});

test("restarts of containers count against the backoff limit if they are restarted on failure", async () => {
  const template = { metadata: { labels }, spec: { restartPolicy: "OnFailure", containers: [] } };
  const world = worldWith({ backoffLimit: 2, template });
  await settle(world);
  const name = running(world)[0]?.metadata.name ?? "";
  world.change(kinds.pod, name, { status: { phase: "Running", containerStatuses: [{ restartCount: 2 }] } });
  await settle(world);
  assert.equal(running(world).length, 1);
  world.change(kinds.pod, name, { status: { phase: "Running", containerStatuses: [{ restartCount: 3 }] } });
  await settle(world);
  assert.match(world.takeEvents().join("\n"), /Deleted pod: /);
});

test("a Job that is active for too long fails, and its Pods are deleted", async () => {
  const world = worldWith({ activeDeadlineSeconds: 30 });
  assert.deepEqual(await step(world), { requeueAfterMs: 30_000 });
  world.now += 30_000;
  await settle(world);
  assert.deepEqual(types(world), ["FailureTarget", "Failed"]);
  assert.equal(world.takeEvents().at(-1), "DeadlineExceeded: Job was active longer than specified deadline");
});

test("a suspended Job has no Pods and no start time, and continues when it is resumed", async () => {
  const world = worldWith({ suspend: true });
  await settle(world);
  assert.deepEqual(world.list(kinds.pod), []);
  assert.equal(statusOf(world)["startTime"], undefined);
  assert.deepEqual(world.takeEvents(), ["Suspended: Job suspended"]);
  world.change(kinds.job, "j", { spec: { suspend: false } });
  await settle(world);
  assert.equal(running(world).length, 1);
  assert.equal(world.takeEvents().at(-1), "Resumed: Job resumed");
  const [condition] = conditionsOf(job(world));
  assert.deepEqual([condition?.type, condition?.status, condition?.reason], ["Suspended", "False", "JobResumed"]);
  world.change(kinds.job, "j", { spec: { suspend: true } });
  await settle(world);
  assert.deepEqual(running(world), []);
  assert.equal(statusOf(world)["failed"], undefined, "Pods of a suspended Job have not failed");
});

test("each Pod of an indexed Job has an index, and each index is done once", async () => {
  const world = worldWith({ completionMode: "Indexed", parallelism: 2, completions: 3 });
  await settle(world);
  const index = ({ metadata }: KubeObject): string | undefined =>
    metadata.annotations?.["batch.kubernetes.io/job-completion-index"];
  assert.deepEqual(running(world).map(index), ["0", "1"]);
  const [first, second] = running(world);
  assert.equal(first && stringAt(first, ["spec", "hostname"]), "j-0");
  assert.equal(first?.metadata.labels?.["batch.kubernetes.io/job-completion-index"], "0");
  end(world, "Succeeded", second ? [second] : []);
  await settle(world);
  assert.deepEqual(running(world).map(index), ["0", "2"]);
  assert.equal(statusOf(world)["completedIndexes"], "1");
  end(world, "Succeeded");
  await settle(world);
  assert.equal(statusOf(world)["completedIndexes"], "0-2");
  assert.deepEqual(types(world), ["SuccessCriteriaMet", "Complete"]);
});

test("a smaller parallelism deletes Pods that do not count as failed", async () => {
  const world = worldWith({ parallelism: 3, completions: 3 });
  await settle(world);
  world.change(kinds.job, "j", { spec: { parallelism: 1 } });
  await settle(world);
  assert.equal(running(world).length, 1);
  assert.equal(statusOf(world)["failed"], undefined);
});

test("a Job that ended is deleted after its time to live", async () => {
  const world = worldWith({ ttlSecondsAfterFinished: 100 });
  await settle(world);
  end(world, "Succeeded");
  await settle(world);
  assert.deepEqual(await step(world), { requeueAfterMs: 100_000 });
  world.now += 100_000;
  await step(world);
  assert.deepEqual(world.list(kinds.job), []);
});
