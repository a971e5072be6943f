// SPDX-License-Identifier: Apache-2.0
// Scheduling and running of Pods in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { nodeName } from "../node.ts";
import { podController } from "./pod-controller.ts";

interface Bound {
  readonly world: World;
  /** Paths and bodies of the requests that bind Pods. */
  readonly bindings: readonly JsonObject[];
}

function worldWith(node: JsonObject = {}): Bound {
  const world = new World();
  const bindings: JsonObject[] = [];
  world.put(kinds.node, nodeName, { metadata: { namespace: null, labels: { zone: "a" } }, spec: {}, ...node });
  const raw = async ({ path, body }: { path: string; body: JsonObject }): Promise<JsonObject> => {
    bindings.push({ path, target: body["target"] ?? null });
    const [, name = ""] = /pods\/(.*)\/binding$/.exec(path) ?? [];
    world.change(kinds.pod, name, { spec: { nodeName } });
    return {};
  };
  Object.assign(world.deps.kube, { raw });
  return { world, bindings };
}

const addPod = (world: World, name: string, spec: JsonObject = {}, metadata: JsonObject = {}): KubeObject =>
  world.put(kinds.pod, name, { metadata, spec: { containers: [{ name: "main", image: "nginx" }], ...spec } });
const step = (world: World, name = "p") => world.reconcile(podController, name);
const scheduled = (world: World) => conditionsOf(world.get(kinds.pod, "p")).find(({ type }) => type === "PodScheduled");

test("a Pod is bound to the node, and then runs", async () => {
  const { world, bindings } = worldWith();
  addPod(world, "p");
  await step(world);
  assert.deepEqual(bindings, [
    { path: "/api/v1/namespaces/default/pods/p/binding", target: { kind: "Node", name: nodeName } },
  ]);
  assert.deepEqual(world.takeEvents(), [`Scheduled: Successfully assigned default/p to ${nodeName}`]);
  await step(world);
  assert.equal(stringAt(world.get(kinds.pod, "p"), ["status", "phase"]), "Running");
  assert.equal(stringAt(world.get(kinds.pod, "p"), ["status", "podIP"]), "10.244.0.10");
  world.takeWrites();
  assert.deepEqual(await step(world), {});
  assert.deepEqual(world.takeWrites(), []);
});

const annotated = (annotations: JsonObject): JsonObject => ({ annotations });
const invalidAnnotations: Readonly<Record<string, readonly [annotations: JsonObject, events: readonly string[]]>> = {
  "an outcome that does not exist": [
    { "simulation.purlin.dev/outcome": "CrashLoop" },
    [
      'annotation simulation.purlin.dev/outcome is ignored: expected Running, ImagePullBackOff, CrashLoopBackOff, OOMKilled, Pending or exit N, got "CrashLoop"',
    ],
  ],
  "a duration without a unit": [
    { "simulation.purlin.dev/ready-after": "5", "simulation.purlin.dev/outcome-after": "1m30s" },
    ['annotation simulation.purlin.dev/ready-after is ignored: expected a duration such as 5s, got "5"'],
  ],
  "another name": [
    { "simulation.purlin.dev/constructor": "x" },
    ["unknown annotation simulation.purlin.dev/constructor: expected ready-after, outcome, outcome-after, containers"],
  ],
  none: [{ "simulation.purlin.dev/outcome": "exit 3", "simulation.purlin.dev/containers": "main" }, []],
};

for (const [name, [annotations, problems]] of Object.entries(invalidAnnotations)) {
  test(`an event reports annotations that have no effect: ${name}`, async () => {
    const { world } = worldWith();
    addPod(world, "p", {}, annotated(annotations));
    await step(world);
    const [, ...events] = world.takeEvents();
    assert.deepEqual(
      events,
      problems.map((problem) => `InvalidSimulation: ${problem}`),
    );
  });
}

test("of many annotations that have no effect only the first are reported", async () => {
  const { world } = worldWith();
  const names = Array.from({ length: 50 }, (_, index) => [`simulation.purlin.dev/x${index}`, "y"]);
  addPod(world, "p", {}, annotated(Object.fromEntries(names)));
  await step(world);
  assert.equal(world.takeEvents().length, 6);
});

const message = (why: string): string =>
  `0/1 nodes are available: ${why}. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`;

test("a node that lacks a label is not taken", async () => {
  const { world, bindings } = worldWith();
  addPod(world, "p", { nodeSelector: { zone: "b" } });
  await step(world);
  assert.deepEqual(bindings, []);
  const expected = message("1 node(s) didn't match Pod's node affinity/selector");
  assert.equal(scheduled(world)?.message, expected);
  assert.equal(scheduled(world)?.reason, "Unschedulable");
  assert.deepEqual(world.takeEvents(), [`FailedScheduling: ${expected}`]);
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeEvents(), [], "the same obstacle is reported once");
  assert.deepEqual(world.takeWrites(), []);
});

test("a node that is cordoned takes only Pods that tolerate it", async () => {
  const { world, bindings } = worldWith({ spec: { unschedulable: true } });
  addPod(world, "p");
  await step(world);
  assert.equal(scheduled(world)?.message, message("1 node(s) were unschedulable"));
  addPod(world, "daemon", { tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists" }] });
  addPod(world, "any", { tolerations: [{ operator: "Exists" }] });
  addPod(world, "other", { tolerations: [{ key: "other", operator: "Exists" }] });
  for (const name of ["daemon", "any", "other"]) await step(world, name);
  assert.equal(bindings.length, 2);
});

test("a Pod with scheduling gates waits without a word", async () => {
  const { world, bindings } = worldWith();
  addPod(world, "p", { schedulingGates: [{ name: "g" }] });
  await step(world);
  assert.deepEqual([bindings, world.takeEvents(), world.takeWrites()], [[], [], []]);
});

test("a Pod of another node is left alone", async () => {
  const { world } = worldWith();
  addPod(world, "p", { nodeName: "real-node" });
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});

test("a Pod that ended or is being deleted is left alone", async () => {
  const { world } = worldWith();
  addPod(world, "p", { nodeName }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  world.put(kinds.pod, "done", { spec: { nodeName }, status: { phase: "Succeeded" } });
  await step(world);
  await step(world, "done");
  assert.deepEqual(world.takeWrites(), []);
});

test("Pods have addresses that no other Pod has", async () => {
  const { world } = worldWith();
  const controller = podController(world.deps);
  world.put(kinds.pod, "old", { spec: { nodeName }, status: { phase: "Running", podIP: "10.244.0.11" } });
  const names = ["a", "b", "c"];
  for (const name of names) {
    addPod(world, name, { nodeName });
    await controller.spec.reconcile({ name, namespace: "default" }, new AbortController().signal);
  }
  const addresses = names.map((name) => stringAt(world.get(kinds.pod, name), ["status", "podIP"]));
  assert.deepEqual(addresses, ["10.244.0.10", "10.244.0.12", "10.244.0.13"]);
});

test("a Pod that changes later is reconciled then", async () => {
  const { world } = worldWith();
  addPod(world, "p", { nodeName }, { annotations: { "simulation.purlin.dev/ready-after": "5s" } });
  assert.deepEqual(await step(world), { requeueAfterMs: 5000 });
  world.now += 5000;
  assert.deepEqual(await step(world), {});
  assert.equal(conditionsOf(world.get(kinds.pod, "p")).find(({ type }) => type === "Ready")?.status, "True");
});

test("the containers of a Pod that is gone and ran are reported as stopped", () => {
  const { world } = worldWith();
  const [own] = podController(world.deps).watches;
  const status = {
    containerStatuses: [
      { name: "a", state: { running: {} } },
      { name: "b", state: { waiting: {} } },
    ],
  };
  const gone = { ...addPod(world, "p", { nodeName }), status } as KubeObject;
  assert.deepEqual(own?.keys({ type: "deleted", object: gone } as never), []);
  assert.deepEqual(world.takeEvents(), ["Killing: Stopping container a"]);
});
