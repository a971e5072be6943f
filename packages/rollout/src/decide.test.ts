// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { broken, first, minute, plan, world } from "../test/memory-cluster.ts";
import { decide } from "./decide.ts";
import { type RolloutState, readState, statusFields } from "./state.ts";

/** Lets a rollout run, minute by minute, until it stops changing. */
function run(
  steps: Parameters<typeof plan>[0],
  {
    state = first,
    minutes = 60,
    at = () => ({}),
  }: { state?: RolloutState; minutes?: number; at?: (minute: number) => Parameters<typeof world>[1] } = {},
): { readonly state: RolloutState; readonly reasons: readonly string[] } {
  const reasons: string[] = [];
  let current = state;
  for (let index = 0; index < minutes; index++) {
    const outcome = decide(plan(steps), current, world(index * minute, at(index)));
    current = outcome.state;
    if (outcome.decision !== undefined) reasons.push(outcome.decision.reason);
  }
  return { state: current, reasons };
}

test("steps are taken in their order and the rollout succeeds", () => {
  const { state, reasons } = run({ steps: [{ percent: 10 }, { percent: 50, minDuration: "5m" }, { percent: 100 }] });
  assert.equal(state.phase, "Succeeded");
  assert.equal(state.threshold, 10_000);
  assert.deepEqual(reasons, ["RolloutStarted", "StepStarted", "StepInProgress", "StepStarted", "RolloutSucceeded"]);
});

test("a share below the lowest bucket moves one composite resource at least", () => {
  const { state } = decide(plan({ steps: [{ percent: 1 }, { percent: 100 }] }), first, world(0));
  assert.equal(state.threshold, 701);
});

test("the canary cohort and the cohort of a step stay members", () => {
  const spec = {
    compositeSelector: { matchLabels: { canary: "yes" } },
    steps: [{ cohort: { matchLabels: { tier: "dev" } } }, { percent: 20 }, { percent: 100, minDuration: "100h" }],
  };
  const { state } = run({ ...spec, progressDeadline: "1000h" }, { minutes: 5 });
  assert.deepEqual(state.cohorts, [{ canary: "yes" }, { tier: "dev" }]);
  assert.equal(state.threshold, 10_000);
});

test("an approval is needed, survives, and its time does not count against the deadline", () => {
  const spec = {
    steps: [{ percent: 10, approval: "Manual", name: "canary" }, { percent: 100 }],
    progressDeadline: "10m",
  };
  const waited = run(spec, { minutes: 200 });
  assert.equal(waited.state.phase, "Progressing");
  assert.equal(waited.state.awaitingApproval, "canary");
  const approved = decide(plan(spec), waited.state, world(300 * minute, { approvals: ["other", "canary"] }));
  assert.equal(approved.decision?.reason, "StepStarted");
  assert.deepEqual(approved.state.approvedSteps, ["canary"]);
  // The annotation is gone, the approval is not.
  assert.equal(decide(plan(spec), approved.state, world(301 * minute)).state.phase, "Succeeded");
});

test("a failed gate rolls back, or pauses until a user resumes it with the right token", () => {
  const steps = [{ percent: 10, minDuration: "30m" }, { percent: 100 }];
  const fault = (index: number) => (index === 5 ? { candidateCalls: broken } : {});
  const back = run({ steps }, { at: fault });
  assert.equal(back.state.phase, "RolledBack");
  assert.equal(back.state.threshold, 0);
  assert.match(
    back.state.message,
    /gate FunctionErrors: candidate 30\.0 % \(3 of 10\), stable 0\.0 % \(0 of 10\), allowed 1 %/,
  );
  const paused = run({ steps, failurePolicy: "Pause" }, { at: fault });
  assert.equal(paused.state.phase, "Paused");
  assert.ok(paused.state.threshold > 0);
  const token = paused.state.pauseToken ?? "";
  const still = decide(
    plan({ steps, failurePolicy: "Pause" }),
    paused.state,
    world(99 * minute, { resumeToken: "old" }),
  );
  assert.equal(still.state.phase, "Paused");
  const on = decide(plan({ steps, failurePolicy: "Pause" }), paused.state, world(99 * minute, { resumeToken: token }));
  assert.equal(on.state.phase, "Progressing");
});

test("spec.paused stops everything and is not counted", () => {
  const steps = [{ percent: 10, minDuration: "2m" }, { percent: 100 }];
  const started = decide(plan({ steps }), first, world(0)).state;
  const paused = run(
    { steps, paused: true, progressDeadline: "5m" },
    { state: started, minutes: 100, at: () => ({ candidateCalls: broken }) },
  );
  assert.equal(paused.state.phase, "Paused");
  assert.equal(paused.state.threshold, started.threshold);
  const resumed = decide(plan({ steps, progressDeadline: "5m" }), paused.state, world(100 * minute));
  assert.equal(resumed.decision?.reason, "Resumed");
  assert.equal(
    decide(plan({ steps, progressDeadline: "5m" }), resumed.state, world(101 * minute)).decision?.reason,
    "StepStarted",
  );
});

test("the deadline ends a rollout whose gates stay unknown", () => {
  const none = { calls: 0, errors: 0, fatals: 0, p95Ms: undefined };
  const { state } = run(
    { steps: [{ percent: 10 }, { percent: 100 }], progressDeadline: "20m" },
    { at: () => ({ candidateCalls: none }) },
  );
  assert.equal(state.phase, "RolledBack");
  assert.equal(state.reason, "ProgressDeadlineExceeded");
  assert.match(state.message, /gate FunctionErrors: 0 of 1 calls/);
});

test("a window holds a step back until it opens", () => {
  // 1970-01-01T00:00Z is a Thursday.
  const window = { schedule: "0 2 * * *", duration: "1h" };
  const { state, reasons } = run({ steps: [{ percent: 10 }, { percent: 100, window }] }, { minutes: 150 });
  assert.equal(state.phase, "Succeeded");
  assert.deepEqual(reasons, ["RolloutStarted", "WaitingForWindow", "StepStarted", "RolloutSucceeded"]);
  assert.equal(state.stepStartedAt, 120 * minute);
});

test("bakeTime begins again when a gate stops passing", () => {
  const spec = { steps: [{ percent: 100 }], bakeTime: "10m" };
  const none = { calls: 0, errors: 0, fatals: 0, p95Ms: undefined };
  const { state } = run(spec, { minutes: 30, at: (index) => (index === 8 ? { candidateCalls: none } : {}) });
  assert.equal(state.phase, "Succeeded");
  assert.equal(state.completedAt, 19 * minute);
});

test("a clock that jumps neither ages nor renews a rollout", () => {
  const spec = { steps: [{ percent: 10, minDuration: "30m" }, { percent: 100 }], progressDeadline: "2h" };
  const started = decide(plan(spec), first, world(0)).state;
  const day = 24 * 60 * minute;
  const ahead = decide(plan(spec), started, world(day + minute, { jumpMs: day })).state;
  assert.equal(ahead.phase, "Progressing");
  assert.equal(ahead.currentStep, 0);
  const back = decide(plan(spec), ahead, world(2 * minute, { jumpMs: -day })).state;
  assert.equal(back.stepStartedAt, 0);
  // A process that starts after the clock went back sees a step that begins in the future.
  const restarted = decide(plan(spec), { ...started, stepStartedAt: day }, world(minute)).state;
  assert.equal(restarted.stepStartedAt, minute);
});

test("a rollout that cannot be carried out waits and says why", () => {
  const cases: readonly (readonly [string, object, Parameters<typeof world>[1]])[] = [
    ["InvalidSpec", { steps: [{ percent: 100, minDuration: "3h" }] }, {}],
    ["InvalidSpec", { steps: [{ percent: 100, window: { schedule: "not a cron line", duration: "1h" } }] }, {}],
    [
      "NoComposites",
      { steps: [{ percent: 100 }] },
      { composites: { total: 0, candidate: 0, moved: 0, healthy: 0, unhealthy: 0 }, lowestBucket: undefined },
    ],
    ["RevisionNotFound", { steps: [{ percent: 100 }] }, { sides: { reason: "RevisionNotFound", message: "no" } }],
    [
      "CandidateNotServing",
      { steps: [{ percent: 100 }] },
      { sides: { found: [{ name: "f", stable: "a", candidate: "b" }], isServing: false, waitingFor: "starting" } },
    ],
  ];
  for (const [reason, spec, seen] of cases) {
    const { state, decision } = decide(plan(spec), first, world(0, seen));
    assert.equal(state.phase, "Pending");
    assert.equal(state.reason, reason);
    assert.equal(decision?.reason, reason);
    // Once is enough.
    assert.equal(decide(plan(spec), state, world(1, seen)).decision, undefined);
  }
});

test("the history is bounded", () => {
  let state = decide(plan({ steps: [{ percent: 10, minDuration: "1h" }, { percent: 100 }] }), first, world(0)).state;
  for (let index = 0; index < 200; index++) {
    state = decide(
      plan({ steps: [{ percent: 10, minDuration: "1h" }, { percent: 100 }], paused: index % 2 === 0 }),
      state,
      world(index),
    ).state;
  }
  assert.equal(state.history.length, 30);
});

test("a step without a share leaves all members where they are", () => {
  const pause = { pause: true, name: "look" };
  const cohort = { cohort: { matchLabels: { tier: "dev" } }, minDuration: "100h" };
  const spec = { steps: [{ percent: 40 }, pause, cohort, { percent: 100 }], progressDeadline: "1000h" };
  const paused = run(spec, { minutes: 5 }).state;
  assert.deepEqual([paused.awaitingApproval, paused.threshold], ["look", 4000]);
  const later = run(spec, { state: paused, minutes: 5, at: () => ({ approvals: ["look"] }) }).state;
  assert.deepEqual([later.currentStep, later.threshold], [2, 4000]);
});

test("a step is not left before its wave has moved, also without gates", () => {
  const spec = plan({ steps: [{ percent: 40 }, { percent: 100 }], healthGates: [] });
  const { state } = decide(spec, first, world(0));
  const samples = { ...world(minute).samples, pendingMoves: 1 };
  const waiting = decide(spec, state, world(minute, { samples }));
  assert.equal(waiting.state.currentStep, 0);
  assert.match(waiting.state.message, /1 composite resources have not moved yet/);
  assert.equal(decide(spec, waiting.state, world(2 * minute)).state.currentStep, 1);
});

test("a rollback ends when all composite resources are back, or after ten minutes", () => {
  const spec = plan({ steps: [{ percent: 40 }, { percent: 100 }] });
  const { state } = decide(spec, first, world(0));
  const back = decide(spec, state, world(minute, { isAborted: true })).state;
  assert.deepEqual([back.phase, back.threshold], ["RollingBack", 0]);
  const still = decide(spec, back, world(2 * minute, { leftBehind: 1 }));
  assert.deepEqual([still.state.phase, still.decision], ["RollingBack", undefined]);
  assert.equal(decide(spec, still.state, world(3 * minute)).state.phase, "RolledBack");
  const late = decide(spec, still.state, world(11 * minute, { leftBehind: 1 }));
  assert.equal(late.state.phase, "RolledBack");
  assert.match(late.decision?.message ?? "", /all but 1 composite resources are back/);
});

test("an approval is kept in the status: a later one replaces the annotation", () => {
  const steps = [
    { percent: 10, approval: "Manual", name: "a" },
    { percent: 50, minDuration: "5m" },
    { percent: 100, approval: "Manual", name: "b" },
  ];
  const stored = (state: RolloutState): RolloutState =>
    readState({ status: statusFields(state, { isComposition: false, generation: 1 }) });
  let state = decide(plan({ steps }), first, world(0)).state;
  // Approved before it is asked for, and read back from the status since.
  for (const approvals of [["a"], ["b"], ["b"]]) {
    state = stored(decide(plan({ steps }), state, world(minute, { approvals })).state);
  }
  assert.deepEqual([state.currentStep, state.approvedSteps], [1, ["a", "b"]]);
});

test("times that a forged status leads to can be stored", () => {
  const state = { ...first, deadlineAt: 10 ** 15, heldSince: -(10 ** 15), startedAt: 10 ** 17 };
  const stored = statusFields(state, { isComposition: false, generation: 1 });
  assert.deepEqual(
    [stored["deadlineAt"], stored["heldSince"], stored["startedAt"]],
    ["9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"],
  );
});
