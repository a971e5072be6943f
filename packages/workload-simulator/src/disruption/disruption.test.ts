// SPDX-License-Identifier: Apache-2.0
// PodDisruptionBudgets over Pods in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, conditionTime, controllerReference } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { disruptionController } from "./budgets.ts";

const selector = { matchLabels: { app: "web" } };

/** A budget and a ReplicaSet of some replicas, of which the first Pods are healthy. */
function worldWith(budget: JsonObject, replicas: number, healthy: number): World {
  const world = new World();
  world.put(kinds.disruptionBudget, "b", { spec: { selector, ...budget } });
  const set = world.put(kinds.replicaSet, "web", { spec: { replicas } });
  for (let index = 0; index < replicas; index++) {
    const status = index < healthy ? "True" : "False";
    const conditions = [{ type: "Ready", status, lastTransitionTime: "2026-01-01T00:00:00Z", reason: "" }];
    const ownerReferences = [controllerReference(set) as never];
    world.put(kinds.pod, `p${index}`, {
      metadata: { labels: { app: "web" }, ownerReferences },
      status: { phase: "Running", conditions },
    });
  }
  return world;
}

const step = (world: World) => world.reconcile(disruptionController, "b");
const statusOf = (world: World): JsonObject => world.get(kinds.disruptionBudget, "b")["status"] as JsonObject;

interface Row {
  readonly why: string;
  readonly budget: JsonObject;
  readonly replicas: number;
  readonly healthy: number;
  readonly desired: number;
  readonly allowed: number;
}

const rows: readonly Row[] = [
  { why: "a least number", budget: { minAvailable: 2 }, replicas: 3, healthy: 3, desired: 2, allowed: 1 },
  {
    why: "a least number that is not reached",
    budget: { minAvailable: 3 },
    replicas: 3,
    healthy: 2,
    desired: 3,
    allowed: 0,
  },
  {
    why: "a least share is rounded up",
    budget: { minAvailable: "50%" },
    replicas: 3,
    healthy: 3,
    desired: 2,
    allowed: 1,
  },
  { why: "a largest number", budget: { maxUnavailable: 1 }, replicas: 3, healthy: 3, desired: 2, allowed: 1 },
  {
    why: "a largest number that is reached",
    budget: { maxUnavailable: 1 },
    replicas: 3,
    healthy: 2,
    desired: 2,
    allowed: 0,
  },
  {
    why: "a largest share is rounded up",
    budget: { maxUnavailable: "30%" },
    replicas: 3,
    healthy: 3,
    desired: 2,
    allowed: 1,
  },
  {
    why: "more may lack than there are",
    budget: { maxUnavailable: 5 },
    replicas: 3,
    healthy: 1,
    desired: 0,
    allowed: 1,
  },
  { why: "no Pod may lack", budget: { maxUnavailable: 0 }, replicas: 2, healthy: 2, desired: 2, allowed: 0 },
];

for (const { why, budget, replicas, healthy, desired, allowed } of rows) {
  test(`disruptions: ${why}`, async () => {
    const world = worldWith(budget, replicas, healthy);
    await step(world);
    const { conditions: _conditions, ...counts } = statusOf(world);
    assert.deepEqual(counts, {
      observedGeneration: 1,
      disruptionsAllowed: allowed,
      currentHealthy: healthy,
      desiredHealthy: desired,
      expectedPods: replicas,
    });
    const [condition] = conditionsOf(world.get(kinds.disruptionBudget, "b"));
    assert.equal(condition?.status, allowed > 0 ? "True" : "False");
    assert.equal(condition?.reason, allowed > 0 ? "SufficientPods" : "InsufficientPods");
    world.takeWrites();
    await step(world);
    assert.deepEqual(world.takeWrites(), []);
  });
}

test("a share is that of the Deployment above a ReplicaSet", async () => {
  const world = worldWith({ minAvailable: "50%" }, 2, 2);
  const deployment = world.put(kinds.deployment, "web", { spec: { replicas: 10 } });
  world.change(kinds.replicaSet, "web", { metadata: { ownerReferences: [controllerReference(deployment) as never] } });
  await step(world);
  assert.equal(statusOf(world)["expectedPods"], 10);
  assert.equal(statusOf(world)["desiredHealthy"], 5);
});

test("a budget without Pods allows nothing and says so", async () => {
  const world = worldWith({ minAvailable: 0 }, 0, 0);
  await step(world);
  assert.equal(statusOf(world)["disruptionsAllowed"], 0);
  assert.deepEqual(world.takeEvents(), ["NoPods: No matching pods found"]);
});

test("Pods without a controller count for a least number only", async () => {
  const world = worldWith({ maxUnavailable: 1 }, 1, 1);
  world.put(kinds.pod, "own", { metadata: { labels: { app: "web" } }, status: { phase: "Running" } });
  await step(world);
  assert.deepEqual(world.takeEvents(), [
    'UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: app=web) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
  ]);
  assert.equal(statusOf(world)["expectedPods"], 1);
});

test("a controller without a size is an error", async () => {
  const world = worldWith({ maxUnavailable: 1 }, 0, 0);
  const job = world.put(kinds.job, "j", {});
  world.put(kinds.pod, "p", {
    metadata: { labels: { app: "web" }, ownerReferences: [controllerReference(job) as never] },
  });
  await step(world);
  assert.deepEqual(world.takeEvents(), [
    "CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: jobs.batch does not implement the scale subresource",
  ]);
  const [condition] = conditionsOf(world.get(kinds.disruptionBudget, "b"));
  assert.deepEqual([condition?.status, condition?.reason], ["False", "SyncFailed"]);
  assert.equal(statusOf(world)["disruptionsAllowed"], 0);
});

test("a Pod whose eviction was allowed is not healthy until two minutes later", async () => {
  const world = worldWith({ minAvailable: 1 }, 3, 3);
  await step(world);
  world.change(kinds.disruptionBudget, "b", {
    status: { disruptedPods: { p0: conditionTime(world.now), gone: conditionTime(world.now) } },
  });
  assert.deepEqual(await step(world), { requeueAfterMs: 120_000 });
  assert.equal(statusOf(world)["currentHealthy"], 2);
  assert.deepEqual(statusOf(world)["disruptedPods"], { p0: conditionTime(world.now) });
  world.now += 120_000;
  assert.deepEqual(await step(world), {});
  assert.equal(statusOf(world)["currentHealthy"], 3);
  assert.equal(statusOf(world)["disruptedPods"], undefined);
});

test("a Pod with a name that every JavaScript object has as a member is healthy, and can be evicted", async () => {
  const world = worldWith({ minAvailable: 1 }, 1, 1);
  const { metadata, status } = world.get(kinds.pod, "p0");
  const { labels, ownerReferences } = metadata;
  world.put(kinds.pod, "constructor", { metadata: { labels, ownerReferences } as never, status: status as never });
  await step(world);
  assert.equal(statusOf(world)["currentHealthy"], 2);
  const disruptedPods = { constructor: conditionTime(world.now) };
  world.change(kinds.disruptionBudget, "b", { status: { disruptedPods } });
  await step(world);
  assert.equal(statusOf(world)["currentHealthy"], 1);
  assert.deepEqual(statusOf(world)["disruptedPods"], disruptedPods);
});

test("the condition keeps the time at which its status changed", async () => {
  const world = worldWith({ minAvailable: 1 }, 2, 2);
  await step(world);
  const time = (): string | undefined => conditionsOf(world.get(kinds.disruptionBudget, "b"))[0]?.lastTransitionTime;
  const before = time();
  world.now += 60_000;
  world.change(kinds.disruptionBudget, "b", { spec: { minAvailable: 0 } });
  await step(world);
  assert.equal(time(), before);
  world.change(kinds.disruptionBudget, "b", { spec: { minAvailable: 2 } });
  await step(world);
  assert.equal(time(), "2026-01-01T00:01:00Z");
});
