// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the guide on claims as it shows them, against the example with claims.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { guideBlocks, guideEnv, playBlock, sortedConditions } from "../test/play-guide.ts";
import { spawnPurlin } from "../test/spawn-purlin.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/claims.md";

test("the guide on claims does what it says", async () => {
  using folder = tempFolder();
  const more = ["--data-dir", folder.path] as const;
  await using running = spawnPurlin(["up", "examples/claims", ...more], { cwd: root });
  await running.next("stdout", /^✓ Everything is ready\.$/m);
  const [setup, ...blocks] = guideBlocks(new URL(`../../../${page}`, import.meta.url));
  assert.deepEqual(Object.keys(guideEnv(setup)), ["PURLIN_DATA_DIR"]);
  assert.equal(blocks.length, 3);
  for (const block of blocks) {
    assert.equal(block.kind, "test");
    await playBlock(block, { page, cwd: root, more, mask: sortedConditions });
  }
  assert.equal(await running.stop(), 0);
});
