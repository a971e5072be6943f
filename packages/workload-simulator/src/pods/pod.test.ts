// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import {
  createdAt,
  inParts,
  isActive,
  isAvailable,
  isFinished,
  isReady,
  isTerminating,
  nextAvailableMs,
  PartialError,
  phaseOf,
  podFromTemplate,
  readySince,
  replicasOf,
  restartsOf,
  scaledCount,
  templateHash,
} from "./pod.ts";

const owner: KubeObject = { ...kinds.replicaSet, metadata: { name: "web", namespace: "shop", uid: "u1" } };
const template: JsonObject = {
  metadata: { labels: { app: "web" }, annotations: { note: "a" }, finalizers: ["example.org/keep"] },
  spec: { containers: [{ name: "main", image: "nginx" }] },
};

test("a Pod has the labels, annotations, finalizers and the spec of its template, and its owner", () => {
  const pod = podFromTemplate(owner, template, { name: { generateName: "web-" } });
  assert.deepEqual(pod, {
    ...kinds.pod,
    metadata: {
      generateName: "web-",
      namespace: "shop",
      labels: { app: "web" },
      annotations: { note: "a", "purlin.dev/simulated": "true" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web",
          uid: "u1",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      finalizers: ["example.org/keep"],
    },
    spec: { containers: [{ name: "main", image: "nginx" }] },
  });
});

test("what a workload adds to a Pod wins over the template", () => {
  const pod = podFromTemplate(owner, template, {
    name: { name: "web-0" },
    labels: { app: "other", index: "0" },
    annotations: { note: "b" },
    finalizers: ["example.org/own"],
    spec: { hostname: "h" },
  });
  assert.equal(pod.metadata.name, "web-0");
  assert.deepEqual(pod.metadata.labels, { app: "other", index: "0" });
  assert.deepEqual(pod.metadata.annotations, { note: "b", "purlin.dev/simulated": "true" });
  assert.deepEqual(pod.metadata.finalizers, ["example.org/keep", "example.org/own"]);
  assert.deepEqual(pod["spec"], { hostname: "h" });
});

test("a Pod without finalizers has no such member", () => {
  const pod = podFromTemplate(owner, { spec: {} }, { name: { name: "a" } });
  assert.equal("finalizers" in pod.metadata, false);
  assert.deepEqual(pod.metadata.labels, {});
});

test("a workload without a size wants one replica", () => {
  assert.equal(replicasOf({ ...owner, spec: {} }), 1);
  assert.equal(replicasOf({ ...owner, spec: { replicas: 0 } }), 0);
  assert.equal(replicasOf({ ...owner, spec: { replicas: 7 } }), 7);
});

const counts: readonly (readonly [value: number | string | undefined, total: number, up: number, down: number])[] = [
  [3, 10, 3, 3],
  ["25%", 10, 3, 2],
  ["25%", 4, 1, 1],
  ["0%", 10, 0, 0],
  ["100%", 3, 3, 3],
  ["1%", 1, 1, 0],
  ["50%", 0, 0, 0],
  [undefined, 10, 0, 0],
  ["5", 10, 0, 0],
];

for (const [value, total, up, down] of counts) {
  test(`${value ?? "nothing"} of ${total} is ${up} rounded up and ${down} rounded down`, () => {
    assert.equal(scaledCount(value, total, "up"), up);
    assert.equal(scaledCount(value, total, "down"), down);
  });
}

test("equal templates have equal hashes, whatever the order of their members", () => {
  const hash = templateHash({ a: 1, b: { c: [1, 2], d: "x" } }, 0);
  assert.equal(templateHash({ b: { d: "x", c: [1, 2] }, a: 1 }, 0), hash);
  assert.notEqual(templateHash({ b: { d: "x", c: [2, 1] }, a: 1 }, 0), hash);
  assert.notEqual(templateHash({ a: 1, b: { c: [1, 2], d: "x" } }, 1), hash);
  assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
});

const pod = (phase: string | undefined, more: JsonObject = {}, metadata: JsonObject = {}): KubeObject =>
  ({ ...kinds.pod, metadata: { name: "p", ...metadata }, status: { ...(phase && { phase }), ...more } }) as KubeObject;
const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };

test("a Pod without a phase is pending", () => {
  assert.equal(phaseOf(pod(undefined)), "Pending");
  assert.equal(phaseOf(pod("Running")), "Running");
});

const states: readonly (readonly [of: KubeObject, finished: boolean, active: boolean, terminating: boolean])[] = [
  [pod("Running"), false, true, false],
  [pod("Pending"), false, true, false],
  [pod("Succeeded"), true, false, false],
  [pod("Failed"), true, false, false],
  [pod("Running", {}, deleted), false, false, true],
  [pod("Failed", {}, deleted), true, false, false],
];

for (const [of, finished, active, terminating] of states) {
  const name = `${phaseOf(of)}${of.metadata.deletionTimestamp ? ", being deleted" : ""}`;
  test(`a Pod that is ${name}: finished ${finished}, active ${active}, terminating ${terminating}`, () => {
    assert.deepEqual([isFinished(of), isActive(of), isTerminating(of)], [finished, active, terminating]);
  });
}

const ready = (since: string, status = "True"): KubeObject =>
  pod("Running", { conditions: [{ type: "Ready", status, lastTransitionTime: since, reason: "" }] });
const noon = Date.UTC(2026, 0, 1, 12);

test("a Pod is ready since its condition changed", () => {
  assert.equal(isReady(ready("2026-01-01T12:00:00Z")), true);
  assert.equal(readySince(ready("2026-01-01T12:00:00Z")), noon);
  assert.equal(isReady(ready("2026-01-01T12:00:00Z", "False")), false);
  assert.equal(readySince(pod("Running")), undefined);
});

test("a Pod is available after it has been ready for the wanted time", () => {
  const since = ready("2026-01-01T12:00:00Z");
  assert.equal(isAvailable(since, 0, noon - 1000), true);
  assert.equal(isAvailable(since, 10, noon + 9999), false);
  assert.equal(isAvailable(since, 10, noon + 10_000), true);
  assert.equal(isAvailable(pod("Running"), 0, noon), false);
});

test("the next Pod to become available is waited for", () => {
  const pods = [ready("2026-01-01T12:00:05Z"), ready("2026-01-01T12:00:00Z"), pod("Running")];
  assert.equal(nextAvailableMs(pods, 0, noon), undefined);
  assert.equal(nextAvailableMs(pods, 10, noon + 2000), 8000);
  assert.equal(nextAvailableMs(pods, 10, noon + 10_000), 5000);
  assert.equal(nextAvailableMs(pods, 10, noon + 15_000), undefined);
  assert.equal(nextAvailableMs([], 10, noon), undefined);
});

test("a Pod has as many restarts as the container with the most", () => {
  assert.equal(restartsOf(pod("Running", { containerStatuses: [{ restartCount: 2 }, { restartCount: 5 }] })), 5);
  assert.equal(restartsOf(pod("Running")), 0);
});

test("an object that is not stored yet was created at the epoch", () => {
  assert.equal(createdAt(owner), 0);
  assert.equal(createdAt({ ...owner, metadata: { creationTimestamp: "2026-01-01T12:00:00Z" } }), noon);
});

test("work is done 50 items at a time, with all results in order", async () => {
  let [running, most] = [0, 0];
  const results = await inParts(
    Array.from({ length: 120 }, (_, index) => index),
    async (index) => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return index * 2;
    },
  );
  assert.equal(most, 50);
  assert.deepEqual(results.slice(0, 3), [0, 2, 4]);
  assert.equal(results.length, 120);
});

test("work ends after the part with a failure, and says what was done", async () => {
  const seen: number[] = [];
  const work = inParts(
    Array.from({ length: 120 }, (_, index) => index),
    async (index) => {
      seen.push(index);
      if (index === 60) throw new Error("quota");
      return index;
    },
  );
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof PartialError);
    assert.equal(error.message, "quota");
    assert.equal(error.done.length, 99);
    return true;
  });
  assert.equal(seen.length, 100);
});
