// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@purlin/base";
import { eventually } from "@purlin/kube-controller/testing";
import { annotationOf, controllerOf, objectsAt, textAt } from "@purlin/kube-objects/object";
import { startScene } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

const cronSpec = (schedule: string, fields: object = {}) => ({
  spec: {
    schedule,
    jobTemplate: {
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } } },
    },
    ...fields,
  },
});

/** A minute that is neither about to come nor just over. */
const minute = new Date(Date.now() + 30 * 60_000).getUTCMinutes();

/** A day later than the server, so that each CronJob has missed a time. */
const tomorrow = { ...systemClock, now: () => Date.now() + 24 * 3_600_000 };

test("a CronJob starts the Job of the last time that it missed, and notes its end", async () => {
  await using scene = await startScene(tomorrow);
  await scene.create(kinds.cronJob, "nightly", cronSpec(`${minute} * * * *`));
  await scene.create(kinds.cronJob, "paused", cronSpec(`${minute} * * * *`, { suspend: true }));
  const cron = await scene.until(
    kinds.cronJob,
    "nightly",
    (one) =>
      textAt(one, ["status", "lastSuccessfulTime"]) !== undefined && objectsAt(one, ["status", "active"]).length === 0,
  );
  const jobs = await scene.list(kinds.job);
  assert.equal(jobs.length, 1);
  const [job] = jobs;
  assert.equal(job && controllerOf(job)?.name, "nightly");
  const time = textAt(cron, ["status", "lastScheduleTime"]) ?? "";
  assert.equal(job && annotationOf(job, "batch.kubernetes.io/cronjob-scheduled-timestamp"), time);
  assert.equal(job?.metadata.name, `nightly-${Date.parse(time) / 60_000}`);
  await eventually("its events", async () => {
    const reasons = await scene.reasons(cron);
    return reasons.join() === "SuccessfulCreate,SawCompletedJob";
  });
});

test("a CronJob whose deadline to start is over starts nothing", async () => {
  await using scene = await startScene(tomorrow);
  const spec = cronSpec(`${minute} * * * *`, { startingDeadlineSeconds: 10 });
  const cron = await scene.create(kinds.cronJob, "late", spec);
  await eventually("it is missed", async () => (await scene.reasons(cron)).includes("MissSchedule"));
  assert.deepEqual(await scene.list(kinds.job), []);
});
