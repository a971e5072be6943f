// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import { plan, rolloutOf } from "../test/memory-cluster.ts";
import { createRolloutMetrics, supersededType, withState } from "./report.ts";
import { type RolloutState, readState } from "./state.ts";

const clock = { now: () => Date.parse("2026-01-01T00:00:00Z") };
const stateOf = (more: Partial<RolloutState>): RolloutState => ({
  ...readState({}),
  reason: "R",
  message: "m",
  ...more,
});
const write = (state: RolloutState, rollout: KubeObject = rolloutOf("r", {}), more: object = {}): KubeObject =>
  withState(rollout, state, { plan: plan({}), clock, ...more });
const trueOnes = (state: RolloutState): string[] =>
  conditionsOf(write(state))
    .filter(({ status }) => status === "True")
    .map(({ type }) => type);

describe("conditions", () => {
  const cases: Readonly<Record<string, readonly [Partial<RolloutState>, readonly string[]]>> = {
    "it waits for its candidate": [{ phase: "Pending", reason: "WaitingForCandidate" }, ["Reconciling", "Progressing"]],
    "it waits for its author": [{ phase: "Pending", reason: "InvalidSpec" }, ["Stalled"]],
    "it moves": [{ phase: "Progressing" }, ["Reconciling", "Progressing"]],
    "it is paused by a person": [{ phase: "Paused" }, ["Reconciling"]],
    "a failed gate pauses it": [{ phase: "Paused", pauseToken: "t" }, ["Stalled"]],
    "it goes back": [{ phase: "RollingBack" }, ["Reconciling", "Progressing"]],
    "it succeeded": [{ phase: "Succeeded" }, ["Ready"]],
    "it was rolled back": [{ phase: "RolledBack" }, ["Stalled", "RolledBack"]],
    "it failed": [{ phase: "Failed" }, ["Stalled"]],
  };
  for (const [title, [state, expected]] of Object.entries(cases)) {
    test(title, () => assert.deepEqual(trueOnes(stateOf(state)), expected));
  }

  for (const reason of [
    "SameRevision",
    "RevisionNotFound",
    "RevisionInactive",
    "FunctionNotFound",
    "CompositionNotFound",
    "Conflict",
    "NoComposites",
    "StableNotFound",
  ]) {
    test(`it is stalled by ${reason}`, () =>
      assert.deepEqual(trueOnes(stateOf({ phase: "Pending", reason })), ["Stalled"]));
  }

  test("all have the reason and message of the decision", () => {
    for (const { type, reason, message } of conditionsOf(write(stateOf({})))) {
      if (type !== "GatesPassed") assert.deepEqual([reason, message], ["R", "m"], type);
    }
  });

  const gate = (name: string, result: "Passed" | "Failed" | "Unknown") => ({
    name,
    result,
    message: `${name} says`,
    sample: 1,
  });
  const gatesPassed = (...gates: RolloutState["gates"]): readonly (string | undefined)[] => {
    const found = conditionsOf(write(stateOf({ gates }))).find(({ type }) => type === "GatesPassed");
    return [found?.status, found?.reason, found?.message];
  };

  test("the gates pass if all do; a failed one counts before an unknown one", () => {
    assert.deepEqual(gatesPassed(), ["Unknown", "NotJudged", undefined]);
    assert.deepEqual(gatesPassed(gate("a", "Passed")), ["True", "Passed", "a: a says"]);
    assert.deepEqual(gatesPassed(gate("a", "Passed"), gate("b", "Unknown")), [
      "Unknown",
      "Unknown",
      "a: a says; b: b says",
    ]);
    assert.deepEqual(gatesPassed(gate("a", "Unknown"), gate("b", "Failed")).slice(0, 2), ["False", "Failed"]);
  });
});

describe("the status", () => {
  test("that does not change is equal, times included", () => {
    const first = write(stateOf({}));
    assert.deepEqual(
      withState(first, stateOf({}), { plan: plan({}), clock: { now: () => clock.now() + 60_000 } }),
      first,
    );
  });

  test("keeps the shadow report when the reports are gone", () => {
    const first = write(stateOf({}), rolloutOf("r", {}), { shadow: { compared: 3 } });
    const shadow = (object: KubeObject): unknown => (object["status"] as JsonObject)["shadow"];
    assert.deepEqual([shadow(first), shadow(write(stateOf({}), first))], [{ compared: 3 }, { compared: 3 }]);
    assert.deepEqual(shadow(write(stateOf({}), first, { shadow: { compared: 4 } })), { compared: 4 });
  });

  test("says that a newer revision is kept back, and later that there is none", () => {
    const superseded = (object: KubeObject): readonly unknown[] => {
      const found = conditionsOf(object).find(({ type }) => type === supersededType);
      return [found?.status, found?.reason];
    };
    const plain = write(stateOf({}));
    assert.deepEqual(superseded(plain), [undefined, undefined]);
    const newer = write(stateOf({}), plain, { superseded: "f-3 is newer" });
    assert.deepEqual(superseded(newer), ["True", "NewerRevision"]);
    assert.deepEqual(superseded(write(stateOf({}), newer)), ["False", "NoNewerRevision"]);
  });
});

describe("metrics", () => {
  const state = stateOf({ currentStep: 2, composites: { total: 9, candidate: 5, moved: 4, healthy: 3, unhealthy: 1 } });

  test("count decisions and show composite resources and the step, until the rollout is gone", async () => {
    const registry = new Registry();
    const metrics = createRolloutMetrics(registry);
    metrics.decided("r", { type: "Normal", reason: "StepStarted", message: "" });
    metrics.seen("r", state);
    const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("purlin_"));
    assert.deepEqual(lines, [
      'purlin_rollout_decisions_total{rollout="r",decision="StepStarted"} 1',
      'purlin_rollout_composites{rollout="r",side="total"} 9',
      'purlin_rollout_composites{rollout="r",side="candidate"} 5',
      'purlin_rollout_composites{rollout="r",side="moved"} 4',
      'purlin_rollout_composites{rollout="r",side="unhealthy"} 1',
      'purlin_rollout_step{rollout="r"} 2',
    ]);
    metrics.gone("r");
    assert.deepEqual(
      (await registry.metrics()).split("\n").filter((line) => line.startsWith("purlin_")),
      ['purlin_rollout_decisions_total{rollout="r",decision="StepStarted"} 1'],
    );
  });

  test("of a later term of leadership are the same ones", async () => {
    const registry = new Registry();
    for (let term = 0; term < 2; term++)
      createRolloutMetrics(registry).decided("r", { type: "Normal", reason: "X", message: "" });
    assert.match(await registry.metrics(), /decision="X"} 2/);
  });
});
