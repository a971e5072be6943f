// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { isEnded, type RolloutState, readState, statusFields, withHistory } from "./state.ts";

const composites = { total: 9, candidate: 5, moved: 4, healthy: 3, unhealthy: 2 };
const full: RolloutState = {
  phase: "Paused",
  currentStep: 2,
  frozen: [
    { name: "f", stable: "f-1", candidate: "f-2" },
    { name: "g", stable: "g-1", candidate: "g-2" },
  ],
  threshold: 2500,
  shadowThreshold: 500,
  cohorts: [{ tier: "gold" }],
  startedAt: 1_000_000,
  stepStartedAt: 2_000_000,
  gatesPassedAt: 3_000_000,
  heldSince: 4_000_000,
  deadlineAt: 5_000_000,
  completedAt: 6_000_000,
  awaitingApproval: "half",
  approvedSteps: ["first"],
  stableP95Ms: 12.5,
  pauseToken: "t1",
  reason: "GateFailed",
  message: "gate a: no",
  gates: [{ name: "a", result: "Failed", message: "no", sample: 3 }],
  composites,
  history: [{ time: 1_500_000, step: 1, decision: "StepStarted", message: "m", composites }],
};
const stored = (state: RolloutState, isComposition = false): JsonObject => ({
  spec: isComposition
    ? { compositionRef: { name: "c" } }
    : { functionRefs: state.frozen.map(({ name }) => ({ name })) },
  status: {
    ...statusFields(state, { isComposition, generation: 7 }),
    conditions: [{ type: "Progressing", status: "False", reason: state.reason, message: state.message }],
  },
});

describe("the status of a rollout", () => {
  test("has everything that the next decision depends on", () => {
    assert.deepEqual(readState(stored(full)), full);
  });

  test("of a Composition too, and its revisions are not listed as functions", () => {
    const state = { ...full, frozen: [{ name: "c", stable: "c-1", candidate: "c-2" }] };
    const rollout = stored(state, true);
    assert.deepEqual(readState(rollout), state);
    assert.equal("functions" in (rollout["status"] as JsonObject), false);
  });

  test("has the generation that it is about, and times as texts", () => {
    const fields = statusFields(full, { isComposition: false, generation: 7 });
    assert.deepEqual([fields["observedGeneration"], fields["startedAt"]], [7, "1970-01-01T00:16:40.000Z"]);
  });

  test("leaves out what is not set", () => {
    const fields = statusFields(readState({}), { isComposition: false, generation: 1 });
    for (const field of ["startedAt", "heldSince", "awaitingApproval", "approvedSteps", "pauseToken", "stableP95Ms"]) {
      assert.equal(field in fields, false, field);
    }
  });

  test("that is not there is the first state", () => {
    for (const rollout of [{}, { status: {} }]) {
      const { phase, reason, frozen, history, composites: numbers } = readState(rollout);
      assert.deepEqual([phase, reason, frozen, history], ["Pending", "Pending", [], []]);
      assert.deepEqual(numbers, { total: 0, candidate: 0, moved: 0, healthy: 0, unhealthy: 0 });
    }
  });

  test("that was damaged is read as far as it goes", () => {
    const state = readState({
      status: {
        phase: "Progressing",
        startedAt: "yesterday",
        stableP95Ms: "fast",
        membership: { threshold: 99_999 },
        gates: [{ name: "a", result: "Maybe" }],
        history: [{}],
      },
    });
    assert.deepEqual([state.startedAt, state.stableP95Ms, state.threshold], [undefined, undefined, 10_000]);
    assert.deepEqual(state.gates, [{ name: "a", result: "Unknown", message: "", sample: 0 }]);
    assert.equal(state.history[0]?.time, 0);
    assert.deepEqual([state.reason, state.message], ["Pending", ""]);
  });
});

test("the history keeps the last 30 decisions", () => {
  let state = full;
  for (let index = 0; index < 31; index++) state = withHistory(state, index, { reason: `r${index}`, message: "m" });
  assert.equal(state.history.length, 30);
  assert.deepEqual([state.history[0]?.decision, state.history.at(-1)?.decision], ["r1", "r30"]);
  assert.deepEqual(state.history.at(-1), { time: 30, step: 2, decision: "r30", message: "m", composites });
  assert.equal(full.history.length, 1);
});

test("a rollout has ended when it succeeded, was rolled back or failed", () => {
  const ended = (
    ["Pending", "Progressing", "Paused", "RollingBack", "Succeeded", "RolledBack", "Failed"] as const
  ).filter((phase) => isEnded({ phase }));
  assert.deepEqual(ended, ["Succeeded", "RolledBack", "Failed"]);
});
