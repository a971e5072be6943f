// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, hasFinalizer, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { startScene } from "../testing/scene.ts";
import { indexesText, isEnded, trackingFinalizer } from "./job-status.ts";

const jobSpec = (fields: JsonObject = {}, annotations: Readonly<Record<string, string>> = {}): JsonObject => ({
  template: {
    metadata: { annotations },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] },
  },
  ...fields,
});

test("a Job completes, counts each Pod once, and lets go of its Pods", async () => {
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
});
