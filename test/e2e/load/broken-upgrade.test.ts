// SPDX-License-Identifier: Apache-2.0
// Versions of a function that cannot start, and the flag for revision selectors switched on and off, while functions and the control plane are
// killed and restarted: a revision that has served stays active until a successor has served, with a sandbox and without.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { sandboxModes } from "../harness/packages/sandbox.ts";
import { conditionOf, eventually } from "../harness/plane.ts";
import { isRunning } from "../harness/process-tree.ts";
import { selectorsFlag } from "../harness/up-machine.ts";
import { functionType } from "../rollout/kinds.ts";
import { type BoxScene, functionName, gone, killed, startBoxScene } from "./boxes.ts";

const why = "this build cannot start";
const limit = 2;

/** Loses functions, then the control plane, then both at once; `check` runs after each. */
async function loseAll({ machine, whileAsking }: BoxScene, check: () => Promise<void>): Promise<void> {
  await whileAsking(async () => {
    const lost = machine.functions().map(killed);
    assert.ok(lost.length > 0, "functions run");
    await eventually("they are gone", async () => !lost.some(isRunning));
  });
  await check();
  await whileAsking(async () => {
    await machine.stop();
    await machine.start();
  });
  await check();
  await whileAsking(async () => {
    const children = machine.children();
    machine.functions().map(killed);
    await machine.kill();
    await gone(children);
    await machine.start();
  });
  await check();
}

for (const { title, env, skip, isSandboxed } of sandboxModes) {
  suite(`versions that cannot start, ${title}`, { skip }, () => {
    let scene: BoxScene;
    /** Restarts the control plane with other flags while boxes are reconciled all the time. */
    const restartWith = (...flags: readonly string[]): Promise<void> =>
      scene.whileAsking(async () => {
        await scene.machine.stop();
        await scene.machine.start(flags);
      });
    /** A call that is running when its function is killed fails; nothing else may. */
    const failures = async (): Promise<readonly string[]> =>
      (await scene.warnings()).filter(
        (text) => !/code = Unavailable desc = (Connection dropped|read ECONNRESET)$/.test(text),
      );

    before(async () => {
      scene = await startBoxScene({ env, flags: [] }, { version: "v1", limit }, [{ name: "one" }, { name: "two" }]);
    });
    after(() => scene?.[Symbol.asyncDispose]());

    test("a missing sandbox is stated at the start, once, and on the Function", async () => {
      const { machine } = scene;
      const lines = machine.output().split("\n");
      const text = "functions of packages run without a sandbox: PURLIN_SANDBOX=none";
      assert.equal(lines.filter((line) => line.includes(text)).length, isSandboxed ? 0 : 1);
      const healthy = conditionOf(await machine.view.get(functionType, { name: functionName }), "Healthy");
      const message = isSandboxed ? undefined : "the function runs without a sandbox: PURLIN_SANDBOX=none";
      assert.deepEqual([healthy?.status, healthy?.message], ["True", message]);
    });

    test("one revision at a time: the one that has served stays", async () => {
      await scene.install({ version: "v2", isBroken: true, limit });
      await scene.runtimeSays("v2", why);
      await loseAll(scene, async () => {
        await scene.allAreWell();
        await scene.runtimeSays("v2", why);
        assert.deepEqual(await scene.states(), ["v1 Active", "v2 Active"]);
      });
      await scene.install({ version: "v3", isBroken: true, limit });
      await scene.becomes("v1 Active", "v2 Inactive", "v3 Active");
      await scene.install({ version: "v4", limit, channel: "stable" });
      await scene.becomes("v1 Inactive", "v2 Inactive", "v3 Inactive", "v4 Active");
      await scene.madeBy("one", "v4");
      assert.deepEqual(await failures(), []);
    });

    test("the flag switched on and off again: boxes that choose no revision never fail", async () => {
      await restartWith(selectorsFlag);
      await scene.allAreWell();
      await scene.install({ version: "v5", limit, channel: "alpha" });
      await scene.madeBy("one", "v5");
      await restartWith();
      await scene.allAreWell();
      await eventually("one revision is active", async () => {
        return (await scene.states()).filter((state) => state.endsWith(" Active")).join() === "v5 Active";
      });
      await scene.allAreWell();
      assert.deepEqual(await failures(), []);
      await restartWith(selectorsFlag);
      await scene.allAreWell();
    });

    test("several revisions, chosen by selectors: those that have served stay", async () => {
      await scene.serves("alpha", "v5");
      await scene.install({ version: "v6", limit, channel: "stable" });
      await scene.serves("stable", "v6");
      await scene.add({ name: "stable", channel: "stable" }, { name: "alpha", channel: "alpha" });
      await scene.madeBy("stable", "v6");
      await scene.madeBy("alpha", "v5");
      for (const version of ["v7", "v8"]) {
        await scene.install({ version, limit, channel: "beta", isBroken: true });
        await scene.runtimeSays(version, why);
      }
      const active = async (): Promise<readonly string[]> =>
        (await scene.states()).filter((state) => state.endsWith(" Active")).map((state) => state.split(" ")[0] ?? "");
      await loseAll(scene, async () => {
        await scene.allAreWell();
        await scene.runtimeSays("v8", why);
        assert.deepEqual(await active(), ["v5", "v6", "v7", "v8"]);
      });
      await scene.install({ version: "v9", limit, channel: "alpha" });
      await scene.madeBy("alpha", "v9");
      await scene.allAreWell();
      assert.deepEqual(await active(), ["v6", "v8", "v9"], "of those that have served, as many as the limit allows");
      assert.deepEqual(await failures(), []);
    });
  });
}
