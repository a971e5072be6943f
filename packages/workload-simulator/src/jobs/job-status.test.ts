// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { kinds } from "../kinds.ts";
import {
  countersOf,
  countPods,
  endConditions,
  indexAnnotation,
  indexesText,
  indexOf,
  isEnded,
  readIndexes,
  totals,
  trackingFinalizer,
} from "./job-status.ts";

const job = (status: JsonObject = {}, spec: JsonObject = {}): KubeObject => ({
  ...kinds.job,
  metadata: { name: "j" },
  spec,
  status,
});

interface PodOptions {
  readonly index?: number;
  readonly isReleased?: boolean;
  readonly isDeleted?: boolean;
  readonly isReady?: boolean;
}

function pod(uid: string, phase: string, options: PodOptions = {}): KubeObject {
  const { index, isReleased = false, isDeleted = false, isReady = false } = options;
  return {
    ...kinds.pod,
    metadata: {
      uid,
      ...(!isReleased && { finalizers: [trackingFinalizer] }),
      ...(isDeleted && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      ...(index !== undefined && { annotations: { [indexAnnotation]: String(index) } }),
    },
    status: {
      phase,
      ...(isReady && { conditions: [{ type: "Ready", status: "True", lastTransitionTime: "", reason: "" }] }),
    },
  };
}

const texts: readonly (readonly [indexes: readonly number[], text: string])[] = [
  [[], ""],
  [[0], "0"],
  [[0, 1], "0,1"],
  [[0, 1, 2], "0-2"],
  [[0, 2, 3, 4, 7], "0,2-4,7"],
  [[1, 2, 4, 5], "1,2,4,5"],
];

for (const [indexes, text] of texts) {
  test(`the indexes ${indexes.join(" ") || "of nothing"} are written as "${text}"`, () => {
    assert.equal(indexesText(indexes), text);
    assert.deepEqual(readIndexes(text, 100), indexes);
  });
}

test("written indexes are read back", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(40)), (indexes) => {
      const sorted = indexes.toSorted((a, b) => a - b);
      assert.deepEqual(readIndexes(indexesText(sorted), 41), sorted);
    }),
  );
});

test("indexes that users wrote are read as far as they make sense", () => {
  assert.deepEqual(readIndexes("0-999999999999", 3), [0, 1, 2]);
  assert.deepEqual(readIndexes("a,1,-,2-x,5-4", 10), [1]);
  assert.equal(readIndexes("0-99999999", 100_000_000).length, 1_000_000);
});

test("a Pod without an index has -1", () => {
  assert.equal(indexOf(pod("a", "Running", { index: 3 })), 3);
  assert.equal(indexOf(pod("a", "Running")), -1);
});

test("Pods that ended are counted after their finalizer is gone", () => {
  const first = countPods(job(), [pod("a", "Succeeded"), pod("b", "Failed"), pod("c", "Running")]);
  assert.deepEqual(first, {
    succeeded: 0,
    failed: 0,
    uncounted: { succeeded: ["a"], failed: ["b"] },
    completedIndexes: [],
  });
  assert.deepEqual(totals(first), { succeeded: 1, failed: 1 });
  const noted = job({ uncountedTerminatedPods: { succeeded: ["a"], failed: ["b"] } });
  const second = countPods(noted, [pod("a", "Succeeded", { isReleased: true }), pod("b", "Failed")]);
  assert.deepEqual([second.succeeded, second.failed], [1, 0]);
  assert.deepEqual(second.uncounted, { succeeded: [], failed: ["b"] });
  assert.deepEqual(totals(second), { succeeded: 1, failed: 1 });
});

test("a Pod that is gone is counted once", () => {
  const noted = job({ succeeded: 2, uncountedTerminatedPods: { succeeded: ["gone"] } });
  const counts = countPods(noted, []);
  assert.equal(counts.succeeded, 3);
  assert.deepEqual(counts.uncounted, { succeeded: [], failed: [] });
  const after = countPods(job({ succeeded: 3, uncountedTerminatedPods: {} }), []);
  assert.equal(after.succeeded, 3);
});

test("a Pod without the finalizer was counted before", () => {
  const counts = countPods(job({ succeeded: 1 }), [pod("a", "Succeeded", { isReleased: true })]);
  assert.deepEqual(totals(counts), { succeeded: 1, failed: 0 });
});

test("a Pod that is deleted before it succeeds has failed", () => {
  const pods = [pod("a", "Running", { isDeleted: true }), pod("b", "Succeeded", { isDeleted: true })];
  assert.deepEqual(countPods(job(), pods).uncounted, { succeeded: ["b"], failed: ["a"] });
});

test("indexes that are done stay done, and only those below the completions count", () => {
  const indexed = job({ completedIndexes: "0,5-9" }, { completionMode: "Indexed", completions: 7 });
  const pods = [
    pod("a", "Succeeded", { index: 2 }),
    pod("b", "Failed", { index: 3 }),
    pod("c", "Succeeded", { index: 8 }),
  ];
  assert.deepEqual(countPods(indexed, pods).completedIndexes, [0, 2, 5, 6]);
});

test("the counters of a Job are those of its Pods", () => {
  const pods = [
    pod("a", "Running", { isReady: true }),
    pod("b", "Pending"),
    pod("c", "Running", { isDeleted: true }),
    pod("d", "Succeeded"),
  ];
  const started = job({ startTime: "2026-01-01T00:00:00Z" });
  const counts = { succeeded: 2, failed: 0, uncounted: { succeeded: ["d"], failed: [] }, completedIndexes: [0, 1, 2] };
  assert.deepEqual(countersOf(started, pods, counts), {
    startTime: "2026-01-01T00:00:00Z",
    active: 2,
    succeeded: 2,
    completedIndexes: "0-2",
    terminating: 1,
    ready: 1,
    uncountedTerminatedPods: { succeeded: ["d"] },
  });
});

test("a Job without Pods has counters all the same", () => {
  const counts = { succeeded: 0, failed: 3, uncounted: { succeeded: [], failed: [] }, completedIndexes: [] };
  assert.deepEqual(countersOf(job(), [], counts), {
    failed: 3,
    terminating: 0,
    ready: 0,
    uncountedTerminatedPods: {},
  });
});

const time = "2026-01-01T00:00:00Z";

test("a Job ends with two conditions", () => {
  const end = { type: "Failed", reason: "DeadlineExceeded", message: "m" } as const;
  const condition = {
    status: "True",
    lastProbeTime: time,
    lastTransitionTime: time,
    reason: "DeadlineExceeded",
    message: "m",
  };
  assert.deepEqual(endConditions(end, Date.parse(time)), [
    { type: "FailureTarget", ...condition },
    { type: "Failed", ...condition },
  ]);
  const [target] = endConditions({ ...end, type: "Complete" }, 0);
  assert.equal(target?.["type"], "SuccessCriteriaMet");
});

test("a Job has ended when one of its last conditions is true", () => {
  const jobWith = (type: string, status: string): KubeObject =>
    job({ conditions: [{ type, status, reason: "", lastTransitionTime: time }] });
  assert.equal(isEnded(jobWith("Complete", "True")), true);
  assert.equal(isEnded(jobWith("Failed", "True")), true);
  assert.equal(isEnded(jobWith("Complete", "False")), false);
  assert.equal(isEnded(jobWith("SuccessCriteriaMet", "True")), false);
  assert.equal(isEnded(job()), false);
});
