// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type Gate, type RolloutPlan, readPlan } from "./plan.ts";

const read = (spec: JsonObject = {}): RolloutPlan => readPlan({ spec });
const steps = (...list: readonly JsonObject[]): RolloutPlan["steps"] => read({ steps: [...list] }).steps;
const gates = (...list: readonly JsonObject[]): readonly Gate[] => read({ healthGates: [...list] }).gates;

describe("targets", () => {
  test("one Function, several Functions, or a Composition", () => {
    assert.deepEqual(read({ functionRef: { name: "f" } }).functions, ["f"]);
    assert.deepEqual(read({ functionRefs: [{ name: "f" }, { name: "g" }] }).functions, ["f", "g"]);
    const { composition, functions } = read({ compositionRef: { name: "c" } });
    assert.deepEqual([composition, functions], ["c", []]);
  });

  test("labels of Compositions and of the canary", () => {
    const labels = { tier: "gold" };
    const plan = read({ compositionSelector: { matchLabels: labels }, compositeSelector: { matchLabels: labels } });
    assert.deepEqual([plan.compositionLabels, plan.canary], [labels, labels]);
    assert.deepEqual([read().compositionLabels, read().canary], [{}, undefined]);
    assert.equal(read({ compositeSelector: { matchLabels: {} } }).canary, undefined);
  });
});

describe("defaults", () => {
  test("two hours, no bake time, rollback, not paused", () => {
    const { deadlineMs, bakeMs, failurePolicy, isPaused } = read();
    assert.deepEqual([deadlineMs, bakeMs, failurePolicy, isPaused], [7_200_000, 0, "Rollback", false]);
    const given = read({ progressDeadline: "3h", bakeTime: "90s", failurePolicy: "Pause", paused: true });
    assert.deepEqual(
      [given.deadlineMs, given.bakeMs, given.failurePolicy, given.isPaused],
      [10_800_000, 90_000, "Pause", true],
    );
  });

  test("a step is named by its place, and leaves everything as it is", () => {
    assert.deepEqual(steps({}, { name: "half", percent: 50 }), [
      {
        name: "step-1",
        shadowThreshold: 0,
        percent: undefined,
        cohort: undefined,
        needsApproval: false,
        minDurationMs: 0,
        window: undefined,
      },
      {
        name: "half",
        shadowThreshold: 0,
        percent: 50,
        cohort: undefined,
        needsApproval: false,
        minDurationMs: 0,
        window: undefined,
      },
    ]);
  });

  test("a shadow step shadows all buckets, or a share of them", () => {
    const thresholds = steps(
      { shadow: true },
      { shadow: true, shadowPercent: 25 },
      { shadow: false, shadowPercent: 25 },
    );
    assert.deepEqual(
      thresholds.map(({ shadowThreshold }) => shadowThreshold),
      [10_000, 2500, 0],
    );
  });

  test("a pause and a manual approval are the same", () => {
    const needs = steps({ pause: true }, { approval: "Manual" }, { approval: "Auto" }, { pause: false });
    assert.deepEqual(
      needs.map(({ needsApproval }) => needsApproval),
      [true, true, false, false],
    );
  });

  test("a step has the window of the rollout unless it has its own", () => {
    const window = (schedule: string, timeZone?: string): JsonObject => ({
      schedule,
      duration: "1h",
      ...(timeZone && { timeZone }),
    });
    const plan = read({ window: window("0 1 * * *"), steps: [{}, { window: window("0 2 * * *", "Europe/Vienna") }] });
    assert.deepEqual(
      plan.steps.map((step) => step.window?.text),
      ["0 1 * * * for 1h", "0 2 * * * Europe/Vienna for 1h"],
    );
    assert.equal(plan.problem, undefined);
  });
});

describe("gates", () => {
  const types = (spec: JsonObject): string[] => read(spec).gates.map(({ type }) => type);

  test("of a Function: health, errors and the condition Synced; in shadow also the difference", () => {
    assert.deepEqual(types({ functionRef: { name: "f" } }), ["RuntimeHealthy", "FunctionErrors", "CompositeCondition"]);
    assert.deepEqual(types({ steps: [{ shadow: true }] }).at(-1), "DesiredDiff");
    const [, errors, synced] = read().gates;
    assert.deepEqual(
      [errors?.limits, synced?.limits, synced?.condition],
      [{ maxRatio: 0.01 }, { minRatio: 0.99 }, "Synced"],
    );
  });

  test("of a Composition: the condition Synced", () => {
    assert.deepEqual(types({ compositionRef: { name: "c" }, steps: [{ shadow: true }] }), ["CompositeCondition"]);
  });

  test("written ones replace all defaults, and an empty list has none", () => {
    assert.deepEqual(types({ healthGates: [{ type: "Webhook" }] }), ["Webhook"]);
    assert.deepEqual(types({ healthGates: [] }), []);
  });

  test("have a name: their own, their type, or with their place", () => {
    const named = gates(
      { type: "Webhook" },
      { type: "Webhook" },
      { type: "Webhook", name: "mine" },
      { type: "Webhook", name: "mine" },
    );
    assert.deepEqual(
      named.map(({ name }) => name),
      ["Webhook", "Webhook-2", "mine", "mine-4"],
    );
  });

  test("never have the same name, whatever names are written", () => {
    const names = (...written: readonly string[]): string[] =>
      gates(...written.map((name) => ({ type: "Webhook", name }))).map(({ name }) => name);
    assert.deepEqual(names("A", "A-3", "A"), ["A", "A-3", "A-4"]);
    assert.deepEqual(names("A", "A", "A-2"), ["A", "A-2", "A-2-3"]);
    assert.deepEqual(names("A-3", "A-4", "A", "A"), ["A-3", "A-4", "A", "A-5"]);
  });

  test("have defaults", () => {
    assert.deepEqual(gates({ type: "Webhook" })[0], {
      name: "Webhook",
      type: "Webhook",
      windowMs: 600_000,
      withinMs: 300_000,
      minSample: 1,
      intervalMs: 30_000,
      condition: "",
      status: "True",
      url: "",
      query: "",
      limits: {},
    });
  });

  test("have limits as numbers or texts; zero is a limit, and an empty text does not limit anything", () => {
    const [gate] = gates({
      type: "DesiredDiff",
      maxDeleted: 0,
      maxReplacedRatio: "0.25",
      min: "-1.5",
      max: "",
      p95: "250ms",
    });
    assert.deepEqual(gate?.limits, { maxDeleted: 0, maxReplacedRatio: 0.25, min: -1.5, p95: 250 });
  });
});

describe("problems", () => {
  test("two steps of one name, also of one that a step gets by its place", () => {
    const text = 'spec.steps: two steps are named "a": rename one of them';
    assert.equal(read({ steps: [{ name: "a" }, { name: "b" }, { name: "a" }] }).problem, text);
    assert.equal(read({ steps: [{ name: "step-2" }, {}] }).problem, text.replace('"a"', '"step-2"'));
  });

  for (const [bakeTime, isProblem] of [
    ["29s", false],
    ["30s", true],
    ["31s", true],
  ] as const) {
    test(`a deadline of 90 s with steps of 60 s and a bake time of ${bakeTime}`, () => {
      const { problem } = read({
        progressDeadline: "90s",
        bakeTime,
        steps: [{ minDuration: "20s" }, { minDuration: "40s" }],
      });
      const least = 60 + Number.parseInt(bakeTime, 10);
      assert.equal(
        problem,
        isProblem
          ? `spec.progressDeadline can never be met: it is 90 s, and the steps and bakeTime take at least ${least} s`
          : undefined,
      );
    });
  }

  test("a window that cannot be read is never open", () => {
    const [step] = steps({ window: { schedule: "never", duration: "1h" } });
    assert.equal(step?.window?.isOpen(Date.now()), false);
  });

  test("a rollout without a spec has no steps, and no problem of its own", () => {
    const plan = readPlan({});
    assert.deepEqual([plan.steps, plan.functions, plan.problem], [[], [], undefined]);
  });
});
