// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, conditionTime, type KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import {
  bounds,
  byAge,
  deploymentStatus,
  isComplete,
  nextJudgmentMs,
  nextSize,
  progressDeadlineMs,
  rolloutStatus,
  sizeAnnotations,
} from "./rollout.ts";

const now = Date.UTC(2026, 0, 1);
const at = (seconds: number): string => conditionTime(now + seconds * 1000);

const deployment = (spec: JsonObject = {}, status: JsonObject = {}): KubeObject => ({
  ...kinds.deployment,
  metadata: { name: "web", generation: 2 },
  spec,
  status,
});
const rolling = (maxSurge: number | string, maxUnavailable: number | string, replicas = 10): KubeObject =>
  deployment({ replicas, strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } } });

const limits: readonly (readonly [of: KubeObject, surge: number, unavailable: number, why: string])[] = [
  [rolling(1, 2), 1, 2, "numbers are taken as they are"],
  [rolling("25%", "25%"), 3, 2, "a surge is rounded up, and what may lack is rounded down"],
  [rolling(0, 0), 0, 1, "one Pod may lack when nothing else is allowed"],
  [rolling("0%", "1%"), 0, 1, "shares that come to nothing let one Pod lack"],
  [rolling(1, 5, 3), 1, 3, "no more can lack than are wanted"],
  [rolling("25%", "25%", 0), 0, 0, "nothing is wanted"],
  [deployment({ replicas: 3, strategy: { type: "Recreate" } }), 0, 0, "Pods that are recreated have no bounds"],
];

for (const [of, surge, unavailable, why] of limits) {
  test(`bounds of a rollout: ${why}`, () => assert.deepEqual(bounds(of), { surge, unavailable }));
}

const set = (name: string, replicas: number, status: JsonObject = {}, metadata: JsonObject = {}): KubeObject => ({
  ...kinds.replicaSet,
  metadata: { name, creationTimestamp: at(0), ...metadata },
  spec: { replicas },
  status,
});

test("the new ReplicaSet grows as far as the surge allows", () => {
  const wanted = rolling(3, 0);
  assert.equal(nextSize(wanted, [set("old", 10)], 0), 3);
  assert.equal(nextSize(wanted, [set("old", 10), set("new", 3)], 3), 3);
  assert.equal(nextSize(wanted, [set("old", 5), set("new", 3)], 3), 8);
  assert.equal(nextSize(wanted, [set("old", 0), set("new", 8)], 8), 10);
  assert.equal(nextSize(wanted, [set("old", 15)], 0), 0);
});

test("a Deployment that recreates its Pods takes its whole size at once", () => {
  assert.equal(nextSize(deployment({ replicas: 4, strategy: { type: "Recreate" } }), [set("old", 4)], 0), 4);
});

test("a ReplicaSet remembers the size of its Deployment", () => {
  assert.deepEqual(sizeAnnotations(rolling("25%", 0)), {
    "deployment.kubernetes.io/desired-replicas": "10",
    "deployment.kubernetes.io/max-replicas": "13",
  });
});

test("ReplicaSets are ordered by age, then by name", () => {
  const sets = [set("b", 0), set("c", 0, {}, { creationTimestamp: at(-5) }), set("a", 0)];
  assert.deepEqual(
    sets.toSorted(byAge).map(({ metadata }) => metadata.name),
    ["c", "a", "b"],
  );
});

test("a deadline of the largest number has no effect", () => {
  assert.equal(progressDeadlineMs(deployment({ progressDeadlineSeconds: 600 })), 600_000);
  assert.equal(progressDeadlineMs(deployment({ progressDeadlineSeconds: 2_147_483_647 })), undefined);
  assert.equal(progressDeadlineMs(deployment()), undefined);
});

const available = { type: "Available", lastUpdateTime: at(0), lastTransitionTime: at(0) };
const minimum = {
  ...available,
  status: "True",
  reason: "MinimumReplicasAvailable",
  message: "Deployment has minimum availability.",
};

test("a status adds up the ReplicaSets", () => {
  const old = set("old", 1, { replicas: 2, readyReplicas: 1, availableReplicas: 1, terminatingReplicas: 1 });
  const current = set("new", 3, { replicas: 3, readyReplicas: 2, availableReplicas: 2 });
  const status = deploymentStatus({ deployment: rolling(1, 1, 4), old: [old], current }, now);
  assert.deepEqual(status, {
    observedGeneration: 2,
    replicas: 5,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    unavailableReplicas: 1,
    conditions: [minimum],
    terminatingReplicas: 1,
  });
});

test("counters of zero are left out, but for the Pods that end", () => {
  const status = deploymentStatus({ deployment: rolling(1, 0, 1), old: [], current: undefined }, now);
  assert.deepEqual(status, {
    observedGeneration: 2,
    conditions: [
      {
        ...available,
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability.",
      },
    ],
    terminatingReplicas: 0,
  });
});

test("more Pods than are wanted are not unavailable", () => {
  const current = set("new", 1, { replicas: 3, availableReplicas: 3 });
  const status = deploymentStatus({ deployment: rolling(1, 0, 1), old: [], current }, now);
  assert.equal(status["unavailableReplicas"], undefined);
});

test("the number of collisions is kept", () => {
  const source = { deployment: deployment({}, { collisionCount: 2 }), old: [], current: undefined };
  assert.equal(deploymentStatus(source, now)["collisionCount"], 2);
});

const progressing = (reason: string, seconds: number, status = "True"): JsonObject => ({
  type: "Progressing",
  status,
  reason,
  message: "m",
  lastUpdateTime: at(seconds),
  lastTransitionTime: at(seconds),
});

interface Judged {
  readonly before?: JsonObject;
  readonly current?: JsonObject;
  readonly condition?: JsonObject;
  readonly deadline?: number;
}

/** The condition Progressing of a Deployment of two replicas, whose ReplicaSet has counters. */
function judged({ before = {}, current = {}, condition, deadline = 60 }: Judged): JsonObject | undefined {
  const spec = { replicas: 2, progressDeadlineSeconds: deadline };
  const of = deployment(spec, { ...before, ...(condition && { conditions: [condition] }) });
  const status = rolloutStatus({ deployment: of, old: [], current: set("web-1", 2, current) }, now);
  return conditionsOf({ status }).find(({ type }) => type === "Progressing");
}

const done = { replicas: 2, readyReplicas: 2, availableReplicas: 2 };

test("a rollout that is done has progressed", () => {
  assert.deepEqual(judged({ current: done, condition: progressing("ReplicaSetUpdated", -5) }), {
    ...progressing("NewReplicaSetAvailable", 0),
    message: 'ReplicaSet "web-1" has successfully progressed.',
    lastTransitionTime: at(-5),
  });
});

test("a rollout that was done before is not judged again", () => {
  const condition = progressing("NewReplicaSetAvailable", -5000);
  assert.deepEqual(judged({ current: { replicas: 2 }, condition }), condition);
});

test("each sign of progress moves the time of the update, not that of the transition", () => {
  const progress = { ...progressing("ReplicaSetUpdated", 0), message: 'ReplicaSet "web-1" is progressing.' };
  const condition = progressing("ReplicaSetUpdated", -50);
  const kept = { ...progress, lastTransitionTime: at(-50) };
  assert.deepEqual(judged({ current: { replicas: 1 }, condition }), kept);
  assert.deepEqual(
    judged({ before: { replicas: 1, updatedReplicas: 1 }, current: { replicas: 1, readyReplicas: 1 }, condition }),
    kept,
  );
  assert.deepEqual(judged({ before: { replicas: 3, updatedReplicas: 2 }, current: { replicas: 2 }, condition }), kept);
  assert.deepEqual(
    judged({ current: { replicas: 1 }, condition: progressing("ProgressDeadlineExceeded", -50, "False") }),
    progress,
  );
});

test("a rollout without progress keeps its condition until the deadline", () => {
  const counters = { replicas: 1 };
  const before = { replicas: 1, updatedReplicas: 1 };
  const condition = (seconds: number): JsonObject => progressing("ReplicaSetUpdated", seconds);
  assert.deepEqual(judged({ before, current: counters, condition: condition(-60) }), condition(-60));
  assert.deepEqual(judged({ before, current: counters, condition: condition(-61) }), {
    ...progressing("ProgressDeadlineExceeded", 0, "False"),
    message: 'ReplicaSet "web-1" has timed out progressing.',
  });
});

test("a rollout that exceeded its deadline stays so", () => {
  const condition = progressing("ProgressDeadlineExceeded", -500, "False");
  assert.deepEqual(
    judged({ before: { replicas: 1, updatedReplicas: 1 }, current: { replicas: 1 }, condition }),
    condition,
  );
});

test("a Deployment without a deadline has no such condition", () => {
  assert.equal(
    judged({ current: done, deadline: 2_147_483_647, condition: progressing("ReplicaSetUpdated", 0) }),
    undefined,
  );
});

test("without a ReplicaSet the Deployment is named", () => {
  const of = deployment({ replicas: 0, progressDeadlineSeconds: 60 });
  const status = rolloutStatus({ deployment: of, old: [], current: undefined }, now);
  assert.equal(conditionsOf({ status }).at(-1)?.message, 'Deployment "web" has successfully progressed.');
});

const failed = (message: string): JsonObject => ({
  conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message, lastTransitionTime: at(-9) }],
});

test("the failure of a ReplicaSet is that of its Deployment, the newest first, until it is gone", () => {
  const of = deployment({ replicas: 1 });
  const failureOf = (old: JsonObject, current: JsonObject): string | undefined => {
    const status = rolloutStatus({ deployment: of, old: [set("a", 1, old)], current: set("b", 1, current) }, now);
    return conditionsOf({ status }).find(({ type }) => type === "ReplicaFailure")?.message;
  };
  assert.equal(failureOf(failed("old"), failed("new")), "new");
  assert.equal(failureOf(failed("old"), {}), "old");
  assert.equal(failureOf({}, {}), undefined);
});

test("a rollout is complete when all Pods are new and available, and the generation was seen", () => {
  const full = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
  const of = deployment({ replicas: 2 });
  assert.equal(isComplete(of, full), true);
  assert.equal(isComplete(of, { ...full, observedGeneration: 1 }), false);
  for (const counter of ["replicas", "updatedReplicas", "availableReplicas"]) {
    assert.equal(isComplete(of, { ...full, [counter]: 1 }), false, counter);
    assert.equal(isComplete(of, { ...full, [counter]: 3 }), false, counter);
  }
});

test("a rollout is judged again after its deadline", () => {
  const of = deployment({ replicas: 2, progressDeadlineSeconds: 60 });
  const delay = (condition: JsonObject | undefined): number | undefined =>
    nextJudgmentMs(of, { ...(condition && { conditions: [condition] }) }, now);
  assert.equal(delay(progressing("ReplicaSetUpdated", -10)), 51_000);
  assert.equal(delay(progressing("ReplicaSetUpdated", -100)), 1001);
  assert.equal(delay(progressing("ProgressDeadlineExceeded", 0, "False")), undefined);
  assert.equal(delay(undefined), undefined);
  const full = { observedGeneration: 2, ...done, updatedReplicas: 2, conditions: [progressing("x", 0)] };
  assert.equal(nextJudgmentMs(of, full, now), undefined);
});
