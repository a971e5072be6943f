// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { addPod, chargedAmounts, hasOwnAmounts } from "./pod-charge.ts";

const unit = 1_000_000_000n;
const container = (name: string, requests: JsonObject, limits: JsonObject = {}): JsonObject => ({
  name,
  resources: { requests, limits },
});
const pod = (spec: JsonObject, status: JsonObject = {}): JsonObject => ({ spec, status });

function usageOf(one: JsonObject): Record<string, bigint> {
  const usage = new Map<string, bigint>();
  addPod(one, usage);
  return Object.fromEntries(usage);
}

test("the overhead of a runtime class counts for requests, and for limits that are set", () => {
  const one = pod({
    overhead: { cpu: "250m", memory: "1Gi" },
    containers: [container("c", { cpu: "1" }, { cpu: "2", memory: "0" })],
  });
  assert.deepEqual(chargedAmounts(one, "requests"), { cpu: "1250m", memory: "1Gi" });
  assert.deepEqual(chargedAmounts(one, "limits"), { cpu: "2250m", memory: "0" });
});

test("huge pages of the whole Pod count instead of those of its containers, under both names", () => {
  const one = pod({
    resources: { requests: { "hugepages-2Mi": "4Mi", "example.org/gpu": "9" } },
    containers: [container("c", { "hugepages-2Mi": "2Mi", "example.org/gpu": "1" })],
  });
  assert.deepEqual(usageOf(one), {
    "hugepages-2Mi": 4n * 1024n * 1024n * unit,
    "requests.hugepages-2Mi": 4n * 1024n * 1024n * unit,
    "requests.example.org/gpu": unit,
  });
});

test("resources of Kubernetes that quotas do not know, and limits of devices, do not count", () => {
  const requests = { "example.kubernetes.io/x": "1", "deviceclass.resource.kubernetes.io/gpu": "3" };
  const one = pod({ containers: [container("c", requests, { ...requests, "example.org/gpu": "1", cpu: "1" })] });
  assert.deepEqual(usageOf(one), {
    "requests.deviceclass.resource.kubernetes.io/gpu": 3n * unit,
    "limits.cpu": unit,
  });
});

const resized = { name: "c", resources: { requests: { cpu: "3" }, limits: { cpu: "4" } } };
const small = container("c", { cpu: "1" }, { cpu: "2" });
const sidecar = { ...small, restartPolicy: "Always" };
const pending = (reason: string): JsonObject => ({ conditions: [{ type: "PodResizePending", reason }] });

const running: readonly (readonly [why: string, one: JsonObject, requests: string, limits: string])[] = [
  [
    "what the containers have, while it is more",
    pod({ containers: [small] }, { containerStatuses: [resized] }),
    "3",
    "4",
  ],
  [
    "what they are given, while it is more",
    pod({ containers: [small] }, { containerStatuses: [{ ...resized, allocatedResources: { cpu: "5" } }] }),
    "5",
    "4",
  ],
  [
    "what they ask for, once it is more",
    pod({ containers: [container("c", { cpu: "7" }, { cpu: "8" })] }, { containerStatuses: [resized] }),
    "7",
    "8",
  ],
  [
    "what they have, when a resize is not possible",
    pod(
      { containers: [container("c", { cpu: "7" }, { cpu: "8" })] },
      { ...pending("Infeasible"), containerStatuses: [resized] },
    ),
    "3",
    "4",
  ],
  [
    "what they ask for, when a resize has to wait",
    pod(
      { containers: [container("c", { cpu: "7" }, { cpu: "8" })] },
      { ...pending("Deferred"), containerStatuses: [resized] },
    ),
    "7",
    "8",
  ],
  [
    "what they ask for, without a report of what they have",
    pod({ containers: [small] }, { containerStatuses: [{ name: "c" }] }),
    "1",
    "2",
  ],
  ["what sidecars have", pod({ initContainers: [sidecar] }, { initContainerStatuses: [resized] }), "3", "4"],
  [
    "what other init containers ask for",
    pod({ initContainers: [small] }, { initContainerStatuses: [resized] }),
    "1",
    "2",
  ],
];

for (const [why, one, requests, limits] of running) {
  test(`a Pod counts with ${why}`, () => {
    assert.deepEqual(
      [chargedAmounts(one, "requests"), chargedAmounts(one, "limits")],
      [{ cpu: requests }, { cpu: limits }],
    );
  });
}

test("a Pod has amounts of its own when one of them is for a whole Pod", () => {
  assert.equal(hasOwnAmounts(pod({})), false);
  assert.equal(hasOwnAmounts(pod({ resources: { requests: {}, limits: {} } })), false);
  assert.equal(hasOwnAmounts(pod({ resources: { limits: { memory: "1Gi" } } })), true);
});
