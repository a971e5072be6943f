// SPDX-License-Identifier: Apache-2.0
// Runs every command of docs/guide/build-a-platform.md in its order, in a folder outside the repository, and saves its files when the
// page says so.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type PurlinProcess, spawnPurlin } from "../../packages/cli/test/spawn-purlin.ts";

const root = join(import.meta.dirname, "../..");
const launcher = join(root, "packages/cli/bin/purlin.js");
const page = readFileSync(join(root, "docs/guide/build-a-platform.md"), "utf8");
/** The port of the registry on the page. */
const shownPort = "5603";
const { NODE_TEST_CONTEXT: _, KUBECONFIG: __, ...environment } = process.env;

interface Block {
  readonly language: string;
  /** What comes after the language: the kind of commands, or the path of a file. */
  readonly word: string;
  readonly lines: readonly string[];
}

/** All blocks of the page with a word after their language, in their order. */
const blocks: readonly Block[] = [...page.matchAll(/^```(\w+) (\S+)\n([\s\S]*?)^```$/gm)].map(
  ([, language = "", word = "", body = ""]) => ({ language, word, lines: body.trimEnd().split("\n") }),
);

/** Ages differ, and columns are as wide as what is in them. */
const mask = (text: string): string => text.replaceAll(/\b(\d+[smh])+$/gm, "AGE").replaceAll(/ {2,}(?=\S)/g, "  ");

interface Reader {
  /** Where the reader of the page is: outside the project, then in it. */
  cwd: string;
  readonly outside: string;
  port: string;
  readonly servers: PurlinProcess[];
}

function run(command: string, cwd: string, more: Record<string, string> = {}): ReturnType<typeof spawnSync> {
  const PATH = `${dirname(process.execPath)}:${environment["PATH"]}`;
  return spawnSync("/bin/sh", ["-c", command], { cwd, encoding: "utf8", env: { ...environment, PATH, ...more } });
}

/** Runs a command; the last of a block is retried until it prints what the page shows. */
async function runUntil(command: string, shown: readonly string[], reader: Reader): Promise<void> {
  const isOutside = reader.cwd === reader.outside;
  const own = command.replaceAll(`127.0.0.1:${shownPort}`, `127.0.0.1:${reader.port}`);
  const line = isOutside
    ? own.replace(/^npx purlin/, `"${process.execPath}" "${launcher}"`)
    : own.replace(/^npx /, "npx --no-install ");
  const more: Record<string, string> = isOutside ? { PURLIN_DATA_DIR: join(reader.outside, ".purlin-production") } : {};
  for (let tries = 0; ; tries++) {
    const { status, stdout, stderr } = run(line, reader.cwd, more);
    const lines = mask(String(stdout)).split("\n");
    const missing = shown.find((expected) => !lines.includes(mask(expected)));
    if (status === 0 && missing === undefined) return;
    assert.ok(shown.length > 0 && tries < 100, `${command}: exit ${status}, missing: ${missing}\n${stdout}${stderr}`);
    await setTimeout(500);
  }
}

async function serve(command: string, shown: readonly string[], reader: Reader): Promise<void> {
  const isProduction = command.includes("--registry-port");
  const args = command
    .replace(/^npx purlin /, "")
    .replace(shownPort, "0")
    .split(" ");
  const env = isProduction ? { PURLIN_DATA_DIR: join(reader.outside, ".purlin-production") } : {};
  const server = spawnPurlin(args, { cwd: isProduction ? reader.outside : reader.cwd, env });
  reader.servers.push(server);
  const [, port = ""] = await server.next("stdout", /^✓ registry at 127\.0\.0\.1:(\d+)$/m);
  if (isProduction) {
    reader.port = port;
    reader.cwd = reader.outside;
  }
  await server.next("stdout", new RegExp(`^${shown.at(-1)}$`, "m"));
}

async function play({ language, word, lines }: Block, shown: readonly string[], reader: Reader): Promise<void> {
  if (language !== "sh") {
    const file = join(reader.cwd, word);
    mkdirSync(dirname(file), { recursive: true });
    return writeFileSync(file, `${lines.join("\n")}\n`);
  }
  if (word === "setup") return assert.deepEqual(lines, ["export PURLIN_DATA_DIR=.purlin-production"]);
  if (word.startsWith("serve")) return serve(lines[0] ?? "", shown, reader);
  for (const [index, command] of lines.entries()) {
    if (command.startsWith("cd ")) reader.cwd = join(reader.cwd, command.slice("cd ".length));
    else await runUntil(command, index === lines.length - 1 ? shown : [], reader);
  }
}

test("from an empty folder to an installed platform, as the page says", async () => {
  const outside = mkdtempSync(join(tmpdir(), "build-a-platform-"));
  const reader: Reader = { cwd: outside, outside, port: shownPort, servers: [] };
  try {
    const steps = blocks.filter(({ language }) => language !== "text");
    assert.ok(steps.length > 15, "the page has commands and files");
    for (const block of steps) {
      const next = blocks[blocks.indexOf(block) + 1];
      await play(block, next?.language === "text" ? next.lines : [], reader);
    }
    for (const server of reader.servers) assert.equal(await server.stop(), 0);
  } finally {
    await Promise.all(reader.servers.map((server) => server.stop()));
    rmSync(outside, { recursive: true, force: true });
  }
});
