// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { autoscalerRules } from "./autoscaler-rules.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const rules = autoscalerRules();
const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
const errorsOf = (spec: JsonObject): string[] =>
  (rules.validate?.({ spec: { scaleTargetRef, maxReplicas: 3, ...spec } }) ?? []).map(fieldErrorText);

const specs: readonly Case[] = [
  ["a plain one", { minReplicas: 1 }, []],
  ["as many at least as at most", { minReplicas: 3 }, []],
  [
    "more at least than at most",
    { minReplicas: 4 },
    ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"],
  ],
  ["no maximum", { maxReplicas: 0 }, ["spec.maxReplicas: Required value: must be set and greater than 0"]],
  [
    "a negative maximum",
    { maxReplicas: -1 },
    ["spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1"],
  ],
  [
    "down to none",
    { minReplicas: 0 },
    [
      "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
      "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    ],
  ],
  [
    "no target",
    { scaleTargetRef: {} },
    [
      "spec.scaleTargetRef.kind: Required value",
      "spec.scaleTargetRef.name: Required value",
      'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ],
  ],
  [
    "a target of the core group",
    { scaleTargetRef: { ...scaleTargetRef, apiVersion: "v1" } },
    ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
  ],
  ["a ReplicationController", { scaleTargetRef: { apiVersion: "v1", kind: "ReplicationController", name: "r" } }, []],
  [
    "an invalid version",
    { scaleTargetRef: { ...scaleTargetRef, apiVersion: "a/b/c" } },
    ['spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  ],
  [
    "names that no path can have",
    { scaleTargetRef: { ...scaleTargetRef, kind: "a/b", name: ".." } },
    [
      "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
      "spec.scaleTargetRef.name: Invalid value: \"..\": may not be '..'",
    ],
  ],
];

for (const [name, spec, want] of specs) {
  test(`an autoscaler: ${name}`, () => {
    assert.deepEqual(errorsOf(spec), want);
  });
}

const resource = (target: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "Resource",
  resource: { name: "cpu", target, ...more },
});
const percent = { type: "Utilization", averageUtilization: 50 };
const average = { type: "AverageValue", averageValue: "1" };
const metric = { name: "m" };
const described = { kind: "Service", name: "s" };
const sourceTypes = 'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"';
const noType = [
  "m.resource.target.type: Required value: must specify a metric target type",
  'm.resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
];

const metrics: readonly Case[] = [
  ["a percentage", resource(percent), []],
  ["a value", resource(average), []],
  [
    "both",
    resource({ ...percent, averageValue: "1" }),
    ["m.resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization"],
  ],
  [
    "neither",
    resource({ type: "Value" }),
    [
      "m.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
    ],
  ],
  [
    "no target",
    resource({}),
    [
      ...noType,
      "m.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
    ],
  ],
  [
    "an unknown type of target",
    resource({ ...percent, type: "x" }),
    ['m.resource.target.type: Invalid value: "x": must be either Utilization, Value, or AverageValue'],
  ],
  [
    "values of nothing",
    resource({ type: "Utilization", averageUtilization: 0, value: "0" }),
    [
      'm.resource.target.value: Invalid value: "0": must be positive',
      "m.resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
    ],
  ],
  ["no resource", resource(percent, { name: "" }), ["m.resource.name: Required value: must specify a resource name"]],
  [
    "a resource of a container",
    { type: "ContainerResource", containerResource: { name: "memory", container: "c", target: percent } },
    [],
  ],
  [
    "a resource of no container",
    { type: "ContainerResource", containerResource: { name: "gpu", target: percent } },
    [
      'm.containerResource.name: Invalid value: "gpu": must be a standard resource type or fully qualified',
      'm.containerResource.name: Invalid value: "gpu": must be a standard resource for containers',
      "m.containerResource.container: Required value: must specify a container",
    ],
  ],
  [
    "a resource of a container with an invalid name",
    { type: "ContainerResource", containerResource: { name: "cpu", container: "C", target: percent } },
    [`m.containerResource.container: Invalid value: "C": ${String(dns1123LabelProblems("C"))}`],
  ],
  ["Pods", { type: "Pods", pods: { metric, target: average } }, []],
  [
    "Pods without a value",
    { type: "Pods", pods: { metric: {}, target: { type: "Value", value: "1" } } },
    [
      "m.pods.metric.name: Required value: must specify a metric name",
      "m.pods.target.averageValue: Required value: must specify a positive target averageValue",
    ],
  ],
  [
    "an object",
    { type: "Object", object: { describedObject: described, metric, target: { type: "Value", value: "1" } } },
    [],
  ],
  [
    "an object without a value",
    { type: "Object", object: { describedObject: {}, metric: { name: "a/b" }, target: { type: "Value" } } },
    [
      "m.object.describedObject.kind: Required value",
      "m.object.describedObject.name: Required value",
      "m.object.metric.name: Invalid value: \"a/b\": may not contain '/'",
      "m.object.target.averageValue: Required value: must set either a target value or averageValue",
    ],
  ],
  ["something outside", { type: "External", external: { metric, target: average } }, []],
  [
    "something outside with two values",
    { type: "External", external: { metric, target: { ...average, value: "1" } } },
    ["m.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target"],
  ],
  [
    "something outside without a value",
    { type: "External", external: { metric, target: { type: "Value" } } },
    ["m.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target"],
  ],
  [
    "no type",
    { resource: { name: "cpu", target: percent } },
    [
      "m.type: Required value: must specify a metric source type",
      `m.type: Unsupported value: "": ${sourceTypes}`,
      `m.type: Unsupported value: "": ${sourceTypes}`,
    ],
  ],
  [
    "a type without its source",
    { type: "Pods" },
    ["m.pods: Required value: must populate information for the given metric source"],
  ],
  [
    "two sources",
    { ...resource(percent), pods: { metric, target: average } },
    ["m.pods: Forbidden: must populate the given metric source only"],
  ],
];

for (const [name, one, want] of metrics) {
  test(`a metric of an autoscaler: ${name}`, () => {
    assert.deepEqual(
      errorsOf({ metrics: [one] }).map((text) => text.replace("spec.metrics[0]", "m")),
      want,
    );
  });
}

const scaling = (more: JsonObject): JsonObject => ({
  policies: [{ type: "Pods", value: 1, periodSeconds: 1 }],
  ...more,
});
const policy = (more: JsonObject): JsonObject =>
  scaling({ policies: [{ type: "Percent", value: 1, periodSeconds: 1800, ...more }] });

const behaviors: readonly Case[] = [
  ["all members", scaling({ stabilizationWindowSeconds: 3600, selectPolicy: "Min", tolerance: "0" }), []],
  [
    "a negative window",
    scaling({ stabilizationWindowSeconds: -1 }),
    ["b.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero"],
  ],
  [
    "a long window",
    scaling({ stabilizationWindowSeconds: 3601 }),
    ["b.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"],
  ],
  [
    "an unknown choice",
    scaling({ selectPolicy: "x" }),
    ['b.selectPolicy: Unsupported value: "x": supported values: "Disabled", "Max", "Min"'],
  ],
  ["no policies", {}, ["b.policies: Required value: must specify at least one Policy"]],
  [
    "an unknown type",
    policy({ type: "x" }),
    ['b.policies[0].type: Unsupported value: "x": supported values: "Percent", "Pods"'],
  ],
  [
    "nothing in no time",
    policy({ value: 0, periodSeconds: 0 }),
    [
      "b.policies[0].value: Invalid value: 0: must be greater than zero",
      "b.policies[0].periodSeconds: Invalid value: 0: must be greater than zero",
    ],
  ],
  [
    "a long period",
    policy({ periodSeconds: 1801 }),
    ["b.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"],
  ],
  [
    "a negative tolerance",
    scaling({ tolerance: "-1m" }),
    ['b.tolerance: Invalid value: "-1m": must be greater than or equal to 0'],
  ],
];

for (const [name, behavior, want] of behaviors) {
  test(`the behavior of an autoscaler: ${name}`, () => {
    for (const direction of ["scaleUp", "scaleDown"]) {
      const errors = errorsOf({ behavior: { [direction]: behavior } });
      assert.deepEqual(
        errors.map((text) => text.replace(`spec.behavior.${direction}`, "b")),
        want,
      );
    }
  });
}

test("the counts of a status are not negative", () => {
  const status = { currentReplicas: -1, desiredReplicas: -2 };
  assert.deepEqual((rules.validateChange?.({ status }, {}, "status") ?? []).map(fieldErrorText), [
    "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
    "status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0",
  ]);
  assert.deepEqual(rules.validateChange?.({ status }, {}, ""), []);
});
