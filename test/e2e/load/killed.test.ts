// SPDX-License-Identifier: Apache-2.0
// kill -9 of a function, of the control plane that runs it, and of both, while composite resources are reconciled: all continues where it was,
// and nothing that a control plane started outlives it, with a sandbox and without.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { sandboxModes } from "../harness/packages/sandbox.ts";
import { eventually } from "../harness/plane.ts";
import { isRunning } from "../harness/process-tree.ts";
import { selectorsFlag } from "../harness/up-machine.ts";
import { gone, killed, startBoxScene } from "./boxes.ts";

const boxes = Array.from({ length: 20 }, (_, index) => ({ name: `box-${index}` }));

for (const { title, env, skip, isSandboxed } of sandboxModes) {
  suite(`processes that are killed, ${title}`, { skip }, () => {
    test("whatever is killed, all continues, and nothing is left behind", async (t) => {
      await using scene = await startBoxScene({ env, flags: [selectorsFlag] }, { version: "v1" }, boxes);
      const { machine, whileAsking, allAreWell } = scene;
      const sandboxes = machine.children().filter(({ command }) => command[0]?.endsWith("bwrap"));
      assert.equal(sandboxes.length > 0, isSandboxed);

      await t.test("a function", async () => {
        await whileAsking(async () => {
          const before = killed(machine.functions()[0]);
          await eventually("it is started again", async () => !isRunning(before) && machine.functions().length === 1);
        });
        await allAreWell();
      });

      for (const alsoFunctions of [false, true]) {
        await t.test(alsoFunctions ? "both" : "the control plane", async () => {
          const children = machine.children();
          assert.ok(children.length > 1);
          assert.equal(machine.functions().length, 1);
          await whileAsking(async () => {
            if (alsoFunctions) machine.functions().map(killed);
            await machine.kill();
            await gone(children);
            await machine.start();
          });
          await allAreWell();
          assert.equal(machine.functions().length, 1, "one revision, one process");
        });
      }
    });
  });
}
