// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers over a target in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, numberAt } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { autoscalerController } from "./autoscalers.ts";

interface Target {
  /** The size; undefined when the target cannot be read. */
  replicas: number | undefined;
}

function worldWith(spec: JsonObject, target: Target): World {
  const world = new World();
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  world.put(kinds.autoscaler, "hpa", { spec: { scaleTargetRef, maxReplicas: 5, ...spec } });
  const raw = async ({ method, body }: { method: string; body?: JsonObject }): Promise<JsonObject> => {
    if (target.replicas === undefined) throw new Error('deployments.apps "web" not found');
    if (method === "PUT") target.replicas = numberAt(body ?? {}, ["spec", "replicas"]);
    return { spec: { replicas: target.replicas } };
  };
  const mapper = { mapping: async () => ({ apiVersion: "apps/v1", resource: "deployments", namespaced: true }) };
  Object.assign(world.deps.kube, { raw, mapper });
  return world;
}

const step = (world: World) => world.reconcile(autoscalerController, "hpa");
const statusOf = (world: World): JsonObject => world.get(kinds.autoscaler, "hpa")["status"] as JsonObject;
const shown = (world: World): readonly string[] =>
  conditionsOf(world.get(kinds.autoscaler, "hpa")).map(({ type, status, reason }) => `${type} ${status} ${reason}`);

const resource = (name: string, target: JsonObject): JsonObject => ({ type: "Resource", resource: { name, target } });

test("a target above its largest size shrinks to it", async () => {
  const target = { replicas: 9 };
  const world = worldWith({ maxReplicas: 5 }, target);
  await step(world);
  assert.equal(target.replicas, 5);
  assert.deepEqual(world.takeEvents(), [
    "SuccessfulRescale: New size: 5; reason: Current number of replicas above Spec.MaxReplicas",
  ]);
  const { conditions: _conditions, ...rest } = statusOf(world);
  assert.deepEqual(rest, {
    currentReplicas: 9,
    desiredReplicas: 5,
    currentMetrics: null,
    lastScaleTime: "2026-01-01T00:00:00Z",
  });
  assert.deepEqual(shown(world), ["AbleToScale True SucceededRescale"]);
});

test("a target below its least size grows to it", async () => {
  const target = { replicas: 1 };
  const world = worldWith({ minReplicas: 3 }, target);
  await step(world);
  assert.equal(target.replicas, 3);
  assert.deepEqual(world.takeEvents(), [
    "SuccessfulRescale: New size: 3; reason: Current number of replicas below Spec.MinReplicas",
  ]);
});

test("a target of size 0 is not scaled", async () => {
  const target = { replicas: 0 };
  const world = worldWith({ minReplicas: 3 }, target);
  await step(world);
  assert.equal(target.replicas, 0);
  assert.deepEqual(shown(world), ["AbleToScale True SucceededGetScale", "ScalingActive False ScalingDisabled"]);
  const { message } = conditionsOf(world.get(kinds.autoscaler, "hpa")).at(-1) ?? {};
  assert.equal(message, "scaling is disabled since the replica count of the target is zero");
});

test("a target that cannot be read is reported", async () => {
  const world = worldWith({}, { replicas: undefined });
  await step(world);
  assert.deepEqual(world.takeEvents(), ['FailedGetScale: deployments.apps "web" not found']);
  const [condition] = conditionsOf(world.get(kinds.autoscaler, "hpa"));
  assert.equal(
    condition?.message,
    'the HPA controller was unable to get the target\'s current scale: deployments.apps "web" not found',
  );
  assert.deepEqual(shown(world), ["AbleToScale False FailedGetScale"]);
});

const noResources =
  "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
const noCustom =
  "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";

const metrics: readonly {
  readonly why: string;
  readonly metric: JsonObject;
  readonly reason: string;
  readonly text: string;
}[] = [
  {
    why: "the utilization of a resource",
    metric: resource("cpu", { type: "Utilization", averageUtilization: 50 }),
    reason: "FailedGetResourceMetric",
    text: `failed to get cpu utilization: unable to get metrics for resource cpu: ${noResources}`,
  },
  {
    why: "the usage of a resource",
    metric: resource("memory", { type: "AverageValue", averageValue: "1Gi" }),
    reason: "FailedGetResourceMetric",
    text: `failed to get memory usage: unable to get metrics for resource memory: ${noResources}`,
  },
  {
    why: "the resource of a container",
    metric: {
      type: "ContainerResource",
      containerResource: { name: "cpu", container: "c", target: { averageUtilization: 1 } },
    },
    reason: "FailedGetContainerResourceMetric",
    text: `failed to get cpu utilization: unable to get metrics for resource cpu: ${noResources}`,
  },
  {
    why: "a metric of Pods",
    metric: { type: "Pods", pods: { metric: { name: "rps" } } },
    reason: "FailedGetPodsMetric",
    text: `unable to get metric rps: ${noCustom}`,
  },
  {
    why: "a metric of an object",
    metric: { type: "Object", object: { metric: { name: "hits" } } },
    reason: "FailedGetObjectMetric",
    text: `unable to get metric hits: ${noCustom}`,
  },
  {
    why: "an external metric",
    metric: { type: "External", external: { metric: { name: "queue" } } },
    reason: "FailedGetExternalMetric",
    text: "unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)",
  },
];

for (const { why, metric, reason, text } of metrics) {
  test(`without a metrics server there is no value of ${why}`, async () => {
    const world = worldWith({ metrics: [metric] }, { replicas: 2 });
    await step(world);
    const [first, second] = world.takeEvents();
    assert.equal(first, `${reason}: ${text}`);
    assert.match(
      second ?? "",
      /^FailedComputeMetricsReplicas: invalid metrics \(1 invalid out of 1\), first error is: /,
    );
    assert.ok(second?.endsWith(text));
    assert.deepEqual(shown(world), ["AbleToScale True SucceededGetScale", `ScalingActive False ${reason}`]);
    const condition = conditionsOf(world.get(kinds.autoscaler, "hpa")).at(-1);
    assert.equal(condition?.message, `the HPA was unable to compute the replica count: ${text}`);
    assert.deepEqual(statusOf(world)["currentMetrics"], [{ type: "" }]);
  });
}

test("a status that is in order is not written, and conditions keep the time of their change", async () => {
  const world = worldWith({ metrics: [resource("cpu", { averageUtilization: 50 })] }, { replicas: 2 });
  await step(world);
  const before = conditionsOf(world.get(kinds.autoscaler, "hpa"));
  world.now += 60_000;
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
  assert.deepEqual(conditionsOf(world.get(kinds.autoscaler, "hpa")), before);
});
