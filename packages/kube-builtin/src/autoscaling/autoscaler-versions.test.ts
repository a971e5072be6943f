// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers in autoscaling/v1, which keeps in annotations what it has no fields for, and in autoscaling/v2.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { autoscalerConversions, toFirstVersion, toSecondVersion } from "./autoscaler-versions.ts";

const prefix = "autoscaling.alpha.kubernetes.io";
const scaleTargetRef = { kind: "Deployment", name: "d", apiVersion: "apps/v1" };
const base = { kind: "HorizontalPodAutoscaler", metadata: { name: "h" } };
const first = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...base,
  apiVersion: "autoscaling/v1",
  spec: { scaleTargetRef, maxReplicas: 3, ...spec },
  ...more,
});
const second = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...base,
  apiVersion: "autoscaling/v2",
  spec: { scaleTargetRef, maxReplicas: 3, ...spec },
  ...more,
});
const cpu = (averageUtilization: number): JsonObject => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});

const specOf = (object: JsonObject): JsonObject => object["spec"] as JsonObject;
const annotationsOf = (object: JsonObject): Record<string, string> | undefined =>
  (object["metadata"] as { annotations?: Record<string, string> }).annotations;

test("a target of cpu is a metric", () => {
  assert.deepEqual(specOf(toSecondVersion(first({ targetCPUUtilizationPercentage: 50 }))), {
    scaleTargetRef,
    maxReplicas: 3,
    metrics: [cpu(50)],
  });
  assert.deepEqual(specOf(toFirstVersion(second({ metrics: [cpu(50)] }))), {
    scaleTargetRef,
    maxReplicas: 3,
    targetCPUUtilizationPercentage: 50,
  });
});

test("an autoscaler without a metric gets the default; its owners of fields do not", () => {
  assert.deepEqual(specOf(toSecondVersion(first({})))["metrics"], [cpu(80)]);
  const converted =
    autoscalerConversions["autoscaling/v1"]?.["autoscaling/v2"]?.(first({})) ?? assert.fail("no conversion");
  assert.equal(specOf(converted)["metrics"], undefined);
});

const metrics: Readonly<Record<string, readonly [metric: JsonObject, text: string]>> = {
  "a resource": [
    { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } } },
    '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]',
  ],
  "a resource of a container": [
    {
      type: "ContainerResource",
      containerResource: { name: "cpu", container: "c", target: { type: "Utilization", averageUtilization: 5 } },
    },
    '[{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","targetAverageUtilization":5}}]',
  ],
  Pods: [
    {
      type: "Pods",
      pods: {
        metric: { name: "m", selector: { matchLabels: { a: "b" } } },
        target: { type: "AverageValue", averageValue: "1" },
      },
    },
    '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1","selector":{"matchLabels":{"a":"b"}}}}]',
  ],
  "an object": [
    {
      type: "Object",
      object: {
        describedObject: { kind: "Service", name: "s" },
        metric: { name: "m" },
        target: { type: "Value", value: "1" },
      },
    },
    '[{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"1"}}]',
  ],
  "something outside": [
    {
      type: "External",
      external: {
        metric: { name: "m", selector: { matchLabels: { a: "b" } } },
        target: { type: "AverageValue", averageValue: "1" },
      },
    },
    '[{"type":"External","external":{"metricName":"m","targetAverageValue":"1","metricSelector":{"matchLabels":{"a":"b"}}}}]',
  ],
};

for (const [name, [metric, text]] of Object.entries(metrics)) {
  test(`another metric goes into an annotation and comes back: ${name}`, () => {
    const shown = toFirstVersion(second({ metrics: [metric, cpu(7)] }));
    assert.deepEqual(JSON.parse(annotationsOf(shown)?.[`${prefix}/metrics`] ?? ""), JSON.parse(text));
    assert.equal(specOf(shown)["targetCPUUtilizationPercentage"], 7);
    const back = toSecondVersion(shown);
    assert.deepEqual(specOf(back)["metrics"], [metric, cpu(7)]);
    assert.equal(annotationsOf(back), undefined);
  });
}

test("a behavior goes into an annotation and comes back", () => {
  const behavior = {
    scaleUp: { stabilizationWindowSeconds: 0, policies: [{ type: "Pods", value: 4, periodSeconds: 15 }] },
  };
  const shown = toFirstVersion(second({ metrics: [cpu(1)], behavior }));
  assert.equal(
    annotationsOf(shown)?.[`${prefix}/behavior`],
    '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":null,"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}',
  );
  assert.deepEqual(specOf(toSecondVersion(shown))["behavior"], behavior);
});

test("statuses and conditions go into annotations and come back", () => {
  const currentMetrics = [
    { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 9 } } },
    { type: "Pods", pods: { metric: { name: "m" }, current: { averageValue: "2" } } },
  ];
  const conditions = [{ type: "AbleToScale", status: "True" }];
  const shown = toFirstVersion(
    second({ metrics: [cpu(1)] }, { status: { desiredReplicas: 2, currentReplicas: 1, currentMetrics, conditions } }),
  );
  assert.deepEqual(shown["status"], { currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 9 });
  assert.deepEqual(JSON.parse(annotationsOf(shown)?.[`${prefix}/current-metrics`] ?? ""), [
    { type: "Resource", resource: { name: "cpu", currentAverageUtilization: 9, currentAverageValue: "0" } },
    { type: "Pods", pods: { metricName: "m", currentAverageValue: "2" } },
  ]);
  assert.deepEqual(toSecondVersion(shown)["status"], {
    desiredReplicas: 2,
    currentReplicas: 1,
    currentMetrics,
    conditions,
  });
});

test("a status of version 1 without annotations gives the metric of cpu", () => {
  const status = { currentReplicas: 0, currentCPUUtilizationPercentage: 30 };
  assert.deepEqual(toSecondVersion(first({}, { status }))["status"], {
    currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 30 } } }],
  });
  assert.deepEqual(toSecondVersion(first({}))["status"], { currentMetrics: null });
});

test("other annotations stay, and those for the other version are made again", () => {
  const metadata = {
    name: "h",
    annotations: { mine: "x", [`${prefix}/metrics`]: "[]", [`${prefix}/scale-up-tolerance`]: "1" },
  };
  assert.deepEqual(annotationsOf(toFirstVersion(second({ metrics: [cpu(1)] }, { metadata }))), { mine: "x" });
  assert.deepEqual(annotationsOf(toSecondVersion(first({}, { metadata }))), { mine: "x" });
});

test("annotations that cannot be read are ignored", () => {
  for (const text of ["", "{", "7", '{"a":1}', "[1]"]) {
    const annotations = {
      [`${prefix}/metrics`]: text,
      [`${prefix}/conditions`]: text,
      [`${prefix}/behavior`]: text === '{"a":1}' ? "x" : text,
    };
    const { metrics: found, behavior } = specOf(toSecondVersion(first({}, { metadata: { annotations } }))) as {
      metrics: unknown;
      behavior?: unknown;
    };
    assert.deepEqual([found, behavior], [[cpu(80)], undefined], text);
  }
});

test("the objects that are converted stay as they are", () => {
  const object = second({ metrics: [cpu(1), metrics["Pods"]?.[0] ?? {}], behavior: { scaleDown: {} } });
  const copy = structuredClone(object);
  toSecondVersion(toFirstVersion(object));
  assert.deepEqual(object, copy);
});
