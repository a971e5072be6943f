// SPDX-License-Identifier: Apache-2.0
// What tools that know kstatus read from a rollout, in each of its phases.
import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf, conditionsOf, type KubeObject, numberAt } from "@purlin/kube-objects/object";
import { first, plan, rolloutOf } from "../test/memory-cluster.ts";
import { withState } from "./report.ts";
import type { RolloutState } from "./state.ts";

const steps = [{ percent: 100 }];

/** The status that kstatus computes: the generation first, then Reconciling and Stalled, then Ready. */
function kstatus(object: KubeObject): "InProgress" | "Failed" | "Current" {
  const isTrue = (type: string): boolean => conditionOf(conditionsOf(object), type).status === "True";
  if (numberAt(object, ["status", "observedGeneration"]) !== object.metadata.generation) return "InProgress";
  if (isTrue("Reconciling")) return "InProgress";
  if (isTrue("Stalled")) return "Failed";
  return isTrue("Ready") ? "Current" : "InProgress";
}

const rows: Readonly<Record<string, readonly [Partial<RolloutState>, ReturnType<typeof kstatus>]>> = {
  "waits for its candidate": [{ phase: "Pending", reason: "WaitingForCandidate" }, "InProgress"],
  "cannot be carried out": [{ phase: "Pending", reason: "InvalidSpec" }, "Failed"],
  "conflicts with another one": [{ phase: "Pending", reason: "Conflict" }, "Failed"],
  moves: [{ phase: "Progressing", reason: "StepInProgress" }, "InProgress"],
  "waits for an approval": [{ phase: "Progressing", awaitingApproval: "step-1" }, "InProgress"],
  "is paused by its spec": [{ phase: "Paused", reason: "Paused" }, "InProgress"],
  "is paused by a gate": [{ phase: "Paused", reason: "GateFailed", pauseToken: "1-x" }, "Failed"],
  "moves back": [{ phase: "RollingBack", reason: "GateFailed" }, "InProgress"],
  "has moved back": [{ phase: "RolledBack", reason: "GateFailed" }, "Failed"],
  "has failed": [{ phase: "Failed", reason: "Aborted" }, "Failed"],
  "has succeeded": [{ phase: "Succeeded", reason: "RolloutSucceeded" }, "Current"],
};

for (const [title, [state, want]] of Object.entries(rows)) {
  test(`a rollout that ${title} is ${want}`, () => {
    const facts = { plan: plan({ steps }), clock: { now: () => 0 } };
    const object = withState(rolloutOf("r", { steps }), { ...first, ...state }, facts);
    assert.equal(kstatus(object), want);
    const opposed = ["Ready", "Reconciling", "Stalled"].filter(
      (type) => conditionOf(conditionsOf(object), type).status === "True",
    );
    assert.equal(opposed.length, 1, `one of them is True: ${opposed.join(", ")}`);
  });
}
