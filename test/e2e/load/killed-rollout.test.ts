// SPDX-License-Identifier: Apache-2.0
// kill -9 of functions and of the control plane in every phase of a rollout: it resumes, keeps approvals, and moves every box once. Then a candidate
// that leaks memory until its limit ends it. With a sandbox and without.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { sandboxModes } from "../harness/packages/sandbox.ts";
import { conditionOf } from "../harness/plane.ts";
import { compositeText } from "../rollout/kinds.ts";
import { type BoxScene, boxType, functionName, gone, killed, startBoxScene } from "./boxes.ts";

const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const boxes = Array.from({ length: 6 }, (_, index) => ({ name: `box-${index}` }));
const flags = ["--enable-function-rollouts", "--function-memory-limit", "320Mi"];
const approval = "Manual";
const halves = [{ percent: 50, approval }, { percent: 100 }];
// Calls that a killed function could not answer are not the candidate's fault.
const healthGates = [
  { type: "RuntimeHealthy" },
  { type: "CompositeCondition", condition: "Synced", minRatio: "1" },
  { type: "DesiredDiff" },
];

async function rollOut({ machine }: BoxScene, name: string, spec: object): Promise<void> {
  const functionRef = { name: functionName };
  await machine.view.apply({ ...rolloutType, metadata: { name }, spec: { functionRef, ...spec } } as KubeObject);
  await rollout(machine, name, "it waits for the next version", (one) => {
    return conditionOf(one, "Progressing")?.reason === "WaitingForCandidate";
  });
}

function rollout(
  machine: BoxScene["machine"],
  name: string,
  what: string,
  isSo: (rollout: KubeObject) => boolean,
): Promise<KubeObject> {
  return machine.view.until(what, rolloutType, { name }, isSo);
}

const phaseOf = (one: KubeObject): string => stringAt(one, ["status", "phase"]);

function patch({ machine }: BoxScene, name: string, change: JsonObject): Promise<KubeObject> {
  return machine.users.patch({ ...rolloutType, name }, change, { type: "merge" });
}

/** A rollout once it gives this reason for what it does. */
function says({ machine }: BoxScene, name: string, reason: string): Promise<KubeObject> {
  return rollout(machine, name, `it says ${reason}`, (one) => conditionOf(one, "Progressing")?.reason === reason);
}

/** Kills functions and the control plane, and starts them again. */
async function loseAll({ machine }: BoxScene): Promise<void> {
  const children = machine.children();
  machine.functions().map(killed);
  await machine.kill();
  await gone(children);
  await machine.start();
}

/** The function revision that made each box. */
async function revisions({ machine }: BoxScene): Promise<readonly string[]> {
  const { items } = await machine.users.list(boxType);
  return items.map((box) => compositeText(box).status?.crossplane?.functionRevisions?.[0]?.functionRevision ?? "");
}

for (const { title, env, skip } of sandboxModes) {
  suite(`rollouts whose processes are killed, ${title}`, { skip }, () => {
    test("a rollout continues where it was; one whose candidate leaks memory goes back", async (t) => {
      await using scene = await startBoxScene({ env, flags }, { version: "v1" }, boxes);
      const { machine } = scene;
      const [stable = ""] = await revisions(scene);

      await t.test("killed in shadow, in each wave, at a closed window and in the bake time", async () => {
        const steps = [{ shadow: true, approval }, { percent: 50, approval }, { percent: 100 }];
        await rollOut(scene, "killed", { steps, healthGates, bakeTime: "3s" });
        await scene.install({ version: "v2" });
        for (const step of ["step-1", "step-2"]) {
          await rollout(machine, "killed", `${step} waits`, (one) => {
            return stringAt(one, ["status", "awaitingApproval"]) === step;
          });
          const before = await revisions(scene);
          if (step === "step-1")
            assert.ok(
              before.every((one) => one === stable),
              "shadow moves nothing",
            );
          // Closed but for one minute a year.
          const window = { schedule: "0 0 29 2 *", duration: "1m" };
          if (step === "step-2") await patch(scene, "killed", { spec: { window } });
          await patch(scene, "killed", { metadata: { annotations: { "pkg.crossplane.io/rollout-approve": step } } });
          await loseAll(scene);
        }
        await says(scene, "killed", "WaitingForWindow");
        await loseAll(scene);
        const waiting = await says(scene, "killed", "WaitingForWindow");
        assert.equal((waiting["status"] as { currentStep: number }).currentStep, 1, "the window is closed");
        await patch(scene, "killed", { spec: { window: null } });
        await says(scene, "killed", "Baking");
        await loseAll(scene);
        const ended = await rollout(machine, "killed", "it succeeds", (one) => phaseOf(one) === "Succeeded");
        const candidate = stringAt(ended, ["status", "candidateRevision"]);
        assert.deepEqual(new Set(await revisions(scene)), new Set([candidate]));
        assert.deepEqual(textsAt(ended, ["status", "approvedSteps"]), ["step-1", "step-2"]);
        const decisions = objectsAt(ended, ["status", "history"]).map((one) => stringAt(one, ["decision"]));
        const steps2 = decisions.filter((one) => /Started|Succeeded|RollingBack|RolledBack/.test(one));
        assert.deepEqual(steps2, ["RolloutStarted", "StepStarted", "StepStarted", "RolloutSucceeded"]);
        await scene.allAreWell();
      });

      await t.test("killed while an abort moves all back", async () => {
        const [before = ""] = await revisions(scene);
        await machine.users.delete({ ...rolloutType, name: "killed" });
        await rollOut(scene, "aborted", { steps: halves, healthGates: healthGates.slice(0, 2) });
        await scene.install({ version: "v2.1" });
        await says(scene, "aborted", "WaitingForApproval");
        await patch(scene, "aborted", { metadata: { annotations: { "pkg.crossplane.io/rollout-abort": "no" } } });
        await loseAll(scene);
        const ended = await rollout(machine, "aborted", "it is rolled back", (one) => phaseOf(one) === "RolledBack");
        assert.equal(conditionOf(ended, "RolledBack")?.reason, "Aborted");
        assert.deepEqual(new Set(await revisions(scene)), new Set([before]));
        await scene.allAreWell();
        await machine.users.delete({ ...rolloutType, name: "aborted" });
      });

      await t.test("a candidate that leaks memory until its limit ends it", async () => {
        const [before = ""] = await revisions(scene);
        const gates = [{ type: "FunctionErrors", maxRatio: "0" }, { type: "RuntimeHealthy" }];
        const steps = [{ percent: 50, minDuration: "10m" }, { percent: 100 }];
        await rollOut(scene, "leaking", { steps, healthGates: gates });
        await scene.install({ version: "v3", isLeaking: true });
        await rollout(machine, "leaking", "the first wave moves", (one) => phaseOf(one) !== "Pending");
        const ended = rollout(machine, "leaking", "it is rolled back", (one) => phaseOf(one) === "RolledBack");
        await scene.whileAsking(async () => void (await ended));
        assert.match(conditionOf(await ended, "RolledBack")?.message ?? "", /gate (FunctionErrors|RuntimeHealthy): /);
        await scene.allAreWell();
        assert.deepEqual(new Set(await revisions(scene)), new Set([before]));
      });
    });
  });
}
