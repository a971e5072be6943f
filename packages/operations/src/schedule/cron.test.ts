// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseCron, systemClock } from "@purlin/base";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { condition, listed, operationOf, pipeline, type Scene, startScene } from "../../test/scene.ts";
import { kinds, labels } from "../names.ts";
import { createCronController } from "./cron-controller.ts";

let scene: Scene;
let offset = 0;
const minute = 60_000;
/** Once an hour, and not within the next minutes: the clock of the test comes to it, not that of the machine. */
const hourly = `${new Date(Date.now() + 30 * minute).getUTCMinutes()} * * * *`;

before(async () => {
  scene = await startScene();
  const clock = { ...systemClock, now: () => Date.now() + offset };
  await scene.control.run(createCronController({ ...scene.deps, clock }));
});
after(() => scene[Symbol.asyncDispose]());

const cron = (name: string, spec: JsonObject, metadata: JsonObject = {}): KubeObject =>
  ({
    ...kinds.cron,
    metadata: { name, ...metadata },
    spec: { operationTemplate: { spec: pipeline("f") }, ...spec },
  }) as KubeObject;
const scheduling = (text: string) => (one: KubeObject) => condition(one, "Scheduling").startsWith(text);
const patch = (name: string, change: JsonObject) =>
  scene.control.users.patch({ ...kinds.cron, name }, change, { type: "merge" });
const operationsOf = async (name: string): Promise<readonly KubeObject[]> =>
  (await scene.list(kinds.operation)).filter(
    ({ metadata }) => metadata.labels?.["ops.crossplane.io/cronoperation"] === name,
  );
/** Wakes a CronOperation with the clock some minutes ahead, and waits for its pass. */
async function pass(name: string, minutes: number): Promise<KubeObject> {
  offset = minutes * minute;
  const token = String(Math.random());
  await patch(name, {
    metadata: { annotations: { token } },
    spec: { startingDeadlineSeconds: 100_000 + Math.floor(Math.random() * 1e6) },
  });
  const { metadata } = await scene.control.users.get(kinds.cron, { name });
  return scene.until(kinds.cron, name, (one) => {
    const found = (one["status"] as { conditions?: { type: string; observedGeneration?: number }[] })?.conditions;
    return found?.find(({ type }) => type === "Synced")?.observedGeneration === metadata.generation;
  });
}

test("an Operation has the template's metadata, the label, its times and a controller", async () => {
  offset = 0;
  const template = { metadata: { labels: { team: "a" }, annotations: { note: "b" } }, spec: pipeline("f") };
  await scene.create(cron("once", { schedule: hourly, operationTemplate: template }));
  await scene.until(kinds.cron, "once", scheduling("True ScheduleActive"));
  const done = await pass("once", 60);
  const [operation, ...others] = await operationsOf("once");
  assert.equal(others.length, 0, "one late run");
  assert.deepEqual(operation?.metadata.labels, { team: "a", "ops.crossplane.io/cronoperation": "once" });
  const slot = Date.parse(operation?.metadata.annotations?.["purlin.dev/scheduled-time"] ?? "");
  assert.equal(operation?.metadata.name, `once-${slot / 1000}`);
  assert.equal(operation?.metadata.annotations?.["note"], "b");
  assert.deepEqual(
    operation?.metadata.ownerReferences?.map(({ kind, controller, blockOwnerDeletion }) => [
      kind,
      controller,
      blockOwnerDeletion,
    ]),
    [["CronOperation", true, true]],
  );
  assert.equal(condition(done, "Synced"), "True ReconcileSuccess");
  assert.deepEqual(memberAt(done, ["status", "runningOperationRefs"]), [{ name: operation?.metadata.name }]);
});

for (const [name, schedule, text] of [
  [
    "bad",
    "60 * * * *",
    'cannot parse cron schedule "60 * * * *": cannot parse cron schedule: end of range (60) above maximum (59): 60',
  ],
  [
    "zone",
    "TZ=UTC",
    'cannot parse cron schedule "TZ=UTC": cannot parse cron schedule: no schedule after the time zone: TZ=UTC',
  ],
  ["never", "0 0 30 2 *", 'schedule "0 0 30 2 *" never comes'],
] as const) {
  test(`the schedule ${schedule} is a condition, and no Operation`, async () => {
    await scene.create(cron(name, { schedule }));
    const refused = await scene.until(kinds.cron, name, scheduling("False"));
    assert.equal(condition(refused, "Scheduling"), `False ScheduleInvalid: ${text}`);
    assert.equal(condition(refused, "Synced"), `False ReconcileError: ${text}`);
    assert.ok(scene.control.events.texts().includes(`Warning InvalidSchedule: ${text}`));
    await patch(name, { spec: { schedule: hourly } });
    const repaired = await scene.until(kinds.cron, name, scheduling("True"));
    assert.equal(condition(repaired, "Synced"), "True ReconcileSuccess");
    assert.deepEqual(await operationsOf(name), []);
  });
}

test("a paused CronOperation skips its times, and continues when it is resumed", async () => {
  offset = 0;
  await scene.create(cron("paused", { schedule: hourly }, { annotations: { "crossplane.io/paused": "true" } }));
  const paused = await scene.until(kinds.cron, "paused", scheduling("False SchedulePaused"));
  assert.match(condition(paused, "Synced"), /^False ReconcilePaused/);
  offset = 60 * minute;
  await patch("paused", { metadata: { annotations: { "crossplane.io/paused": null } } });
  await scene.until(kinds.cron, "paused", scheduling("True ScheduleActive"));
  assert.deepEqual(await operationsOf("paused"), []);
  await pass("paused", 120);
  assert.equal((await operationsOf("paused")).length, 1);
});

test("Forbid creates no second Operation, Replace deletes the running one", async () => {
  for (const [name, policy] of [
    ["forbid", "Forbid"],
    ["replace", "Replace"],
  ] as const) {
    offset = 0;
    await scene.create(cron(name, { schedule: hourly, concurrencyPolicy: policy }));
    await scene.until(kinds.cron, name, scheduling("True"));
    await pass(name, 60);
    const [first] = await operationsOf(name);
    await pass(name, 120);
    const left = await operationsOf(name);
    assert.equal(left.length, 1);
    assert.equal(left[0]?.metadata.name === first?.metadata.name, policy === "Forbid");
  }
});

test("of many Operations that run at the same time the newest 100 are listed, and a condition says so", async () => {
  offset = 0;
  const owner = await scene.create(cron("slow", { schedule: hourly }));
  await scene.until(kinds.cron, "slow", scheduling("True"));
  const names = Array.from({ length: 102 }, (_, at) => `slow-${1_700_000_000 + at}`);
  for (const name of names) await scene.create(operationOf(owner, { name, label: labels.cron }));
  const isFull = (one: KubeObject): boolean => condition(one, "Synced").includes("more than 100 Operations");
  const full = await scene.until(kinds.cron, "slow", (one) => isFull(one) && listed(one).at(-1) === names.at(-1));
  assert.deepEqual(listed(full), names.slice(2));
  assert.match(condition(full, "Synced"), /^True .*kubectl get operations -l ops.crossplane.io\/cronoperation=slow/);
  for (const name of names.slice(0, 2)) await scene.control.users.delete({ ...kinds.operation, name });
  const fewer = await scene.until(kinds.cron, "slow", (one) => !isFull(one));
  assert.equal(condition(fewer, "Synced"), "True ReconcileSuccess");
  assert.equal(listed(fewer).length, 100);
});

test("with a history of none an Operation that is done is deleted, and the times of the last one stay", async () => {
  offset = 0;
  await scene.create(cron("none", { schedule: hourly, successfulHistoryLimit: 0 }));
  await scene.until(kinds.cron, "none", scheduling("True"));
  await pass("none", 60);
  const timeOf = (name: string) => (one: KubeObject) => memberAt(one, ["status", name]);
  const lastScheduleTime = timeOf("lastScheduleTime")(
    await scene.until(kinds.cron, "none", (one) => timeOf("lastScheduleTime")(one) !== undefined),
  );
  const [made] = await operationsOf("none");
  assert.ok(made);
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const succeeded = { type: "Succeeded", status: "True", reason: "PipelineSuccess", lastTransitionTime };
  await scene.control.users.update({ ...made, status: { conditions: [succeeded] } }, { subresource: "status" });
  await eventually("it is deleted", async () => (await operationsOf("none")).length === 0);
  const after = await pass("none", 61);
  assert.equal(timeOf("lastScheduleTime")(after), lastScheduleTime);
  assert.equal(timeOf("lastSuccessfulTime")(after), lastTransitionTime);
  assert.deepEqual(await operationsOf("none"), [], "the time is not run again");
});

test("an Operation that exists counts as scheduled", async () => {
  offset = 0;
  const stored = await scene.create(cron("crash", { schedule: hourly }));
  await scene.until(kinds.cron, "crash", scheduling("True"));
  const slot = parseCron(hourly).next(Date.parse(stored.metadata.creationTimestamp ?? "")) ?? 0;
  const name = `crash-${slot / 1000}`;
  await scene.create({ ...kinds.operation, metadata: { name }, spec: pipeline("f") });
  const done = await pass("crash", 60);
  assert.equal(condition(done, "Synced"), "True ReconcileSuccess");
  assert.ok(!scene.control.events.texts().some((text) => text.includes("CreateOperation")));
});

test("a starting deadline that no Operation can meet is a condition", async () => {
  await scene.create(cron("hasty", { schedule: hourly, startingDeadlineSeconds: 0 }));
  const refused = await scene.until(kinds.cron, "hasty", scheduling("False"));
  assert.equal(
    condition(refused, "Scheduling"),
    "False ScheduleInvalid: spec.startingDeadlineSeconds must be 1 or more: no Operation could start in time",
  );
  await patch("hasty", { spec: { startingDeadlineSeconds: 1 } });
  await scene.until(kinds.cron, "hasty", scheduling("True"));
});

test("a CronOperation whose name is too long for a label says so", async () => {
  const name = "n".repeat(64);
  await scene.create(cron(name, { schedule: hourly }));
  const refused = await scene.until(kinds.cron, name, scheduling("False"));
  assert.match(condition(refused, "Scheduling"), /metadata.name must have no more than 63 characters/);
});
