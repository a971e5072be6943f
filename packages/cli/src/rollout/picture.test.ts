// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { historyLines, listLines, pictureOf, previewLines, stepName } from "./picture.ts";

const rollout = (spec: JsonObject, status: JsonObject = {}): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1alpha1",
  kind: "FunctionRollout",
  metadata: { name: "fn-2" },
  spec: { functionRef: { name: "fn" }, ...spec },
  status,
});
const picture = (spec: JsonObject, status: JsonObject = {}): readonly string[] =>
  pictureOf(rollout(spec, status), "purlin");
const progressing = (reason: string, message: string): JsonObject => ({
  conditions: [{ type: "Progressing", reason, message }],
});

describe("the picture of a rollout", () => {
  test("of one that was not looked at yet", () => {
    assert.deepEqual(picture({ steps: [{ percent: 100 }] }), [
      "fn-2  Function fn  Pending",
      "  ? → (waiting for a new revision)",
      "",
      `  ${"░".repeat(30)} 0.0 %`,
      "  0 of 0 composite resources moved, 0 belong on the candidate",
      "",
      "STEPS",
      "    step-1: 100 %",
    ]);
  });

  test("of one that moves: revisions, share, steps and gates", () => {
    const status = {
      phase: "Progressing",
      currentStep: 1,
      stableRevision: "fn-1",
      candidateRevision: "fn-2",
      composites: { total: 8, moved: 2, candidate: 4, unhealthy: 1 },
      gates: [
        { name: "errors", result: "Passed", message: "0 %" },
        { name: "synced", result: "Failed", message: "50 %" },
        { name: "hook", result: "Unknown", message: "not asked yet" },
      ],
      ...progressing("StepInProgress", "2 have not moved"),
    };
    const lines = picture({ steps: [{ name: "first" }, { percent: 50 }, { percent: 100 }] }, status);
    assert.deepEqual(lines, [
      "fn-2  Function fn  Progressing (StepInProgress: 2 have not moved)",
      "  fn-1 → fn-2",
      "",
      `  ${"█".repeat(8)}${"░".repeat(22)} 25.0 %`,
      "  2 of 8 composite resources moved, 4 belong on the candidate, 1 of them not synced",
      "",
      "STEPS",
      "  ✔ first:",
      "  ▶ step-2: 50 %",
      "    step-3: 100 %",
      "GATES",
      "  ✔ errors: 0 %",
      "  ✖ synced: 50 %",
      "  ? hook: not asked yet",
    ]);
  });

  const marks: Readonly<Record<string, string>> = {
    Pending: " ",
    Progressing: "▶",
    Paused: "■",
    RollingBack: "■",
    Succeeded: "✔",
  };
  for (const [phase, mark] of Object.entries(marks)) {
    test(`the current step of a rollout that is ${phase} has the mark "${mark}"`, () => {
      assert.equal(picture({ steps: [{ percent: 1 }] }, { phase })[7], `  ${mark} step-1: 1 %`);
    });
  }

  test("a step with everything", () => {
    const step = {
      shadow: true,
      cohort: { matchLabels: { tier: "gold", zone: "a" } },
      percent: 0,
      minDuration: "5m",
      approval: "Manual",
      window: { schedule: "0 2 * * *" },
    };
    assert.equal(
      picture({ steps: [step] })[7],
      "    step-1: shadow, cohort tier=gold,zone=a, 0 %, at least 5m, approval, window 0 2 * * *",
    );
    assert.equal(picture({ steps: [{ pause: true }] })[7], "    step-1: approval");
  });

  test("targets: Functions that move together, and a Composition", () => {
    const many = { ...rollout({}), spec: { functionRefs: [{ name: "a" }, { name: "b" }] } };
    assert.equal(pictureOf(many, "purlin")[0], "fn-2  Function a, b  Pending");
    assert.equal(picture({ compositionRef: { name: "apps" } })[0], "fn-2  Composition apps  Pending");
  });

  test("a rollout that succeeded does not say why", () => {
    assert.equal(
      picture({}, { phase: "Succeeded", ...progressing("Done", "all moved") })[0],
      "fn-2  Function fn  Succeeded",
    );
  });

  test("what comes next: an approval, then a resume, then a newer revision", () => {
    const next = (status: JsonObject): string | undefined => picture({}, status).at(-1);
    const superseded = { conditions: [{ type: "Superseded", reason: "NewerRevision", message: "fn-3 is newer" }] };
    assert.equal(
      next({ awaitingApproval: "half", pauseToken: "t" }),
      "Waits for an approval: purlin rollout approve fn-2",
    );
    assert.equal(
      next({ pauseToken: "t", ...superseded }),
      "A gate failed: purlin rollout resume fn-2, or purlin rollout abort fn-2",
    );
    assert.equal(next(superseded), "Note: fn-3 is newer");
    assert.equal(next({ conditions: [{ type: "Superseded", reason: "NoNewerRevision", message: "x" }] }), "STEPS");
  });

  test("texts of others cannot move the cursor, and lines keep their indentation", () => {
    const gates = [{ name: "a\u001b[2J", result: "Passed", message: "two\nlines" }];
    assert.equal(picture({}, { gates }).at(-1), "  ✔ a\\x1b[2J: two lines");
  });
});

describe("lists", () => {
  test("of rollouts are aligned", () => {
    const status = { phase: "Progressing", currentStep: 1, composites: { moved: 3, total: 10 } };
    const lines = listLines([rollout({ steps: [{}, {}] }, status), rollout({}, { currentStep: 5 })]);
    assert.deepEqual(lines, [
      "NAME  TARGET       PHASE        STEP  MOVED",
      "fn-2  Function fn  Progressing  2/2   3/10",
      "fn-2  Function fn  Pending      0/0   0/0",
    ]);
    assert.deepEqual(listLines([]), ["NAME  TARGET  PHASE  STEP  MOVED"]);
  });

  test("of decisions have the time, the step and the numbers", () => {
    const history = [
      {
        time: "2026-01-01T00:00:00Z",
        step: 0,
        decision: "RolloutStarted",
        message: "10 %",
        composites: { candidate: 1, total: 9 },
      },
      {},
    ];
    assert.deepEqual(historyLines(rollout({}, { history })), [
      "2026-01-01T00:00:00Z  step 1  RolloutStarted  1/9  10 %",
      "step 1    0/0",
    ]);
    assert.deepEqual(historyLines(rollout({})), []);
  });

  test("step names are those that approvals use", () => {
    assert.deepEqual(
      [stepName({ name: "half" }, 3), stepName({}, 3), stepName({ name: "" }, 0)],
      ["half", "step-4", "step-1"],
    );
  });
});

describe("shadow reports", () => {
  test("are grouped by class, the worst first, with what is left out", () => {
    const shadow = {
      compared: 9,
      classes: { none: 4, change: 3, delete: 1, cosmetic: 1 },
      composites: [
        { kind: "App", name: "b", class: "change", resources: [] },
        {
          kind: "App",
          namespace: "team",
          name: "a",
          class: "delete",
          message: "boom",
          resources: [{ class: "delete", kind: "Bucket", resource: "db" }],
        },
      ],
    };
    assert.deepEqual(previewLines(rollout({}, { shadow })), [
      "9 composite resources compared; nothing was applied.",
      "",
      "delete: 1",
      "  App team/a: boom",
      '    delete Bucket "db"',
      "",
      "change: 3",
      "  App b",
      "  … and 2 more",
      "",
      "cosmetic: 1",
      "",
      "none: 4",
    ]);
  });

  test("are absent before the first comparison", () => assert.equal(previewLines(rollout({})), undefined));
});
