// SPDX-License-Identifier: Apache-2.0
import { type Command, CommanderError } from "commander";
import { commandName, ownVersion } from "./command-name.ts";
import { type Chosen, createProgram, separateSwitches } from "./commands/program.ts";
import { harmlessLine } from "./harmless.ts";
import { type Io, isOutputGone } from "./io.ts";
import { createStyle } from "./terminal/style.ts";
import { errorEntry, isAnswer, isJsonWanted, isUserError, jsonErrors, textOf, UserError } from "./user-error.ts";

/** What shells expect of a command that was interrupted. */
const stoppedExitCode = 130;

/** Runs one command line and resolves to its exit code. Never throws and never exits. */
export async function run(words: readonly string[], outer: Io): Promise<number> {
  const { io, writeError } = isJsonWanted(words) ? jsonErrors(outer) : { io: outer, writeError: () => {} };
  if (words[0] === "__complete") {
    const { printCompletion } = await import("./completion/complete-command.ts");
    await printCompletion(words.slice(1), io);
    return 0;
  }
  const argv = separateSwitches(apart(withHelp(ownName(words))));
  const debug = argv.includes("--debug") || argv.includes("-d");
  let exitCode = 0;
  const chosen: Chosen = async (spec, input) => {
    // Before anything is loaded: what takes a second must not look as if nothing happened.
    if (spec.starting !== undefined) io.stdout.write(`${spec.starting}\n`);
    const command = await spec.load();
    exitCode = (await command.run(input, io)) ?? 0;
  };
  const program = createProgram({ version: ownVersion(), io, chosen, argv });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (io.signal.aborted) {
      if (!isOutputGone(io.signal.reason)) writeError({ code: "INTERRUPTED", message: textOf(io.signal.reason) });
      return reportStop(io);
    }
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const shown = error instanceof CommanderError ? usageError(error, program, { argv, io }) : error;
    writeError(errorEntry(shown));
    return reportError(shown, io, { debug });
  }
}

/** `purlin help up` is what users try that do not know `purlin up --help`; `purlin` alone is a question, too. */
function withHelp(words: readonly string[]): readonly string[] {
  if (words.length === 0) return ["--help"];
  return words[0] === "help" ? [...words.slice(1), "--help"] : words;
}

/** Names that Crossplane's command line has for commands of this one. */
const aliases: readonly (readonly [theirs: readonly string[], ours: string])[] = [
  [["resource", "trace"], "trace"],
  [["composition", "render"], "render"],
  [["cluster", "top"], "top"],
  [["completions"], "completion"],
];

function ownName(words: readonly string[]): readonly string[] {
  const at = words[0] === "help" ? 1 : 0;
  const alias = aliases.find(([theirs]) => theirs.every((word, index) => words[at + index] === word));
  if (alias === undefined) return words;
  return [...words.slice(0, at), alias[1], ...words.slice(at + alias[0].length)];
}

/** Commands that take a type and a name, and nothing like it after them. */
const ofObjects: ReadonlySet<string | undefined> = new Set(["trace", "patch"]);

/** `get app/shop` is `get app shop`: no type has a slash in it, and other tools write it so. */
function apart(words: readonly string[]): readonly string[] {
  const [command, object = "", ...rest] = words;
  const [, type, name] = /^([^-/][^/]*)\/([^/]+)$/.exec(object) ?? [];
  if (!ofObjects.has(command) || type === undefined || name === undefined) return words;
  return [command ?? "", type, name, ...rest];
}

/** The command failed because the user stopped it: print no error. */
function reportStop(io: Io): number {
  const reason: unknown = io.signal.reason;
  if (isOutputGone(reason)) return reason.exitCode;
  io.stderr.write(`${textOf(io.signal.reason)}\n`);
  return stoppedExitCode;
}

/** Commander's own complaints, as one line with the way out. */
function usageError(
  error: CommanderError,
  program: Command,
  { argv, io }: { readonly argv: readonly string[]; readonly io: Io },
): UserError {
  const { words, command } = chosenCommand(program, argv);
  const name = [commandName(io.env), ...words].join(" ");
  // A group without its command would show its help instead of an error.
  const needs = `"${name}" needs a command: ${command.commands.map((child) => child.name()).join(", ")}`;
  const what = error.code === "commander.help" ? needs : error.message.replace(/^error: /, "").replace(/\.$/, "");
  return new UserError(`${what.replaceAll("\n", " ")}: see "${name} --help"`, {
    exitCode: 2,
    cause: error,
    code: "USAGE",
  });
}

function chosenCommand(program: Command, argv: readonly string[]): { words: string[]; command: Command } {
  const words: string[] = [];
  let command = program;
  for (const word of argv) {
    const next = command.commands.find((child) => child.name() === word);
    if (next === undefined) break;
    command = next;
    words.push(word);
  }
  return { words, command };
}

/**
 * Prints an error in one line on stderr, with stack traces only when asked for, and returns the exit code.
 * An unexpected error asks for --debug, because its stack trace is needed.
 */
export function reportError(error: unknown, io: Io, options: { readonly debug: boolean }): number {
  const style = createStyle(io.stderr, io.env);
  const expected = isUserError(error);
  const hint =
    expected || isAnswer(error) || options.debug ? "" : ": internal error; run with --debug for a stack trace";
  io.stderr.write(`${style.bad("error:")} ${harmlessLine(textOf(error))}${hint}\n`);
  if (options.debug) io.stderr.write(`${stackOf(error)}\n`);
  return expected ? error.exitCode : 1;
}

/** The stack traces of an error and its causes. */
function stackOf(error: unknown): string {
  const stacks: string[] = [];
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    stacks.push(at.stack ?? at.message);
  }
  return stacks.join("\ncaused by ");
}
