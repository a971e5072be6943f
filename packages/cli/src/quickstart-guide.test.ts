// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the quickstart guide as it shows them, on a folder of the test.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type GuideBlock, guideBlocks, missingLine } from "./testing/guide-blocks.ts";
import { spawnPurlin } from "./testing/spawn-purlin.ts";
import { tempFolder } from "./testing/temp-folder.ts";
import { runInProcess } from "./testing/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const guide = new URL("../../../docs/guide/quickstart.md", import.meta.url);
const example = join(root, "examples/quickstart");

/** A command line as the words a shell would make of it. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

/** What comes after `npx purlin`; the script behind `npm start` is spelled out. */
function argumentsOf(command: string): string[] {
  const script = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { start: string } })
    .scripts;
  if (command === "npm start") return wordsOf(script.start).slice(2);
  assert.ok(command.startsWith("npx purlin "), command);
  return wordsOf(command).slice(2);
}

/** Runs the commands of a block; the last is run again until it shows what the guide says: things take a moment. */
async function play(block: GuideBlock, folder: string): Promise<void> {
  for (const [index, command] of block.commands.entries()) {
    const where = `docs/guide/quickstart.md:${block.line}: ${command}`;
    const isLast = index === block.commands.length - 1;
    for (;;) {
      const args = [...argumentsOf(command), "--data-dir", folder];
      const { exitCode, stdout, stderr } = await runInProcess(args, { cwd: root });
      assert.equal(exitCode, 0, `${where}\n${stdout}${stderr}`);
      if (!isLast || missingLine(sorted(stdout), block.output.map(sorted)) === undefined) break;
      await setTimeout(100);
    }
  }
}

/** Conditions come in any order. */
function sorted(text: string): string {
  return text.replaceAll(/(?<=Ready, )(\w+(?:, \w+)*)$/gm, (names) => names.split(", ").sort().join(", "));
}

test("the quickstart guide does what it says", async () => {
  using folder = tempFolder();
  const blocks = guideBlocks(guide);
  const [first, ...rest] = blocks;
  assert.equal(first?.kind, "serve");
  await using running = spawnPurlin([...argumentsOf("npm start"), "--data-dir", folder.path], { cwd: root });
  for (const line of first.output) await running.next("stdout", patternOf(line));
  const known = new Set(rest.map(({ kind }) => kind));
  assert.deepEqual([...known].sort(), ["check", "test"]);
  for (const block of rest.filter(({ kind }) => kind === "test")) await play(block, folder.path);
  assert.equal(await running.stop(), 0);
  for (const block of rest.filter(({ kind }) => kind === "check")) await play(block, folder.path);
});

/** A line of output in which the port and the folder are the test's own. */
function patternOf(line: string): RegExp {
  const text = line.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${text.replace("PORT", "\\d+").replace("\\.purlin/kubeconfig", ".*kubeconfig")}$`, "m");
}

test("npm start is the quickstart, whose next steps are commands of the guide", () => {
  assert.deepEqual(argumentsOf("npm start"), ["up", "examples/quickstart"]);
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

for (const page of ["docs/guide/quickstart.md", "examples/quickstart/README.md"]) {
  test(`the links of ${page} lead somewhere`, () => {
    const text = readFileSync(join(root, page), "utf8");
    const targets = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = ""]) => target);
    assert.ok(targets.length > 0);
    for (const target of targets) assert.ok(existsSync(join(root, page, "..", target)), `${page}: ${target}`);
  });
}
