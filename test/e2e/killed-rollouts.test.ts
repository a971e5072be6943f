// SPDX-License-Identifier: Apache-2.0
// The controllers of rollouts die at every write of every phase, before and after the server took it, and others continue: no gate is skipped, no
// composite resource moves twice, and no approval is lost. Clocks that jump, two replicas, and processes that take over at any moment.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { rolloutAnnotations } from "@purlin/rollout";
import {
  agreeable,
  type ControllerScene,
  type Ended,
  type Interruption,
  type RolloutStory,
  startControllerScene,
} from "./rollout/controller-scene.ts";

let scene: ControllerScene;
before(async () => {
  scene = await startControllerScene();
});
after(() => scene[Symbol.asyncDispose]());

const approval = "Manual";
const ofFunction = { functionRef: { name: "f" }, candidate: { functionRevisionRef: { name: "f-2" } } };
const ofComposition = {
  compositionRef: { name: "apps" },
  candidate: { compositionRevisionRef: { name: "apps-2" } },
};
/** The scene begins at 08:01. */
const windowAt = (minute: number) => ({ schedule: `${minute} 8 * * *`, timeZone: "UTC", duration: "2h" });

interface Case {
  readonly story: RolloutStory;
  /** The decisions of each rollout that move something, wait for something or end. */
  readonly decisions: readonly (readonly string[])[];
  readonly approved: readonly (readonly string[])[];
  /** The ways that a composite resource may go. */
  readonly trails: readonly string[];
  readonly withheld?: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  "shadow, cohort, share with approval, pause, minimum duration, window and bake time": {
    story: {
      spec: {
        ...ofFunction,
        steps: [
          { shadow: true },
          { cohort: { matchLabels: { tier: "canary" } } },
          { percent: 20, approval, name: "first" },
          { pause: true, name: "look" },
          { percent: 60, minDuration: "30s" },
          { percent: 80, window: windowAt(9) },
          { percent: 100 },
        ],
        bakeTime: "30s",
      },
      person: agreeable,
    },
    decisions: [
      [
        "RolloutStarted",
        "StepStarted",
        "StepStarted",
        "WaitingForApproval",
        "StepStarted",
        "WaitingForApproval",
        "StepStarted",
        "WaitingForWindow",
        "StepStarted",
        "StepStarted",
        "Baking",
        "RolloutSucceeded",
      ],
    ],
    approved: [["first", "look"]],
    trails: ["f-1 f-2"],
  },
  "a window before the first step": {
    story: { spec: { ...ofFunction, steps: [{ percent: 100 }], window: windowAt(2) } },
    decisions: [["WaitingForWindow", "RolloutStarted", "RolloutSucceeded"]],
    approved: [[]],
    trails: ["f-1 f-2"],
  },
  "a gate that fails, and a rollback": {
    story: { spec: { ...ofFunction, steps: [{ percent: 30 }, { percent: 60 }, { percent: 100 }] }, failsFrom: 1 },
    decisions: [["RolloutStarted", "StepStarted", "GateFailed", "RolledBack"]],
    approved: [[]],
    trails: ["f-1", "f-1 f-2 f-1"],
    withheld: ["f-2"],
  },
  "a gate that fails, a pause, and a person who resumes": {
    story: {
      spec: { ...ofFunction, steps: [{ percent: 30 }, { percent: 100 }], failurePolicy: "Pause" },
      failsFrom: 1,
      person: agreeable,
    },
    decisions: [["RolloutStarted", "StepStarted", "GateFailed", "Resumed", "RolloutSucceeded"]],
    approved: [[]],
    trails: ["f-1 f-2"],
  },
  "an abort": {
    story: {
      spec: { ...ofFunction, steps: [{ percent: 60, approval, name: "first" }, { percent: 100 }] },
      person: (status) => (stringAt(status, ["awaitingApproval"]) === "" ? {} : { [rolloutAnnotations.abort]: "no" }),
    },
    decisions: [["RolloutStarted", "WaitingForApproval", "Aborted", "RolledBack"]],
    approved: [[]],
    trails: ["f-1", "f-1 f-2 f-1"],
    withheld: ["f-2"],
  },
  "a Composition": {
    story: {
      spec: {
        ...ofComposition,
        steps: [
          { cohort: { matchLabels: { tier: "canary" } }, approval, name: "first" },
          { percent: 60, minDuration: "30s", window: windowAt(4) },
          { percent: 100 },
        ],
        bakeTime: "30s",
      },
      person: agreeable,
    },
    decisions: [
      [
        "RolloutStarted",
        "WaitingForApproval",
        "WaitingForWindow",
        "StepStarted",
        "StepStarted",
        "Baking",
        "RolloutSucceeded",
      ],
    ],
    approved: [["first"]],
    trails: ["apps-1 apps-2"],
  },
  "a Composition, and an abort": {
    story: {
      spec: { ...ofComposition, steps: [{ percent: 60, approval, name: "first" }, { percent: 100 }] },
      person: (status) => (stringAt(status, ["awaitingApproval"]) === "" ? {} : { [rolloutAnnotations.abort]: "no" }),
    },
    decisions: [["RolloutStarted", "WaitingForApproval", "Aborted", "RolledBack"]],
    approved: [[]],
    trails: ["apps-1", "apps-1 apps-2 apps-1"],
  },
  "a policy, whose rollout a newer version of the package replaces": {
    story: {
      template: { steps: [{ percent: 60, approval, name: "first" }, { percent: 100 }] },
      person: (status) => (stringAt(status, ["candidateRevision"]) === "f-3" ? agreeable(status) : {}),
      publishesWhen: (status) => stringAt(status, ["awaitingApproval"]) === "first",
    },
    decisions: [
      ["RolloutStarted", "WaitingForApproval", "Aborted", "RolledBack"],
      ["RolloutStarted", "WaitingForApproval", "StepStarted", "RolloutSucceeded"],
    ],
    approved: [[], ["first"]],
    trails: ["f-1 f-3", "f-1 f-2 f-1 f-3"],
    withheld: ["f-2"],
  },
};

/** A process that knows no calls yet has to judge gates again before it can say once more what is waited for. */
const repeatable: ReadonlySet<string> = new Set(["WaitingForApproval", "WaitingForWindow", "Baking"]);
/** Decisions that say what is waited for until a step is done, or until another rollout has ended. */
const passing: ReadonlySet<string> = new Set(["StepInProgress", "CandidateNotServing", "Conflict"]);

function assertAsPlanned(ended: Ended, { decisions, approved, trails, withheld = [] }: Case, when: string): void {
  const found = ended.statuses.map((status: JsonObject) =>
    objectsAt(status, ["history"])
      .map((one) => stringAt(one, ["decision"]))
      .filter((one) => !passing.has(one))
      .filter((one, index, all) => one !== all[index - 1] || !repeatable.has(one)),
  );
  assert.deepEqual(found, decisions, `${when}: no decision is skipped or made twice`);
  assert.deepEqual(
    ended.statuses.map((status) => textsAt(status, ["approvedSteps"])),
    approved,
    `${when}: approvals`,
  );
  const taken = new Set(ended.trails.map((trail) => trail.join(" ")));
  assert.deepEqual(
    [...taken].filter((trail) => !trails.includes(trail)),
    [],
    `${when}: ways of composite resources`,
  );
  assert.deepEqual(ended.withheld, withheld, `${when}: revisions that are withheld`);
}

const modes = ["lost", "unanswered"] as const;
// A real server takes several times as long: there, other processes take over at some moments only.
const isReal = process.env["E2E_SERVER"] === "real";

for (const [title, one] of Object.entries(cases)) {
  const carryOut = async (when: string, interruption?: Interruption): Promise<Ended> => {
    const ended = await scene.carryOut(one.story, interruption);
    assertAsPlanned(ended, one, when);
    return ended;
  };

  test(`killed at every write: ${title}`, async () => {
    const { writes } = await carryOut("uninterrupted");
    assert.ok(writes > 3, `${writes} writes`);
    for (let atWrite = 1; atWrite <= writes; atWrite++) {
      for (const mode of modes) await carryOut(`write ${atWrite} is ${mode}`, { death: { atWrite, mode } });
    }
  });

  test(`two replicas: ${title}`, async () => void (await carryOut("two replicas", { replicas: 2 })));
}

const [[, whole] = []] = Object.entries(cases);

test("another process takes over at any moment", async () => {
  assert.ok(whole !== undefined);
  const { turns } = await scene.carryOut(whole.story);
  for (let handOverAt = 1; handOverAt <= turns; handOverAt += isReal ? 4 : 1) {
    assertAsPlanned(await scene.carryOut(whole.story, { handOverAt }), whole, `turn ${handOverAt}`);
  }
});

const day = 24 * 60 * 60_000;
for (const [title, jumps] of Object.entries({
  forward: { 3: day },
  back: { 3: -day },
  "forward and back": { 2: day, 4: -day },
})) {
  test(`a wall clock that jumps ${title} does not change what a rollout decides`, async () => {
    assert.ok(whole !== undefined);
    assertAsPlanned(await scene.carryOut(whole.story, { jumps }), whole, title);
  });
}
