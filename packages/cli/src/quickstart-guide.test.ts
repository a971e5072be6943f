// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the quickstart guide as it shows them, on a folder of the test.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { type GuidePlay, guideBlocks, patternOf, playBlock, sortedConditions, wordsOf } from "../test/play-guide.ts";
import { spawnPurlin } from "../test/spawn-purlin.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/quickstart.md";
const guide = new URL(`../../../${page}`, import.meta.url);
const example = join(root, "examples/quickstart");

/** What `npm start` runs, as the guide would spell it out. */
function startCommand(): string {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { start: string } };
  return scripts.start.replace("node packages/cli/bin/purlin.js", "npx purlin");
}

/** What the guide on keeping a control plane says its folder has, once it has stopped and before its log is long. */
function explainedEntries(): string[] {
  const operating = readFileSync(join(root, "docs/guide/operating.md"), "utf8");
  const cells = [...operating.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell = ""]) => cell);
  const names = cells.flatMap((cell) => [...cell.matchAll(/`([^`/]+)\/?`/g)].map(([, name = ""]) => name));
  return names.filter((name) => name !== "store.db-wal").sort();
}

test("the quickstart guide does what it says", async () => {
  using folder = tempFolder();
  const more = ["--data-dir", folder.path] as const;
  const play: GuidePlay = { page, cwd: root, more, mask: sortedConditions };
  const [first, ...rest] = guideBlocks(guide);
  assert.equal(first?.kind, "serve");
  assert.deepEqual(first.commands, ["npm start"]);
  await using running = spawnPurlin([...wordsOf(startCommand()), ...more], { cwd: root });
  for (const line of first.output) await running.next("stdout", patternOf(line));
  const known = new Set(rest.map(({ kind }) => kind));
  assert.deepEqual([...known].sort(), ["check", "test"]);
  using other = tempFolder();
  const own = (word: string): string => (word === ".purlin-check" ? join(other.path, "data") : word);
  // In the order of the page, with the control plane of its beginning still at work.
  for (const block of rest) await playBlock(block, { ...play, own });
  assert.equal(await running.stop(), 0);
  assert.deepEqual(readdirSync(folder.path).sort(), explainedEntries());
});

test("npm start is the quickstart, whose next steps are commands of the guide", () => {
  assert.equal(startCommand(), "npx purlin up examples/quickstart");
  const next = readFileSync(join(example, "NEXT.md"), "utf8");
  const commands = [...next.matchAll(/^npx purlin .*$/gm)].map(([command]) => command);
  const shown = guideBlocks(guide).flatMap((block) => block.commands);
  assert.equal(commands.length, 4);
  assert.deepEqual(
    commands.filter((command) => !shown.includes(command)),
    [],
    "only what a test runs is suggested",
  );
});
