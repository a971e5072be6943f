// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the rollout guide as it shows them, in a folder of the test, and compares what they print.
import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type GuideBlock, guideBlocks } from "./testing/guide-blocks.ts";
import { spawnPurlin } from "./testing/spawn-purlin.ts";
import { type TempFolder, tempFolder } from "./testing/temp-folder.ts";
import { runInProcess } from "./testing/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/rollout.md";
const guide = new URL(`../../../${page}`, import.meta.url);
/** The port of the guide; the test takes one that is free. */
const shownPort = "5601";

/** Of a command that shows what comes about by itself: a minute or more. */
const mostTries = 400;

/** The example where the guide has it, with another port in it. */
function copyExample(port: string): TempFolder {
  const folder = tempFolder();
  cpSync(join(root, "examples/rollout"), join(folder.path, "examples/rollout"), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  const steps = join(folder.path, "examples/rollout/steps");
  for (const name of readdirSync(steps)) {
    writeFileSync(join(steps, name), readFileSync(join(steps, name), "utf8").replaceAll(shownPort, port));
  }
  return folder;
}

function freePort(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number };
    server.close(() => resolve(String(port)));
  });
  return promise;
}

function wordsOf(command: string, port: string): string[] {
  assert.ok(command.startsWith("npx purlin "), command);
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  return words.slice(2).map((word) => word.replaceAll(shownPort, port));
}

/** Names by digest, in the order in which they are first seen, as the guide has them. */
function createMask(port: string): (text: string) => string {
  const letters = new Map<string, string>();
  const letterOf = (digest: string): string => {
    const known = letters.get(digest) ?? String.fromCharCode("A".charCodeAt(0) + letters.size).repeat(12);
    letters.set(digest, known);
    return known;
  };
  return (text) =>
    masked(
      text
        .replaceAll(/(?<=function-bucket-)[0-9a-f]{12}\b/g, letterOf)
        .replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${shownPort}`),
    );
}

/** What is another one each time, and how wide columns are because of it. */
function masked(text: string): string {
  return text
    .replaceAll(/"ts":[\d.]+/g, '"ts":TIME')
    .replaceAll(/"tag":"[^"]+"/g, '"tag":"TAG"')
    .replaceAll(/\b(\d+[smh])+$/gm, "AGE")
    .replaceAll(/ {2,}(?=\S)/g, "  ");
}

/** Runs the commands of a block; the last is run again until it shows what the guide says: things take a moment. */
async function play(
  block: GuideBlock,
  { cwd, port, mask }: { cwd: string; port: string; mask: (text: string) => string },
) {
  for (const [index, command] of block.commands.entries()) {
    const where = `${page}:${block.line}: ${command}`;
    const isLast = index === block.commands.length - 1;
    for (let tries = 0; ; tries++) {
      const { exitCode, stdout, stderr } = await runInProcess(wordsOf(command, port), { cwd });
      assert.equal(exitCode, 0, `${where}\n${stdout}${stderr}`);
      const lines = mask(stdout).split("\n");
      // In any order: lists are sorted by name, which ends in a digest, and logs by when they were written.
      const missing = block.output.map(masked).find((line) => !lines.includes(line));
      if (!isLast || missing === undefined) break;
      assert.ok(tries < mostTries, `${where}\nThe guide shows:\n${missing}\nIt printed:\n${mask(stdout)}`);
      await setTimeout(200);
    }
  }
}

test("the rollout guide does what it says", async () => {
  const port = await freePort();
  using folder = copyExample(port);
  const [first, ...rest] = guideBlocks(guide);
  assert.equal(first?.kind, "serve");
  await using running = spawnPurlin(wordsOf(first.commands[0] ?? "", port), { cwd: folder.path });
  for (const line of first.output) await running.next("stdout", patternOf(line.replace(shownPort, port)));
  const mask = createMask(port);
  assert.ok(rest.every(({ kind }) => kind === "test"));
  for (const block of rest) await play(block, { cwd: folder.path, port, mask });
  assert.equal(await running.stop(), 0);
  const logs = await runInProcess(["logs", "function-bucket"], { cwd: folder.path });
  assert.match(logs.stdout, /"version":"v1\.1\.0","bucket":"data"/, "logs are there when the control plane has gone");
});

/** A line of output in which the port of the control plane is its own. */
function patternOf(line: string): RegExp {
  return new RegExp(`^${line.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("PORT", "\\d+")}$`, "m");
}

test("what purlin up suggests for the example are commands of the guide", () => {
  const next = readFileSync(join(root, "examples/rollout/NEXT.md"), "utf8");
  const commands = [...next.matchAll(/^npx purlin .*$/gm)].map(([command]) => command);
  const shown = guideBlocks(guide).flatMap((block) => block.commands);
  assert.equal(commands.length, 4);
  assert.deepEqual(
    commands.filter((command) => !shown.includes(command)),
    [],
  );
});

for (const file of [page, "examples/rollout/README.md"]) {
  test(`the links of ${file} lead somewhere`, () => {
    const targets = [...readFileSync(join(root, file), "utf8").matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)];
    assert.ok(targets.length > 0);
    for (const [, target = ""] of targets) assert.ok(existsSync(join(root, file, "..", target)), `${file}: ${target}`);
  });
}
