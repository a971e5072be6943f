// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the guide about progressive rollouts as it shows them, in a folder of the test, and compares what they print.
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { guideBlocks, guideEnv, playBlock, serveGuide } from "../test/play-guide.ts";
import { runInProcess } from "../test/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/progressive-rollout.md";
const guide = new URL(`../../../${page}`, import.meta.url);
/** The port of the registry in the guide. */
const shownPort = "5603";

/** Ages, and the widths of columns. */
function mask(text: string): string {
  return text.replaceAll(/\b(\d+[smh])+$/gm, "AGE").replaceAll(/(?<=\S) {2,}(?=\S)/g, "  ");
}

test("the guide about progressive rollouts does what it says", async () => {
  using folder = tempFolder();
  const example = join(folder.path, "examples/progressive-rollout");
  cpSync(join(root, "examples/progressive-rollout"), example, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  const [setup, first, ...rest] = guideBlocks(guide);
  const where = { cwd: folder.path, env: guideEnv(setup) };
  await using running = await serveGuide(first, shownPort, where);
  const own = (text: string): string => text.replaceAll(`127.0.0.1:${shownPort}`, `127.0.0.1:${running.port}`);
  for (const name of readdirSync(join(example, "steps"))) {
    const file = join(example, "steps", name);
    writeFileSync(file, own(readFileSync(file, "utf8")));
  }
  assert.ok(rest.every(({ kind }) => kind === "test"));
  for (const block of rest) await playBlock(block, { page, ...where, own, mask });
  const watched = await runInProcess(["rollout", "status", "bucket-v1-1", "--watch"], where);
  assert.equal(watched.exitCode, 0);
  const failed = await runInProcess(["rollout", "status", "bucket-v2", "--watch"], where);
  assert.equal(failed.exitCode, 1, "a script notices a rollout that did not succeed");
  for (const verb of ["pause", "resume", "approve", "abort"]) {
    const refused = await runInProcess(["rollout", verb, "bucket-v2"], where);
    assert.match(refused.stderr, /FunctionRollout "bucket-v2" has ended: it is RolledBack/);
  }
  const unknown = await runInProcess(["rollout", "status", "nothing"], where);
  assert.match(unknown.stderr, /FunctionRollout "nothing" not found: there are /);
  assert.equal(await running.stop(), 0);
});
