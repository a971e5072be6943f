// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the packages guide as it shows them, in a folder of the test.
import assert from "node:assert/strict";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { type GuidePlay, guideBlocks, guideEnv, playBlock, serveGuide } from "../test/play-guide.ts";
import { runInProcess } from "../test/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/packages.md";
/** The port of the registry in the guide. */
const shownPort = "5602";

test("the packages guide does what it says", async () => {
  using folder = tempFolder();
  cpSync(join(root, "examples/rollout"), join(folder.path, "examples/rollout"), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  const [setup, first, ...rest] = guideBlocks(new URL(`../../../${page}`, import.meta.url));
  const where = { cwd: folder.path, env: guideEnv(setup) };
  await using running = await serveGuide(first, shownPort, where);
  const [shown, used] = [`127.0.0.1:${shownPort}`, `127.0.0.1:${running.port}`];
  const own = (word: string): string => word.replaceAll(shown, used);
  const play: GuidePlay = { page, ...where, own, mask: (text) => masked(text.replaceAll(used, shown)) };
  assert.ok(rest.every(({ kind }) => kind === "test"));
  for (const block of rest) await playBlock(block, play);
  await applyManifestsOf(folder, where.env, ["docs/guide/on-a-cluster.md", "docs/reference/runtimes.md"]);
  assert.equal(await running.stop(), 0);
});

/** The manifests that pages about clusters show: whatever they name, an API server takes them. */
async function applyManifestsOf(
  folder: TempFolder,
  env: Record<string, string>,
  others: readonly string[],
): Promise<void> {
  for (const other of others) {
    const text = readFileSync(join(root, other), "utf8");
    const shown = [...text.matchAll(/^```yaml\n(apiVersion: [\s\S]*?)^```$/gm)].map(([, body = ""]) => body);
    assert.ok(shown.length > 0, `${other} shows no manifest`);
    for (const [index, body] of shown.entries()) folder.write(`shown/${other}-${index}.yaml`, body);
  }
  const { exitCode, stdout, stderr } = await runInProcess(["apply", "shown"], { cwd: folder.path, env });
  assert.equal(exitCode, 0, stdout + stderr);
  assert.match(stdout, /^Deployment crossplane-system\/purlin created$/m);
}

/** Ages differ, and columns are as wide as what is in them. */
function masked(text: string): string {
  return text.replaceAll(/\b(\d+[smh])+$/gm, "AGE").replaceAll(/ {2,}(?=\S)/g, "  ");
}
