// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { commandTable } from "../src/commands/command-table.ts";
import type { GuideBlock } from "./guide-blocks.ts";
import { type PurlinProcess, spawnPurlin } from "./spawn-purlin.ts";
import { type Outcome, runInProcess } from "./test-io.ts";

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
      const outcome = await runInProcess([...words, ...added(words, play)], { cwd, env });
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
