// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, hasFinalizer, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { fastClock, startScene } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { indexesText, isEnded, readIndexes, trackingFinalizer } from "./job-status.ts";

const jobSpec = (fields: JsonObject = {}, annotations: Readonly<Record<string, string>> = {}): JsonObject => ({
  template: {
    metadata: { annotations },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] },
  },
  ...fields,
});

test("a Job completes, counts each Pod once, and releases its Pods", async () => {
  await using scene = await startScene();
  await scene.create(kinds.job, "work", { spec: jobSpec({ completions: 3, parallelism: 2 }) });
  const job = await scene.until(kinds.job, "work", isEnded);
  assert.equal(numberAt(job, ["status", "succeeded"]), 3);
  assert.deepEqual(
    conditionsOf(job).map(({ type, reason }) => [type, reason]),
    [
      ["SuccessCriteriaMet", "CompletionsReached"],
      ["Complete", "CompletionsReached"],
    ],
  );
  const pods = await scene.list(kinds.pod);
  assert.equal(pods.length, 3);
  assert.ok(pods.every((pod) => !hasFinalizer(pod, trackingFinalizer)));
});

test("a Job whose Pods exit with an error fails at its limit", async () => {
  await using scene = await startScene();
  await scene.create(kinds.job, "work", {
    spec: jobSpec({ backoffLimit: 0 }, { "simulation.purlin.dev/outcome": "exit 3" }),
  });
  const job = await scene.until(kinds.job, "work", isEnded);
  assert.equal(numberAt(job, ["status", "failed"]), 1);
  assert.deepEqual(
    conditionsOf(job).map(({ type, reason }) => [type, reason]),
    [
      ["FailureTarget", "BackoffLimitExceeded"],
      ["Failed", "BackoffLimitExceeded"],
    ],
  );
  const [pod] = await scene.list(kinds.pod);
  const [status = {}] = objectsAt(pod ?? {}, ["status", "containerStatuses"]);
  assert.equal(numberAt(status, ["state", "terminated", "exitCode"]), 3);
});

test("an indexed Job completes each index", async () => {
  await using scene = await startScene();
  await scene.create(kinds.job, "work", {
    spec: jobSpec({ completions: 3, parallelism: 3, completionMode: "Indexed" }),
  });
  const job = await scene.until(kinds.job, "work", isEnded);
  assert.equal(stringAt(job, ["status", "completedIndexes"]), "0-2");
});

test("indexes are shown as runs", () => {
  assert.equal(indexesText([0, 1, 3, 4, 5, 9]), "0,1,3-5,9");
  assert.equal(indexesText([]), "");
  assert.deepEqual(readIndexes("0,1,3-5,9", 9), [0, 1, 3, 4, 5]);
  assert.deepEqual(readIndexes(",x,-3,2-,7", 9), [7]);
  assert.equal(readIndexes("0-99999999999", 2 ** 31).length, 1_000_000);
});

const longRun = { "simulation.purlin.dev/outcome": "exit 0", "simulation.purlin.dev/outcome-after": "1h" };

test("a Job is suspended and resumed; its Pods do not count as failed", async () => {
  await using scene = await startScene();
  await scene.create(kinds.job, "work", { spec: jobSpec({ parallelism: 2, completions: 2 }, longRun) });
  await scene.until(kinds.job, "work", (one) => numberAt(one, ["status", "ready"]) === 2);
  await scene.patch(kinds.job, "work", { spec: { suspend: true } });
  const suspended = await scene.until(kinds.job, "work", (one) => numberAt(one, ["status", "active"]) === 0);
  assert.deepEqual(
    conditionsOf(suspended).map(({ type, status, reason }) => [type, status, reason]),
    [["Suspended", "True", "JobSuspended"]],
  );
  await scene.patch(kinds.job, "work", { spec: { suspend: false } });
  const resumed = await scene.until(kinds.job, "work", (one) => numberAt(one, ["status", "ready"]) === 2);
  assert.equal(numberAt(resumed, ["status", "failed"]), 0);
});

test("a Job tries again after ten seconds, then twenty, and fails at its limit", async () => {
  await using scene = await startScene(fastClock(50));
  const exits = { "simulation.purlin.dev/outcome": "exit 1" };
  await scene.create(kinds.job, "work", { spec: jobSpec({ backoffLimit: 2 }, exits) });
  const job = await scene.until(kinds.job, "work", isEnded);
  assert.equal(numberAt(job, ["status", "failed"]), 3);
  const times = (await scene.list(kinds.pod)).map((pod) => Date.parse(stringAt(pod, ["status", "startTime"])));
  const [first = 0, second = 0, third = 0] = times.toSorted((a, b) => a - b);
  assert.ok(second - first >= 10_000 && third - second >= 20_000, times.join());
});

test("a Job is deleted when the time after its end is over, and its Pods with it", async () => {
  await using scene = await startScene(fastClock(50));
  await scene.create(kinds.job, "work", { spec: jobSpec({ ttlSecondsAfterFinished: 30 }) });
  await scene.until(kinds.job, "work", isEnded);
  await eventually("the Job and its Pod are gone", async () => {
    const lists = await Promise.all([scene.list(kinds.job), scene.list(kinds.pod)]);
    return lists.every((list) => list.length === 0);
  });
});

test("a Job that misses its deadline stops its Pods", async () => {
  await using scene = await startScene(fastClock(20));
  await scene.create(kinds.job, "work", { spec: jobSpec({ activeDeadlineSeconds: 30 }, longRun) });
  const job = await scene.until(kinds.job, "work", isEnded);
  assert.equal(conditionsOf(job).at(-1)?.reason, "DeadlineExceeded");
  await eventually("no Pod is left", async () => (await scene.list(kinds.pod)).length === 0);
});

test("an indexed Job of a billion completions starts its first Pods", async () => {
  await using scene = await startScene();
  const fields = { completions: 1_000_000_000, parallelism: 2, completionMode: "Indexed" };
  await scene.create(kinds.job, "work", { spec: jobSpec(fields, longRun) });
  await scene.until(kinds.job, "work", (one) => numberAt(one, ["status", "ready"]) === 2);
});
