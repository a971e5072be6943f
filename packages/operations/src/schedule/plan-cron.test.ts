// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCron } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { createDueTimes, handledUntil, planCron, runningOf, scheduledUntil, surplusOf } from "./plan-cron.ts";

const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`);
const iso = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString().slice(11, 19);

const cron = (spec: JsonObject = {}, status: JsonObject = {}): KubeObject => ({
  apiVersion: "ops.crossplane.io/v1alpha1",
  kind: "CronOperation",
  metadata: { name: "c", creationTimestamp: "2026-01-01T12:00:30Z" },
  spec: { schedule: "* * * * *", ...spec },
  status,
});
const made = (name: string, succeeded: "True" | "False" | "", metadata: JsonObject = {}): KubeObject => ({
  apiVersion: "ops.crossplane.io/v1alpha1",
  kind: "Operation",
  metadata: { name, creationTimestamp: "2026-01-01T12:01:00Z", ...metadata },
  status: {
    conditions: succeeded === "" ? [] : [{ type: "Succeeded", status: succeeded, reason: "", lastTransitionTime: "" }],
  },
});
const plan = (now: string, one: KubeObject = cron(), operations: readonly KubeObject[] = []) => {
  const { due, next } = planCron({
    cron: one,
    operations,
    schedule: parseCron((one["spec"] as { schedule: string }).schedule),
    now: at(now),
  });
  return [iso(due), iso(next)];
};

test("the first time is the first one after the creation", () => {
  assert.deepEqual(plan("12:00:40"), [undefined, "12:01:00"]);
  assert.deepEqual(plan("12:01:00"), ["12:01:00", "12:02:00"]);
});

test("of five missed times the earliest runs, and all five are handled", () => {
  assert.deepEqual(plan("12:05:20"), ["12:01:00", "12:06:00"]);
  const late = made("c-1", "True", { annotations: { "purlin.dev/handled-until": "2026-01-01T12:05:20Z" } });
  assert.deepEqual(plan("12:05:20", cron(), [late]), [undefined, "12:06:00"]);
});

test("a time that missed its deadline is skipped, and the next one runs", () => {
  const strict = cron({ startingDeadlineSeconds: 30, schedule: "*/10 * * * *" });
  assert.deepEqual(plan("12:15:00", strict), [undefined, "12:20:00"]);
  assert.deepEqual(plan("12:20:00", strict), ["12:20:00", "12:30:00"]);
  assert.deepEqual(plan("12:20:30", strict), ["12:20:00", "12:30:00"]);
  assert.deepEqual(plan("12:20:00", cron({ startingDeadlineSeconds: 0 })), ["12:20:00", "12:21:00"]);
});

test("Forbid waits for the running Operation, and then runs the earliest missed time", () => {
  const forbid = cron({ concurrencyPolicy: "Forbid" });
  const first = { annotations: { "purlin.dev/handled-until": "2026-01-01T12:01:00Z" } };
  assert.deepEqual(plan("12:03:10", forbid, [made("c-1", "", first)]), [undefined, "12:04:00"]);
  assert.deepEqual(plan("12:03:10", forbid, [made("c-1", "True", first)]), ["12:02:00", "12:04:00"]);
});

test("an Operation that has not started counts as running", () => {
  assert.deepEqual(
    runningOf([made("b", ""), made("a", ""), made("c", "True"), made("d", "False")]).map(
      ({ metadata }) => metadata.name,
    ),
    ["a", "b"],
  );
});

test("times before a CronOperation was resumed do not count", () => {
  const resumed = {
    conditions: [{ type: "Scheduling", status: "True", reason: "", lastTransitionTime: "2026-01-01T12:09:30Z" }],
  };
  assert.deepEqual(plan("12:09:40", cron({}, resumed)), [undefined, "12:10:00"]);
});

test("an Operation of another clock counts by the time in its name", () => {
  const name = `c-${at("12:04:00") / 1000}`;
  assert.equal(handledUntil({ cron: cron(), operations: [made(name, "True")], now: at("12:05:00") }), at("12:04:00"));
});

test("a time far ahead comes from a wrong clock: the schedule continues from now", () => {
  const wrong = cron({}, { lastScheduleTime: "2027-01-01T00:00:00Z" });
  assert.deepEqual(plan("12:01:00", wrong), [undefined, "12:02:00"]);
  assert.equal(scheduledUntil({ cron: wrong, operations: [], now: at("12:01:00") }), at("12:01:00"), "it is repaired");
  const created = { ...cron(), metadata: { name: "c", creationTimestamp: "2027-01-01T00:00:00Z" } };
  assert.deepEqual(plan("12:01:00", created), [undefined, "12:02:00"]);
  const ahead = cron({}, { lastScheduleTime: "2026-01-01T12:30:00Z" });
  assert.deepEqual(plan("12:01:00", ahead), [undefined, "12:31:00"]);
});

test("an Operation that ran early because of a wrong clock is not repeated when its time comes", () => {
  const early = made(`c-${at("12:02:00") / 1000}`, "True", {
    annotations: { "purlin.dev/handled-until": "2027-01-01T00:00:00Z" },
  });
  const stored = cron({}, { lastScheduleTime: "2027-01-01T00:00:00Z" });
  assert.deepEqual(plan("12:02:00", stored, [early]), [undefined, "12:03:00"]);
  assert.deepEqual(plan("12:03:00", stored, [early]), ["12:03:00", "12:04:00"]);
});

test("history keeps the newest of each outcome, and everything that has not ended", () => {
  const many = [1, 2, 3, 4, 5].map((n) => made(`t${n}`, "True", { creationTimestamp: `2026-01-01T12:0${n}:00Z` }));
  const failed = [1, 2, 3].map((n) => made(`f${n}`, "False", { creationTimestamp: `2026-01-01T12:0${n}:00Z` }));
  const open = [made("u1", ""), made("u2", "")];
  const names = (owner: KubeObject) =>
    surplusOf(owner, [...many, ...failed, ...open]).map(({ metadata }) => metadata.name);
  assert.deepEqual(names(cron({ successfulHistoryLimit: 3, failedHistoryLimit: 1 })), ["t1", "t2", "f1", "f2"]);
  assert.equal(names(cron({ successfulHistoryLimit: 0, failedHistoryLimit: 0 })).length, 8);
});

test("of Operations that were created in the same second, history keeps the one that changed last", () => {
  const created = { creationTimestamp: "2026-01-01T12:00:00Z" };
  const ended = [
    made("a", "True", { ...created, resourceVersion: "1000" }),
    made("b", "True", { ...created, resourceVersion: "999" }),
    made("c", "True", { ...created, resourceVersion: "998" }),
  ];
  const surplus = surplusOf(cron({ successfulHistoryLimit: 1 }), ended);
  assert.deepEqual(
    surplus.map(({ metadata }) => metadata.name),
    ["c", "b"],
  );
});

/** One schedule under a clock: it plans whenever it is woken, and remembers what is stored, as after a crash. */
class Simulation {
  readonly runs: number[] = [];
  #operations: KubeObject[] = [];
  #scheduled: number | undefined;

  pass(now: number, one: KubeObject): number | undefined {
    const schedule = parseCron((one["spec"] as { schedule: string }).schedule);
    const lastScheduleTime = this.#scheduled === undefined ? "" : new Date(this.#scheduled).toISOString();
    const facts = { cron: { ...one, status: { lastScheduleTime } }, operations: this.#operations, schedule, now };
    const { due, next } = planCron(facts);
    this.#scheduled = due === undefined ? scheduledUntil(facts) : now;
    const name = `c-${(due ?? 0) / 1000}`;
    if (due === undefined || this.#operations.some(({ metadata }) => metadata.name === name)) return next;
    this.runs.push(due);
    const annotations = { "purlin.dev/handled-until": new Date(Math.max(due, now)).toISOString() };
    this.#operations = [...this.#operations.slice(-2), made(name, "True", { annotations })];
    return next;
  }
}

function randomFrom(start: number): () => number {
  let seed = start;
  return () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
}

test("1,000 schedules with passes at random times, crashes and sleeps: each time runs once, late ones once", () => {
  const random = randomFrom(17);
  for (let count = 0; count < 1000; count++) {
    const minutes = 1 + Math.floor(random() * 30);
    const one = cron({ schedule: `*/${minutes} * * * *` });
    const simulation = new Simulation();
    let now = at("12:00:30");
    const sleeps: [from: number, to: number][] = [];
    while (now < at("15:00:00")) {
      const next = simulation.pass(now, one) ?? now;
      // On time, a little early after a crash, or long after a sleep.
      const kind = random();
      const from = now;
      now =
        kind < 0.2 ? now + 1 + random() * Math.max(0, next - now - 1) : kind < 0.9 ? next : next + random() * 3_600_000;
      if (kind >= 0.9) sleeps.push([from, now]);
    }
    const runs = simulation.runs;
    assert.deepEqual(runs, [...new Set(runs)].sort(), "no time runs twice");
    const schedule = parseCron(`*/${minutes} * * * *`);
    const ran = new Set(runs);
    for (
      let slot = schedule.next(at("12:00:30"));
      slot !== undefined && slot <= (runs.at(-1) ?? 0);
      slot = schedule.next(slot)
    ) {
      const time = slot;
      const slept = sleeps.find(([from, to]) => from < time && time <= to);
      if (slept === undefined) assert.ok(ran.has(slot), `${iso(slot)} of */${minutes} never ran`);
    }
    for (const [from, to] of sleeps) {
      const late = runs.filter((time) => from < time && time < to - 1);
      if (to < at("15:00:00")) assert.ok(late.length <= 1, "a sleep causes one late run at most");
    }
  }
});

/** Two hours with a clock that jumps now and then, and is right again a while later; then two hours with a right clock. */
function jumping(
  jumps: readonly number[],
  random: () => number,
): { readonly wrong: number[]; readonly right: number[] } {
  const simulation = new Simulation();
  let [real, offset] = [at("12:00:30"), 0];
  while (real < at("14:00:00")) {
    const now = real + offset;
    const next = simulation.pass(now, cron({ schedule: "*/5 * * * *" })) ?? now;
    real += Math.min(Math.max(1, next - now), 60_000);
    offset = random() < 0.03 ? (jumps[Math.floor(random() * jumps.length)] ?? 0) : random() < 0.2 ? 0 : offset;
  }
  const wrong = simulation.runs.splice(0);
  for (let now = at("14:00:10"); now < at("17:00:00"); now += 60_000) {
    simulation.pass(now, cron({ schedule: "*/5 * * * *" }));
  }
  return { wrong, right: simulation.runs };
}

test("a clock that jumps by minutes, both ways: no time runs twice, and each one after it is right runs", () => {
  const random = randomFrom(4);
  for (let count = 0; count < 40; count++) {
    const { wrong, right } = jumping([-1_800_000, -90_000, 90_000, 1_800_000], random);
    const runs = [...wrong, ...right];
    assert.equal(runs.length, new Set(runs).size, "no time runs twice");
    assert.ok(right.filter((time) => time >= at("14:35:00")).length === 29, "every time runs");
  }
});

test("a clock that jumps by hours, days or a year: each time after it is right runs once", () => {
  const random = randomFrom(5);
  for (let count = 0; count < 40; count++) {
    const { right } = jumping([-86_400_000, -7_200_000, 7_200_000, 31_536_000_000], random);
    assert.equal(right.length, new Set(right).size, "no time runs twice");
    assert.ok(right.filter((time) => time >= at("15:05:00")).length === 23, "every time runs");
  }
});

test("one timer wakes all keys, and a clock that is set finds its times again", () => {
  const clock = manualClock(at("12:00:00"));
  const woken: string[] = [];
  let shift = 0;
  const times = createDueTimes(
    { now: () => clock.now() + shift, schedule: (delay, task) => clock.schedule(delay, task) },
    (key) => woken.push(key),
  );
  for (let index = 0; index < 1000; index++) times.set(`k${index}`, at("12:00:10") + index * 1000);
  assert.equal(clock.waiting, 1);
  clock.advance(12_000);
  assert.deepEqual(woken, ["k0", "k1", "k2"]);
  // The machine sleeps until half past: within a minute all that is due is woken.
  shift = 1_800_000;
  clock.advance(60_000);
  assert.equal(woken.length, 1000);
  times.set("far", at("18:00:00"));
  shift = 0;
  clock.advance(60_000);
  assert.deepEqual(woken.slice(1000), ["far"], "a clock that was set back wakes every key");
  times.close();
  assert.equal(clock.waiting, 0);
});

test("a key whose time is set again and again is woken once, at the last time", () => {
  const clock = manualClock(at("12:00:00"));
  const woken: string[] = [];
  const times = createDueTimes(clock, (key) => woken.push(`${key} ${iso(clock.now())}`));
  for (let count = 0; count < 1000; count++) {
    times.set("a", undefined);
    times.set("a", at("12:00:30"));
    times.set("b", at("12:00:01") + count);
  }
  times.set("b", undefined);
  clock.advance(60_000);
  assert.deepEqual(woken, ["a 12:00:30"]);
});
