// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type GuideBlock, guideBlocks } from "./guide-blocks.ts";
import { guideFiles } from "./guide-files.ts";
import { type GuidePlay, patternOf, playBlock, wordsOf } from "./play-guide.ts";
import { type PurlinProcess, spawnPurlin } from "./spawn-purlin.ts";
import { tempFolder } from "./temp-folder.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** What a test of a page may choose. */
interface PageOptions {
  readonly mask?: (text: string) => string;
  /** Called with the folder when all commands have run and the control plane is still running. */
  readonly finally?: (folder: string) => Promise<void>;
}

/**
 * Does what a page says in an empty folder: saves the files that it shows, and runs its commands in their order. `serve` blocks run until
 * the end of the page.
 */
export async function playPage(page: string, { mask, finally: atEnd }: PageOptions = {}): Promise<void> {
  const url = new URL(`../../../${page}`, import.meta.url);
  using folder = tempFolder(guideFiles(url));
  const modules = join(folder.path, "node_modules");
  if (!existsSync(modules)) symlinkSync(join(root, "node_modules"), modules);
  const play: GuidePlay = { page, cwd: folder.path, ...(mask && { mask }) };
  await using running = new AsyncDisposableStack();
  const servers: PurlinProcess[] = [];
  for (const block of guideBlocks(url)) {
    if (block.kind === "serve") servers.push(running.use(await serve(block, folder.path)));
    else await playKnown(block, play);
  }
  await atEnd?.(folder.path);
  for (const server of servers) assert.equal(await server.stop(), 0);
}

async function serve({ commands, output }: GuideBlock, cwd: string): Promise<PurlinProcess> {
  const [command = "", ...rest] = commands;
  assert.deepEqual(rest, [], "one command is served in a block");
  await using starting = new AsyncDisposableStack();
  const server = starting.use(spawnPurlin(wordsOf(command), { cwd }));
  await server.next("stdout", /^✓ registry at /m);
  for (const line of output) await server.next("stdout", patternOf(line));
  starting.move();
  return server;
}

async function playKnown(block: GuideBlock, play: GuidePlay): Promise<void> {
  assert.ok(
    ["test", "warns", "fails"].includes(block.kind),
    `${play.page}:${block.line}: unknown kind "${block.kind}"`,
  );
  const [command = ""] = block.commands;
  if (!command.startsWith("node ")) return playBlock(block, play);
  assert.equal(block.commands.length, 1, `${play.page}:${block.line}: one node command in a block`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: play.cwd, encoding: "utf8", env } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, command.split(" ").slice(1), options);
  assert.equal(status, 0, `${play.page}:${block.line}: ${command}\n${stdout}${stderr}`);
}
