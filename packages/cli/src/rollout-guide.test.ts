// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the rollout guide as it shows them, in a folder of the test, and compares what they print.
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { guideBlocks, guideEnv, playBlock, serveGuide } from "../test/play-guide.ts";
import { runInProcess } from "../test/test-io.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = "docs/guide/rollout.md";
const guide = new URL(`../../../${page}`, import.meta.url);
/** The port of the registry in the guide. */
const shownPort = "5601";

/** The example where the guide has it. */
function copyExample(): TempFolder {
  const folder = tempFolder();
  cpSync(join(root, "examples/rollout"), join(folder.path, "examples/rollout"), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  return folder;
}

/** Has the manifests that are to be applied step by step name the registry that runs. */
function useRegistry({ path }: TempFolder, own: (text: string) => string): void {
  const steps = join(path, "examples/rollout/steps");
  for (const name of readdirSync(steps)) writeFileSync(join(steps, name), own(readFileSync(join(steps, name), "utf8")));
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

test("the rollout guide does what it says", async () => {
  using folder = copyExample();
  const [setup, first, ...rest] = guideBlocks(guide);
  const where = { cwd: folder.path, env: guideEnv(setup) };
  await using running = await serveGuide(first, shownPort, where);
  const own = (text: string): string => text.replaceAll(`127.0.0.1:${shownPort}`, `127.0.0.1:${running.port}`);
  useRegistry(folder, own);
  const mask = createMask(running.port);
  assert.ok(rest.every(({ kind }) => kind === "test"));
  for (const block of rest) await playBlock(block, { page, ...where, own, mask });
  assert.equal(await running.stop(), 0);
  const logs = await runInProcess(["logs", "function-bucket"], where);
  assert.match(logs.stdout, /"version":"v1\.1\.0","bucket":"data"/, "logs are there when the control plane has gone");
});

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
