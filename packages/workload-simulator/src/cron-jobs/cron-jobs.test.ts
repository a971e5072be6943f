// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@purlin/base";
import { eventually } from "@purlin/kube-controller/testing";
import { annotationOf, controllerOf, objectsAt, textAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { startScene } from "../testing/scene.ts";
import { lastBetween, readSchedule } from "./cron-schedule.ts";

const schedules: readonly (readonly [schedule: string, after: string, next: string | undefined, zone?: string])[] = [
  ["* * * * *", "2026-03-01T10:00:30Z", "2026-03-01T10:01:00Z"],
  ["*/15 * * * *", "2026-03-01T10:45:00Z", "2026-03-01T11:00:00Z"],
  ["5,35 9-17 * * mon-fri", "2026-03-06T17:35:00Z", "2026-03-09T09:05:00Z"],
  ["0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"],
  ["0 0 30 2 *", "2026-03-01T00:00:00Z", undefined],
  // Either of two restricted days.
  ["0 0 13 * fri", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z"],
  ["0 0 */2 * fri", "2026-03-01T00:00:00Z", "2026-03-13T00:00:00Z"],
  ["@daily", "2026-12-31T10:00:00Z", "2027-01-01T00:00:00Z"],
  ["@every 90s", "2026-03-01T10:00:00Z", "2026-03-01T10:01:30Z"],
  ["30 9 * * *", "2026-07-01T00:00:00Z", "2026-07-01T07:30:00Z", "Europe/Berlin"],
  // The clocks are put forward: the time does not exist on that day.
  ["30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z", "Europe/Berlin"],
];

for (const [schedule, after, next, zone] of schedules) {
  test(`the time of ${schedule} after ${after}${zone === undefined ? "" : ` in ${zone}`}`, () => {
    const found = readSchedule(schedule, zone).next(Date.parse(after));
    assert.equal(found === undefined ? undefined : new Date(found).toISOString().replace(".000", ""), next);
  });
}

test("the last time before now is found without counting all of them", () => {
  const schedule = readSchedule("* * * * *");
  const [after, now] = [Date.parse("2006-01-01T00:00:00Z"), Date.parse("2026-01-01T00:00:30Z")];
  assert.equal(lastBetween(schedule, after, now), Date.parse("2026-01-01T00:00:00Z"));
  assert.equal(lastBetween(readSchedule("0 0 1 6 *"), after, now), Date.parse("2025-06-01T00:00:00Z"));
  // Every minute of a month that is long over, by the time of a zone.
  const dense = readSchedule("* * * 1 *", "Europe/Berlin");
  const calls: number[] = [];
  const counted = { next: (time: number) => dense.next(calls.push(time) && time) };
  assert.equal(lastBetween(counted, after, Date.parse("2025-12-31T00:00:00Z")), Date.parse("2025-01-31T22:59:00Z"));
  assert.ok(calls.length < 100, `${calls.length} steps`);
  assert.equal(lastBetween(schedule, now, now), undefined);
});

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
