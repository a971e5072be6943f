// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { commandTable } from "../src/commands/command-table.ts";
import { type PurlinProcess, spawnPurlin } from "./spawn-purlin.ts";
import { type Outcome, runInProcess } from "./test-io.ts";

/** The files that a page shows: its blocks with a path after the language, such as `yaml platform/definition.yaml`. */
export function guideFiles(page: URL): Record<string, string> {
  const blocks = readFileSync(page, "utf8").matchAll(/^```(?:yaml|ts|json) (\S+)\n([\s\S]*?)^```$/gm);
  return Object.fromEntries([...blocks].map(([, path = "", text = ""]) => [path, text]));
}

/** A block of commands in a guide, and the expected part of its output. */
interface GuideBlock {
  /**
   * The word after `sh`: `test` exits with 0, `warns` as well with messages on standard error, `fails` does not; `serve` runs until it is
   * stopped; `registry…` needs npm.
   */
  readonly kind: string;
  readonly commands: readonly string[];
  /** Lines that appear in the output, in this order. */
  readonly output: readonly string[];
  readonly line: number;
}

/** The marked blocks of a Markdown file. A `text output` block belongs to the commands before it. */
export function guideBlocks(file: URL): GuideBlock[] {
  const text = readFileSync(file, "utf8");
  const blocks: { kind: string; commands: string[]; output: string[]; line: number }[] = [];
  for (const match of text.matchAll(/^```(sh|text) (\S+)\n([\s\S]*?)^```$/gm)) {
    const [, language, kind = "", body = ""] = match;
    const lines = body.trimEnd().split("\n");
    const line = text.slice(0, match.index).split("\n").length;
    if (language === "sh") blocks.push({ kind, commands: lines, output: [], line });
    else blocks.at(-1)?.output.push(...lines);
  }
  return blocks;
}

/** The first of the expected lines that is missing from the output; undefined when all are there, in order. */
export function missingLine(output: string, expected: readonly string[]): string | undefined {
  const lines = output.split("\n");
  let from = 0;
  for (const line of expected) {
    const at = lines.indexOf(line, from);
    if (at === -1) return line;
    from = at + 1;
  }
  return undefined;
}

/** How the commands of a guide are run in a test. */
export interface GuidePlay {
  /** The guide, for messages. */
  readonly page: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What a word of a command is in this test, such as another port. */
  readonly own?: (word: string) => string;
  /** An option with its value, added to every command that has it. */
  readonly more?: readonly [string, string];
  /** Takes out of a text, of the guide or printed, what is another one each time. */
  readonly mask?: (text: string) => string;
}

/** Attempts for a command whose output appears by itself: a minute or more. */
const mostTries = 400;
const usageError = 2;

/** Runs the commands of a block. The last one is retried until it prints what the guide shows: controllers need a moment. */
export async function playBlock(block: GuideBlock, play: GuidePlay): Promise<void> {
  const { page, cwd, env = {}, own = (word) => word } = play;
  for (const [index, command] of block.commands.entries()) {
    const where = `${page}:${block.line}: ${command}`;
    const [line = "", file] = command.split(" > ");
    const words = wordsOf(line).map(own);
    const isLast = index === block.commands.length - 1;
    for (let tries = 0; ; tries++) {
      // As npx sets it: commands that the output names begin with npx, too.
      const inNpx = { npm_command: "exec", ...env };
      const outcome = await runInProcess([...words, ...added(words, play)], { cwd, env: inNpx });
      if (file !== undefined) writeFileSync(join(cwd, file), outcome.stdout);
      const difference = differenceFrom(isLast ? block : { ...block, kind: "test", output: [] }, outcome, play);
      if (difference === undefined) break;
      const isFinal = !isLast || tries >= mostTries || outcome.exitCode === usageError;
      assert.ok(!isFinal, `${where}\n${difference}`);
      await setTimeout(200);
    }
  }
}

/** How a command ended otherwise than its block shows; undefined when it did not. */
function differenceFrom(
  { kind, output }: GuideBlock,
  { exitCode, stdout, stderr }: Outcome,
  { mask = (text) => text }: GuidePlay,
): string | undefined {
  const fails = kind === "fails";
  if ((exitCode !== 0) !== fails) return `It exited with ${exitCode}:\n${stdout}${stderr}`;
  const printed = mask(fails || kind === "warns" ? stdout + stderr : stdout);
  const lines = printed.split("\n");
  // In any order: lists are sorted by name, which may end in a digest, and logs by when they were written.
  const missing = output.find((line) => !lines.includes(mask(line)));
  return missing === undefined ? undefined : `The guide shows:\n${missing}\nIt printed:\n${printed}`;
}

/** The environment that a block of `export NAME=VALUE` sets up. */
export function guideEnv(block: GuideBlock | undefined): Record<string, string> {
  assert.equal(block?.kind, "setup");
  const pairs = block.commands.map((command) => /^export (\w+)=(\S+)$/.exec(command) ?? assert.fail(command));
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}

function added([name = "", second = "", ...rest]: readonly string[], { more }: GuidePlay): readonly string[] {
  const spec = commandTable.find((one) => one.name === name || one.name === `${name} ${second}`);
  const isKnown = more !== undefined && spec?.options?.some(({ flags }) => flags.startsWith(`${more[0]} `));
  return isKnown && !rest.includes(more[0]) ? more : [];
}

/** What comes after `npx purlin`, as the words a shell would make of it. */
export function wordsOf(command: string): string[] {
  assert.ok(command.startsWith("npx purlin "), command);
  const words = [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""));
  return words.slice(2);
}

/** A whole line of output in which the port of the control plane and the place of its kubeconfig are its own. */
export function patternOf(line: string): RegExp {
  const text = line.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${text.replace("PORT", "\\d+").replace(/\\\.purlin[\w-]*\/kubeconfig/, ".*kubeconfig")}$`, "m");
}

/** A tree in which conditions, which come in any order, are sorted. */
export function sortedConditions(text: string): string {
  return text.replaceAll(/(?<=Ready, )(\w+(?:, \w+)*)$/gm, (names) => names.split(", ").sort().join(", "));
}

/** The control plane of a guide. */
interface GuideServer extends PurlinProcess {
  /** Where its registry listens. */
  readonly port: string;
}

/**
 * Starts it as the guide shows, and waits until it has said all that the guide says it does. Only the port of the registry is any that is free
 * and not the one shown: several tests may run at a time.
 */
export async function serveGuide(
  block: GuideBlock | undefined,
  shownPort: string,
  where: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<GuideServer> {
  assert.equal(block?.kind, "serve");
  const words = wordsOf(block.commands[0] ?? "").map((word) => (word === shownPort ? "0" : word));
  await using starting = new AsyncDisposableStack();
  const running = starting.use(spawnPurlin(words, where));
  let port: string | undefined;
  for (const line of block.output) {
    const [text] = await running.next("stdout", patternOf(line.replace(`:${shownPort}`, ":PORT")));
    if (line.endsWith(`:${shownPort}`)) port = text.split(":").at(-1);
  }
  assert.ok(port, "the guide shows where its registry is");
  starting.move();
  return { ...running, port };
}

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
  if (!command.startsWith("npx node ")) return playBlock(block, play);
  assert.equal(block.commands.length, 1, `${play.page}:${block.line}: one node command in a block`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: play.cwd, encoding: "utf8", env } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, command.split(" ").slice(2), options);
  assert.equal(status, 0, `${play.page}:${block.line}: ${command}\n${stdout}${stderr}`);
}

/** A debugger of a Node program: what an editor does over the inspector protocol. */
export interface Inspector extends AsyncDisposable {
  /** Calls a method and resolves to its result. */
  call(method: string, params?: object): Promise<Record<string, unknown>>;
  /** Resolves to the parameters of the next event of this name. */
  next(event: string): Promise<Record<string, unknown>>;
  /** The addresses of scripts by their id. */
  readonly scripts: ReadonlyMap<string, string>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
}

/** Connects to the address that Node prints on standard error: `Debugger listening on ws://…`. */
export async function attachInspector(stderr: Readable): Promise<Inspector> {
  return connectInspector(await listeningAddress(stderr));
}

/** Connects to an inspector by the address of its WebSocket. */
export async function connectInspector(address: string): Promise<Inspector> {
  const socket = new WebSocket(address);
  const answers = new Map<number, (result: Record<string, unknown>) => void>();
  const events: Message[] = [];
  const scripts = new Map<string, string>();
  let wake = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    const { scriptId, url } = message.params ?? {};
    if (message.method === "Debugger.scriptParsed") scripts.set(String(scriptId), String(url));
    else if (message.id === undefined) events.push(message);
    else answers.get(message.id)?.(message.result ?? {});
    wake.resolve();
    wake = Promise.withResolvers();
  });
  const opened = Promise.withResolvers<void>();
  socket.addEventListener("open", () => opened.resolve());
  socket.addEventListener("error", () => opened.reject(new Error(`no inspector at ${address}`)));
  await opened.promise;
  let last = 0;
  return {
    scripts,
    async call(method, params = {}) {
      const id = ++last;
      const answered = Promise.withResolvers<Record<string, unknown>>();
      answers.set(id, answered.resolve);
      socket.send(JSON.stringify({ id, method, params }));
      return answered.promise;
    },
    async next(event) {
      for (;;) {
        const at = events.findIndex(({ method }) => method === event);
        if (at !== -1) return events.splice(at, 1)[0]?.params ?? {};
        await wake.promise;
      }
    },
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}

async function listeningAddress(stderr: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stderr.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const [, address] = /^Debugger listening on (ws:\S+)$/m.exec(text) ?? [];
    if (address !== undefined) return address;
  }
  return assert.fail(`no debugger was started: ${text}`);
}
