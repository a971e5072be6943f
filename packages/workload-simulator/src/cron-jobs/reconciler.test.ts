// SPDX-License-Identifier: Apache-2.0
// CronJobs over Jobs in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionTime, type KubeObject, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { cronJobController } from "./reconciler.ts";

const minute = 60_000;

function worldWith(spec: JsonObject = {}): World {
  const world = new World();
  const jobTemplate = { metadata: { labels: { a: "b" }, annotations: { c: "d" } }, spec: { template: {} } };
  world.put(kinds.cronJob, "tick", { spec: { schedule: "*/5 * * * *", jobTemplate, ...spec } });
  return world;
}

const step = (world: World) => world.reconcile(cronJobController, "tick");
const names = (world: World): readonly string[] => world.list(kinds.job).map(({ metadata }) => metadata.name ?? "");
const cron = (world: World): KubeObject => world.get(kinds.cronJob, "tick");
const active = (world: World): readonly string[] =>
  objectsAt(cron(world), ["status", "active"]).map((one) => stringAt(one, ["name"]));

/** Ends a Job as its controller does. */
function end(world: World, name: string, type: "Complete" | "Failed"): void {
  const time = conditionTime(world.now);
  const conditions = [{ type, status: "True", lastTransitionTime: time, reason: "" }];
  world.change(kinds.job, name, { status: { conditions, ...(type === "Complete" && { completionTime: time }) } });
}

/** The Job of a time after the start of the world. */
const nameAt = (minutes: number): string => `tick-${Date.UTC(2026, 0, 1) / minute + minutes}`;

test("nothing is started before the first time, which is waited for", async () => {
  const world = worldWith();
  world.now += minute;
  assert.deepEqual(await step(world), { requeueAfterMs: 4 * minute + 1 });
  assert.deepEqual(names(world), []);
});

test("a Job is started at its time, named after it", async () => {
  const world = worldWith();
  world.now += 5 * minute + 1;
  await step(world);
  assert.deepEqual(names(world), [nameAt(5)]);
  const job = world.get(kinds.job, nameAt(5));
  assert.deepEqual(job.metadata.labels, { a: "b" });
  assert.deepEqual(job.metadata.annotations, {
    c: "d",
    "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:05:00Z",
    "purlin.dev/simulated": "true",
  });
  assert.equal(stringAt(cron(world), ["status", "lastScheduleTime"]), "2026-01-01T00:05:00Z");
  assert.deepEqual(active(world), [nameAt(5)]);
  assert.deepEqual(world.takeEvents(), [`SuccessfulCreate: Created job ${nameAt(5)}`]);
  await step(world);
  assert.equal(names(world).length, 1);
});

test("of several times that were missed, the last one is started", async () => {
  const world = worldWith();
  world.now += 17 * minute;
  await step(world);
  assert.deepEqual(names(world), [nameAt(15)]);
});

test("a time that is missed for longer than the deadline is reported and not started", async () => {
  const world = worldWith({ startingDeadlineSeconds: 60 });
  world.now += 7 * minute;
  await step(world);
  assert.deepEqual(names(world), []);
  assert.deepEqual(world.takeEvents(), [
    "MissSchedule: Missed scheduled time to start a job: Thu, 01 Jan 2026 00:05:00 +0000",
  ]);
  world.now += 3 * minute + 30_000;
  await step(world);
  assert.deepEqual(names(world), [nameAt(10)]);
});

test("a suspended CronJob starts nothing", async () => {
  const world = worldWith({ suspend: true });
  world.now += 6 * minute;
  assert.deepEqual(await step(world), {});
  assert.deepEqual(names(world), []);
});

async function twice(concurrencyPolicy: string): Promise<World> {
  const world = worldWith({ concurrencyPolicy });
  world.now += 5 * minute;
  await step(world);
  world.takeEvents();
  world.now += 5 * minute;
  await step(world);
  return world;
}

test("Allow starts a Job beside one that runs", async () => {
  const world = await twice("Allow");
  assert.deepEqual(active(world), [nameAt(5), nameAt(10)]);
});

test("Forbid starts no Job while one runs", async () => {
  const world = await twice("Forbid");
  assert.deepEqual(names(world), [nameAt(5)]);
  assert.deepEqual(world.takeEvents(), [
    "JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid",
  ]);
  end(world, nameAt(5), "Complete");
  await step(world);
  assert.deepEqual(active(world), [nameAt(10)], "it is started as soon as the other has ended");
});

test("Replace deletes the Job that runs", async () => {
  const world = await twice("Replace");
  assert.deepEqual(names(world), [nameAt(10)]);
  assert.deepEqual(active(world), [nameAt(10)]);
  assert.deepEqual(world.takeEvents(), [
    `SuccessfulDelete: Deleted job ${nameAt(5)}`,
    `SuccessfulCreate: Created job ${nameAt(10)}`,
  ]);
});

test("a Job that ended or is gone is no longer active", async () => {
  const world = await twice("Allow");
  world.takeEvents();
  end(world, nameAt(5), "Complete");
  await world.deps.client.delete({ ...kinds.job, name: nameAt(10), namespace: "default" });
  await step(world);
  assert.deepEqual(active(world), []);
  assert.deepEqual(world.takeEvents(), [
    `SawCompletedJob: Saw completed job: ${nameAt(5)}, condition: Complete`,
    `MissingJob: Active job went missing: ${nameAt(10)}`,
  ]);
  assert.equal(stringAt(cron(world), ["status", "lastSuccessfulTime"]), "2026-01-01T00:10:00Z");
});

test("the oldest Jobs beyond the history are deleted, by how they ended", async () => {
  const world = worldWith({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 });
  for (const [at, how] of [
    [5, "Complete"],
    [10, "Failed"],
    [15, "Complete"],
  ] as const) {
    world.now = Date.UTC(2026, 0, 1) + at * minute;
    await step(world);
    end(world, nameAt(at), how);
  }
  await step(world);
  assert.deepEqual(names(world), [nameAt(15)]);
});

test("times are those of the time zone", async () => {
  const world = worldWith({ schedule: "30 5 * * *", timeZone: "Asia/Kolkata" });
  world.now += 30 * minute;
  await step(world);
  assert.deepEqual(names(world), []);
  world.now = Date.UTC(2026, 0, 2);
  await step(world);
  assert.deepEqual(names(world), [`tick-${Date.UTC(2026, 0, 2) / minute}`]);
});
