// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the guide on previews as it shows them, against the quickstart example.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { guideBlocks } from "./testing/guide-blocks.ts";
import { guideFiles } from "./testing/guide-files.ts";
import { guideEnv, playBlock } from "./testing/play-guide.ts";
import { spawnPurlin } from "./testing/spawn-purlin.ts";
import { tempFolder } from "./testing/temp-folder.ts";
import { runInProcess } from "./testing/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/preview-a-change.md";

test("the guide on previews does what it says, in every format and with every exit code", async () => {
  const url = new URL(`../../../${page}`, import.meta.url);
  using folder = tempFolder();
  const files = guideFiles(url);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  const data = join(folder.path, "data");
  const more = ["--data-dir", data] as const;
  await using running = spawnPurlin(["up", "examples/quickstart", ...more], { cwd: root });
  await running.next("stdout", /^✓ Everything is ready\.$/m);
  const [setup, ...blocks] = guideBlocks(url);
  assert.deepEqual(Object.keys(guideEnv(setup)), ["PURLIN_DATA_DIR"]);
  assert.equal(blocks.length, 5);
  const own = (word: string): string => (Object.hasOwn(files, word) ? join(folder.path, word) : word);
  for (const block of blocks) await playBlock(block, { page, cwd: root, more, own });

  const purlin = (...args: string[]) => runInProcess([...args, ...more], { cwd: root });
  const large = join(folder.path, "large.yaml");
  const json = await purlin("diff", large, "-o", "json", "--exit-code", "terraform");
  const report = JSON.parse(json.stdout) as {
    hash: string;
    summary: object;
    xrs: readonly { changes: readonly object[] }[];
  };
  assert.equal(json.exitCode, 2);
  assert.equal(report.xrs.length, 2);
  assert.deepEqual(report.summary, {
    added: 0,
    modified: 4,
    removed: 0,
    replaced: 0,
    recreated: 0,
    refused: 0,
    pending: 0,
    destructive: 0,
  });

  writeFileSync(join(folder.path, "copy.yaml"), files["large.yaml"] ?? "");
  const twice = await purlin("diff", large, join(folder.path, "copy.yaml"));
  assert.equal(twice.exitCode, 2);
  assert.match(twice.stderr, /App "shop" is also at .*large\.yaml:\d+/);
  const failed = await purlin("diff", join(folder.path, "composition.yaml"), "-o", "json");
  assert.equal(failed.exitCode, 1);
  assert.ok((JSON.parse(failed.stdout) as { errors: readonly object[] }).errors.length > 0);
  assert.equal((await purlin("diff", large, "--function", "none=./missing.ts")).exitCode, 2);

  // Nothing was changed so far; a plan is applied only as it was approved.
  assert.match((await purlin("get", "app", "shop", "-o", "yaml")).stdout, /image: shop-v1/);
  const wrong = await purlin("apply", large, "--confirm", "0".repeat(64));
  assert.deepEqual([wrong.exitCode, wrong.stderr.includes("the plan has changed")], [1, true]);
  const right = await purlin("apply", large, "--confirm", report.hash);
  assert.equal(right.exitCode, 0, right.stderr);
  assert.match(right.stdout, /App default\/shop configured|App shop configured/);
  assert.equal(await running.stop(), 0);
});
