// SPDX-License-Identifier: Apache-2.0
import { commandGroups, commandTable } from "../commands/command-table.ts";
import { debugOption } from "../commands/program.ts";
import type { Io } from "../io.ts";
import { type CommandInput, type CommandSpec, type OptionSpec, parseDuration } from "../options/command-spec.ts";
import type { LiveNames } from "./live-names.ts";

/** A word that the shell may insert. */
export interface Candidate {
  readonly value: string;
  readonly description?: string | undefined;
}

/** What a shell does besides offering the candidates: complete file or folder names, or add no space after the word. */
export type CompletionAction = "none" | "files" | "folders" | "open";

/** The answer to a shell. */
export interface Completion {
  readonly action: CompletionAction;
  readonly candidates: readonly Candidate[];
}

const nothing: Completion = { action: "none", candidates: [] };

/** Time limit of an answer: a shell must not wait for a server. `$PURLIN_COMPLETION_TIMEOUT` sets another. */
const timeoutMs = 1500;

/**
 * `purlin __complete -- WORD…` of zsh and fish, and `purlin __complete --line LINE WORD` of bash, which splits words at colons and
 * equals signs. Prints an action and a line for each candidate. It prints nothing on stderr and never fails.
 */
export async function printCompletion(args: readonly string[], io: Io): Promise<void> {
  const isLine = args[0] === "--line";
  const words = isLine ? splitLine(args[1] ?? "").slice(1) : args.slice(1);
  const cut = isLine ? currentWord(words, args[2] ?? "") : 0;
  try {
    const limit = parseDuration(io.env["PURLIN_COMPLETION_TIMEOUT"] ?? "") ?? timeoutMs;
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(limit)]);
    const silent: Io = { ...io, signal, stderr: { ...io.stderr, write: () => {}, isTTY: false, columns: 80 } };
    const { action, candidates } = await complete(words, (input) => liveNames(input, silent));
    const lines = candidates.map(({ value, description }) =>
      [value.slice(cut), ...(description === undefined ? [] : [oneLine(description)])].join("\t"),
    );
    io.stdout.write(`${[action, ...lines].join("\n")}\n`);
  } catch {
    io.stdout.write("none\n");
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ");

async function liveNames(input: CommandInput, io: Io): Promise<LiveNames> {
  const { openLiveNames } = await import("./live-names.ts");
  return openLiveNames(input, io);
}

/** Opens the names of the control plane that the words so far choose. */
type OpenNames = (input: CommandInput) => Promise<LiveNames>;

/** What may follow the words of a command line, the last of which is unfinished. */
export async function complete(words: readonly string[], openNames: OpenNames): Promise<Completion> {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const command = commandTable.find(({ name }) => name.split(" ").every((word, at) => before[at] === word));
  if (command === undefined) return { action: "none", candidates: commandWords(before, current) };
  const typed = readTyped(command, before.slice(command.name.split(" ").length));
  const equals = current.startsWith("--") ? current.indexOf("=") : -1;
  if (equals > 0) {
    const option = optionsOf(command).find(({ flags }) => namesOf(flags).includes(current.slice(0, equals)));
    const found = await valuesOf(option, current.slice(equals + 1), { typed, openNames });
    return prefixed(found, current.slice(0, equals + 1));
  }
  if (typed.pending !== undefined) return valuesOf(typed.pending, current, { typed, openNames });
  if (current.startsWith("-")) return { action: "none", candidates: optionWords(command, typed, current) };
  return argumentsOf(command, current, { typed, openNames });
}

function prefixed({ action, candidates }: Completion, prefix: string): Completion {
  return { action, candidates: candidates.map((one) => ({ ...one, value: `${prefix}${one.value}` })) };
}

/** Names of commands and groups that continue the words. */
function commandWords(before: readonly string[], current: string): Candidate[] {
  const found = new Map<string, string>();
  for (const { name, summary } of commandTable) {
    const parts = name.split(" ");
    if (parts.length <= before.length || !before.every((word, at) => parts[at] === word)) continue;
    const word = parts[before.length] ?? "";
    const isGroup = parts.length > before.length + 1;
    if (word.startsWith(current)) found.set(word, isGroup ? (commandGroups[word] ?? "") : summary);
  }
  return [...found].map(([value, description]) => ({ value, description }));
}

/** The finished words after the name of a command. */
interface Typed {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly used: ReadonlySet<OptionSpec>;
  /** The last word, where it is an option that takes a value. */
  readonly pending?: OptionSpec | undefined;
}

function readTyped(command: CommandSpec, words: readonly string[]): Typed {
  const args: string[] = [];
  const options: Record<string, string> = {};
  const used = new Set<OptionSpec>();
  let pending: OptionSpec | undefined;
  for (const word of words) {
    if (pending !== undefined) {
      options[attributeOf(pending)] = word;
      pending = undefined;
      continue;
    }
    if (!word.startsWith("-") || word === "-") {
      args.push(word);
      continue;
    }
    const [name = "", value] = word.split(/=(.*)/s);
    const option = optionsOf(command).find(({ flags }) => namesOf(flags).includes(name));
    if (option === undefined) continue;
    used.add(option);
    if (value !== undefined) options[attributeOf(option)] = value;
    else if (/<[^>]+>/.test(option.flags)) pending = option;
  }
  return { args, options, used, pending };
}

const optionsOf = ({ options = [] }: CommandSpec): readonly OptionSpec[] => [...options, debugOption];

/** `-n` and `--namespace` of `-n, --namespace <name>`. */
function namesOf(flags: string): string[] {
  return flags.split(/[ ,]+/).filter((word) => word.startsWith("-"));
}

/** `dataDir` of `--data-dir <dir>`. */
function attributeOf({ flags }: OptionSpec): string {
  const long = namesOf(flags).at(-1) ?? "";
  return long.replace(/^--?/, "").replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function optionWords(command: CommandSpec, { used }: Typed, current: string): Candidate[] {
  return optionsOf(command)
    .filter((option) => option.hidden !== true && (option.repeatable === true || !used.has(option)))
    .flatMap(({ flags, description }) => namesOf(flags).map((value) => ({ value, description })))
    .concat({ value: "--help", description: "show help" })
    .filter(({ value }) => value.startsWith(current) && (value.startsWith("--") || current === value));
}

interface Context {
  readonly typed: Typed;
  readonly openNames: OpenNames;
}

/** Values of an option: those its description lists, files, or live names. */
async function valuesOf(option: OptionSpec | undefined, current: string, context: Context): Promise<Completion> {
  if (option === undefined) return nothing;
  const placeholder = /<([^>]+)>/.exec(option.flags)?.[1] ?? "";
  const listed = listedValues(option.description).filter((value) => value.startsWith(current));
  if (listed.length > 0) {
    const isOpen = listed.every((value) => value.endsWith("="));
    return { action: isOpen ? "open" : "none", candidates: listed.map((value) => ({ value })) };
  }
  const attribute = attributeOf(option);
  if (attribute === "namespace") return live(context, (names) => names.namespaces(current));
  if (attribute === "context") return live(context, (names) => names.contexts(current));
  if (placeholder === "code") return { action: "none", candidates: await causeCodes(current) };
  if (placeholder === "name=source") {
    const found = await live(context, (names) => names.functions(current));
    return { action: "open", candidates: found.candidates.map(({ value }) => ({ value: `${value}=` })) };
  }
  if (placeholder === "kind/name") return live(context, (names) => names.composites(current));
  if (attribute === "xr" && placeholder === "name") return live(context, (names) => compositeNames(names, current));
  if (placeholder === "type/name") return live(context, (names) => names.objects(current));
  return paths(placeholder);
}

/** Composite resources by their names alone, each once. */
async function compositeNames(names: LiveNames, current: string): Promise<readonly Candidate[]> {
  const all = (await names.composites("")).map(({ value }) => value.slice(value.indexOf("/") + 1));
  return [...new Set(all)].filter((value) => value.startsWith(current)).map((value) => ({ value }));
}

/** The codes of `purlin explain --code`, written in either case. */
async function causeCodes(current: string): Promise<readonly Candidate[]> {
  const { causeTable } = await import("@purlin/explain");
  return Object.entries(causeTable)
    .filter(([code]) => code.startsWith(current.toUpperCase()))
    .map(([value, { name }]) => ({ value, description: name }));
}

/** The words of a description such as "table, wide or json". */
export function listedValues(description: string): string[] {
  const list = /(?:^|: )((?:[\w-]+, )*[\w-]+ or [\w-]+(?:=(?=[A-Z]))?)(?=$|[ ;(A-Z])/.exec(description)?.[1];
  return list === undefined ? [] : list.split(/, | or /);
}

function paths(placeholder: string): Completion {
  if (placeholder === "dir") return { action: "folders", candidates: [] };
  return /^(file|path|socket)$/.test(placeholder) ? { action: "files", candidates: [] } : nothing;
}

async function live(
  { typed, openNames }: Context,
  ask: (names: LiveNames) => Promise<readonly Candidate[]>,
): Promise<Completion> {
  await using names = await openNames({ args: typed.args, options: typed.options });
  return { action: "none", candidates: await ask(names) };
}

/** Positional arguments: types, then names of that type; functions; runs; files. */
async function argumentsOf(command: CommandSpec, current: string, context: Context): Promise<Completion> {
  const { args } = context.typed;
  const known = command.arguments ?? [];
  const argument = known[args.length] ?? (/\.\.\.[\]>]$/.test(known.at(-1)?.name ?? "") ? known.at(-1) : undefined);
  const name = argument?.name.replaceAll(/[<>[\].]/g, "");
  if (argument === undefined || name === undefined) return nothing;
  if (name === "shell" || name === "what") return { action: "none", candidates: listed(argument.description, current) };
  if (name === "type" || name === "xr") {
    if (command.name === "render") return paths("file");
    const found = await live(context, (names) =>
      current.includes("/") ? names.objects(current) : names.types(current),
    );
    return found;
  }
  if (name === "name" && known[0]?.name.includes("type") === true) {
    return live(context, (names) => names.namesOf(args[0] ?? "", current));
  }
  if (name === "function") return live(context, (names) => names.functions(current));
  if (name === "run" || name === "before" || name === "after") return live(context, (names) => names.runs(current));
  return paths(/^(path|file|xr|operation|composition|functions|extensions|resources)$/.test(name) ? "file" : name);
}

function listed(description: string, current: string): Candidate[] {
  return listedValues(description).flatMap((value) => (value.startsWith(current) ? [{ value }] : []));
}

/** The words of a command line as a shell reads them, without expansions. The last one is unfinished, and may be empty. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? "";
    if (quote !== undefined && char === quote) quote = undefined;
    else if (char === "\\" && isEscape(quote, line[at + 1])) word = (word ?? "") + (line[++at] ?? "");
    else if (quote !== undefined) word = (word ?? "") + char;
    else if (char === "'" || char === '"') [quote, word] = [char, word ?? ""];
    else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  return [...words, word ?? ""];
}

/** Whether a backslash takes the meaning of the next character: within double quotes, only of some. */
function isEscape(quote: string | undefined, next: string | undefined): boolean {
  if (next === undefined || quote === "'") return false;
  return quote === undefined || /["\\$`]/.test(next);
}

/** How much of the last word readline has set apart, because it breaks words at `=` and `:`. That part must not be inserted again. */
export function currentWord(words: readonly string[], readline: string): number {
  const whole = words.at(-1) ?? "";
  const part = readline === "=" || readline === ":" ? "" : readline;
  return whole.endsWith(part) && /[=:]$/.test(whole.slice(0, whole.length - part.length))
    ? whole.length - part.length
    : 0;
}
