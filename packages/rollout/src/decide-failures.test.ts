// SPDX-License-Identifier: Apache-2.0
// What stops a rollout, and what a person has to do each time it stops.
import assert from "node:assert/strict";
import { test } from "node:test";
import { broken, calm, first, minute, plan, world } from "../test/memory-cluster.ts";
import { decide } from "./decide.ts";
import type { CallNumbers } from "./gates.ts";
import { type RolloutState, readState, statusFields } from "./state.ts";

test("a token resumes one pause: no later one has the same, also when the history is full", () => {
  const spec = plan({ steps: [{ percent: 10, minDuration: "1h" }, { percent: 100 }], failurePolicy: "Pause" });
  let state = decide(spec, first, world(0)).state;
  let resumeToken: string | undefined;
  for (let index = 1; index <= 40; index++) {
    const paused = decide(spec, state, world(index * minute, { candidateCalls: broken, resumeToken })).state;
    assert.equal(paused.phase, "Paused");
    const still = decide(spec, paused, world(index * minute + 1, { candidateCalls: broken, resumeToken })).state;
    assert.equal(still.phase, "Paused", `pause ${index} ended by the token of the pause before it`);
    resumeToken = paused.pauseToken;
    state = decide(spec, still, world(index * minute + 2, { resumeToken })).state;
    assert.equal(state.phase, "Progressing");
  }
});

test("without its stable revision a rollout stops where it is: there is nothing to go back to", () => {
  const spec = plan({ steps: [{ percent: 10, minDuration: "1h" }, { percent: 100 }] });
  const started = decide(spec, first, world(0)).state;
  const lost = decide(spec, started, world(minute, { lost: ["f-1"] }));
  assert.equal(lost.state.phase, "Paused");
  assert.equal(lost.state.threshold, started.threshold);
  assert.equal(lost.decision?.reason, "RevisionLost");
  assert.match(lost.decision?.message ?? "", /stable revision "f-1" is no longer active/);
  const candidate = decide(spec, started, world(minute, { lost: ["f-2"] }));
  assert.equal(candidate.state.phase, "RollingBack");
});

test("one approval never counts for two steps: names must differ, also from those that steps get by their position", () => {
  const steps = [
    { name: "step-2", percent: 10, approval: "Manual" },
    { percent: 50, approval: "Manual" },
  ];
  const { state } = decide(plan({ steps: [...steps, { percent: 100 }] }), first, world(0));
  assert.equal(state.reason, "InvalidSpec");
  assert.match(state.message, /two steps are named "step-2"/);
});

const none: CallNumbers = { calls: 0, errors: 0, fatals: 0, p95Ms: undefined };

/** Goes through two steps; the stable revision is no longer called in the second one. The state is stored in between. */
function throughLastStep(candidateP95Ms: number): RolloutState {
  const healthGates = [{ type: "CallDuration", maxIncrease: "0.5" }];
  const spec = plan({ steps: [{ percent: 50 }, { percent: 100 }], healthGates });
  const candidateCalls = { ...calm, p95Ms: candidateP95Ms };
  let state = first;
  for (let index = 0; index < 5; index++) {
    const seen = world(index * minute, { candidateCalls });
    const stableCalls = () => (state.currentStep === 1 ? none : calm);
    ({ state } = decide(spec, state, { ...seen, samples: { ...seen.samples, stableCalls } }));
    state = readState({ status: statusFields(state, { isComposition: false, generation: 1 }) });
  }
  return state;
}

test("in the last step calls are compared with those that the stable revision answered before", () => {
  assert.equal(throughLastStep(6).phase, "Succeeded");
});

test("the time that a person took does not count against the deadline of later steps", () => {
  const steps = [{ percent: 10, approval: "Manual", name: "a" }, { percent: 50, minDuration: "5m" }, { percent: 100 }];
  const spec = plan({ steps, progressDeadline: "10m" });
  let state = decide(spec, first, world(0)).state;
  state = decide(spec, state, world(minute)).state;
  assert.equal(state.awaitingApproval, "a");
  state = decide(spec, state, world(300 * minute, { approvals: ["a"] })).state;
  const late = (at: number) => decide(spec, state, world(at * minute, { candidateCalls: { ...calm, calls: 0 } })).state;
  assert.equal(late(308).phase, "Progressing", "eight minutes of the ten are used");
  assert.equal(late(309).phase, "RollingBack", "one before the approval, nine after it");
});

test("after a pause a step begins again: what failed before it does not count", () => {
  const spec = plan({ steps: [{ percent: 10, minDuration: "5m" }, { percent: 100 }], failurePolicy: "Pause" });
  const started = decide(spec, first, world(0)).state;
  const paused = decide(spec, started, world(minute, { candidateCalls: broken })).state;
  const resumeToken = paused.pauseToken;
  const resumed = decide(spec, paused, world(4 * minute, { resumeToken })).state;
  assert.deepEqual([resumed.phase, resumed.stepStartedAt], ["Progressing", 4 * minute]);
  assert.equal(decide(spec, resumed, world(6 * minute, { resumeToken })).state.currentStep, 0);
  assert.equal(decide(spec, resumed, world(9 * minute, { resumeToken })).state.currentStep, 1);
});
