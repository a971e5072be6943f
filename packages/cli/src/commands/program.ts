// SPDX-License-Identifier: Apache-2.0
import { Command, type Help, Option } from "commander";
import { helpText, wrapWords } from "../help/help-text.ts";
import type { Io } from "../io.ts";
import type { CommandInput, CommandSpec, OptionSpec } from "../options/command-spec.ts";
import { commandGroups, commandTable } from "./command-table.ts";

/** Shown by every command. */
export const debugOption: OptionSpec = { flags: "-d, --debug", description: "show stack traces and debug logs" };

/** Called with the command that the user chose. */
export type Chosen = (spec: CommandSpec, input: CommandInput) => Promise<void>;

/** What the command line is made for. */
interface ProgramOptions {
  readonly version: string;
  readonly io: Io;
  readonly chosen: Chosen;
  /** Of the command that it names only that one is made in full: flags cost more than anything else before a command runs. */
  readonly argv?: readonly string[];
}

/** The command line as commander understands it. Nothing is run or printed except through `io` and `chosen`. */
export function createProgram({ version, io, chosen, argv = [] }: ProgramOptions): Command {
  const named = namedIn(argv);
  const program = prepare(new Command("purlin"), io)
    .description("A composition control plane in TypeScript.")
    .version(version, "-v, --version", "print the version");
  program.addHelpText("after", () => `\n${helpText("purlin", io.stdout.columns)}`);
  const groups = new Map<string, Command>();
  for (const spec of commandTable) {
    const words = spec.name.split(" ");
    const parent = words.length === 1 ? program : groupOf(words[0] ?? "", { program, groups, io });
    const command = prepare(parent.command(words.at(-1) ?? ""), io);
    if (named === undefined || named === spec) describe(command, spec, { io, chosen });
  }
  return program;
}

/** Made with its first command, so that help lists what newcomers need before it. */
function groupOf(
  name: string,
  { program, groups, io }: { readonly program: Command; readonly groups: Map<string, Command>; readonly io: Io },
): Command {
  const summary = commandGroups[name];
  if (summary === undefined) throw new Error(`command "${name} …" has no group`);
  const made = groups.get(name);
  if (made !== undefined) return made;
  const group = prepare(program.command(name), io).summary(summary).description(`Commands to ${summary}.`);
  groups.set(name, group);
  return group;
}

function namedIn(argv: readonly string[]): CommandSpec | undefined {
  return commandTable.find(({ name }) => name.split(" ").every((word, at) => argv[at] === word));
}

function describe(command: Command, spec: CommandSpec, { io, chosen }: Pick<ProgramOptions, "io" | "chosen">): void {
  command.summary(spec.summary).description(`${spec.summary.charAt(0).toUpperCase()}${spec.summary.slice(1)}.`);
  for (const { name, description } of spec.arguments ?? []) command.argument(name, description);
  for (const option of [...(spec.options ?? []), debugOption]) command.addOption(toOption(option));
  command.addHelpText("after", () => `\n${helpText(spec.name, io.stdout.columns)}`);
  command.action(async () => {
    refuseEmpty(command);
    await chosen(spec, { args: command.args, options: command.opts() });
  });
}

/** The values of switches that may have one. */
const switchValues: Readonly<Record<string, RegExp>> = {
  "[bool]": /^(true|false|yes|no|0|1)$/i,
  "[count]": /^\d+$/,
  "[percent]": /^\d+(\.\d+)?%?$/,
};

/**
 * A switch that may have a value does not take the first argument for it: `up --enable-usages platform` is `up --enable-usages=true platform`.
 * Commands without arguments refuse such a value.
 */
export function separateSwitches(argv: readonly string[]): readonly string[] {
  const spec = namedIn(argv);
  if (spec?.arguments === undefined) return argv;
  const values = new Map(
    (spec.options ?? []).flatMap(({ flags }) => {
      const [name = "", value = ""] = flags.split(" ");
      const pattern = switchValues[value];
      return pattern === undefined ? [] : [[name, pattern] as const];
    }),
  );
  return argv.map((word, at) => {
    const pattern = values.get(word);
    return pattern === undefined || pattern.test(argv[at + 1] ?? "") ? word : `${word}=true`;
  });
}

/** What a variable of a script was meant to fill in. No value would mean something else: all objects, or this folder. */
function refuseEmpty(command: Command): void {
  const argument =
    command.registeredArguments[Math.min(command.args.indexOf(""), command.registeredArguments.length - 1)];
  if (argument !== undefined) command.error(`argument '${argument.name()}' is empty`);
  const option = command.options.find((one) => command.getOptionValue(one.attributeName()) === "");
  if (option !== undefined) command.error(`option '${option.flags}' argument is empty`);
}

function toOption({ flags, description, required, repeatable, hidden, default: preset }: OptionSpec): Option {
  const option = new Option(flags, required ? `${description} (required)` : description).hideHelp(hidden === true);
  if (repeatable)
    option.argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]);
  if (preset !== undefined) option.default(preset);
  return option.makeOptionMandatory(required === true);
}

/** Commander exits and prints by itself unless configured otherwise. */
function prepare(command: Command, io: Io): Command {
  return command
    .helpOption("-h, --help", "show help")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: () => io.stdout.columns,
      getErrHelpWidth: () => io.stderr.columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ formatItem, styleUsage: (usage) => wrapWords(usage, io.stdout.columns - 7).join("\n       ") });
}

/** Columns that a description needs beside its term; where there are fewer it goes below. */
const leastDescription = 30;

const formatItem: Help["formatItem"] = (...[term, termWidth, description, helper]) => {
  const columns = helper.helpWidth ?? 80;
  const beside = columns - termWidth - 4;
  if (description === "") return `  ${term}`;
  const isBeside = beside >= leastDescription;
  const lines = wrapWords(description, isBeside ? beside : columns - 6);
  if (!isBeside) return [`  ${term}`, ...lines.map((line) => `      ${line}`)].join("\n");
  const gap = " ".repeat(termWidth + 4);
  return `  ${term.padEnd(termWidth)}  ${lines.join(`\n${gap}`)}`;
};
