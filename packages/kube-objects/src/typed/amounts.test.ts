// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "../json/json-value.ts";
import { requiringFewAmounts } from "./amounts.ts";

function amounts(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.org/r${index}`, "1"]));
}

const typed = (apiVersion: string, kind: string, more: JsonObject): JsonObject => ({ apiVersion, kind, ...more });
const container = (limits: number, requests = 0): JsonObject => ({
  resources: { limits: amounts(limits), requests: amounts(requests) },
});
const pod = (...containers: JsonObject[]): JsonObject => typed("v1", "Pod", { spec: { containers } });

const places: Record<string, { reason: string; path: string; object: (many: JsonObject) => JsonObject }> = {
  Node: {
    reason: "in the object itself",
    path: "status.capacity",
    object: (capacity) => typed("v1", "Node", { status: { capacity } }),
  },
  Pod: {
    reason: "in a list",
    path: "spec.initContainers[1].resources.requests",
    object: (requests) => typed("v1", "Pod", { spec: { initContainers: [{}, { resources: { requests } }] } }),
  },
  Deployment: {
    reason: "in a template",
    path: "spec.template.spec.overhead",
    object: (overhead) => typed("apps/v1", "Deployment", { spec: { template: { spec: { overhead } } } }),
  },
  Claim: {
    reason: "in the template of a claim",
    path: "spec.volumeClaimTemplates[0].spec.resources.requests",
    object: (requests) =>
      typed("apps/v1", "StatefulSet", { spec: { volumeClaimTemplates: [{ spec: { resources: { requests } } }] } }),
  },
  RuntimeClass: {
    reason: "of another group",
    path: "overhead.podFixed",
    object: (podFixed) => typed("node.k8s.io/v1", "RuntimeClass", { overhead: { podFixed } }),
  },
};

for (const [name, { reason, path, object }] of Object.entries(places)) {
  test(`a map has at most 10,000 amounts: ${name}, ${reason}`, () => {
    finish(requiringFewAmounts(object(amounts(10_000)), undefined));
    assert.throws(() => finish(requiringFewAmounts(object(amounts(10_001)), undefined)), {
      message: `Request entity too large: ${path} may have at most 10000 amounts`,
    });
  });
}

test("other maps and unknown kinds have no such limit", () => {
  finish(requiringFewAmounts(typed("v1", "ConfigMap", { data: amounts(10_001) }), undefined));
  finish(requiringFewAmounts(typed("v1", "Pod", { metadata: { labels: amounts(10_001) }, spec: null }), undefined));
  finish(requiringFewAmounts(typed("example.org/v1", "Widget", { spec: { limits: amounts(10_001) } }), undefined));
});

const changes: Record<string, { reason: string; old: JsonObject; object: JsonObject; grows?: string }> = {
  Same: { reason: "as they were", old: pod(container(10_002)), object: pod(container(10_002)) },
  Fewer: { reason: "still too many for a new object", old: pod(container(10_002)), object: pod(container(10_001)) },
  More: {
    reason: "one more",
    old: pod(container(10_002)),
    object: pod(container(10_003)),
    grows: "spec.containers[0].resources.limits",
  },
  Moved: {
    reason: "the container has another place in the list",
    old: pod(container(5), container(10_002)),
    object: pod(container(10_002)),
  },
  Second: {
    reason: "another map becomes as large",
    old: pod(container(10_002)),
    object: pod(container(10_002, 10_001)),
    grows: "spec.containers[0].resources.requests",
  },
  Swapped: {
    reason: "the smaller of two becomes as large as the larger one",
    old: pod(container(10_003, 10_001)),
    object: pod(container(10_003, 10_003)),
    grows: "spec.containers[0].resources.requests",
  },
  Small: {
    reason: "the stored map was not too large",
    old: pod(container(10_000)),
    object: pod(container(10_001)),
    grows: "spec.containers[0].resources.limits",
  },
};

for (const [name, { reason, old, object, grows }] of Object.entries(changes)) {
  test(`a change of an object that was stored with more amounts: ${name}, ${reason}`, () => {
    const check = (): void => finish(requiringFewAmounts(object, old));
    if (grows === undefined) check();
    else assert.throws(check, { message: `Request entity too large: ${grows} may have at most 10000 amounts` });
  });
}
