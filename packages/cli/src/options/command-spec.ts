// SPDX-License-Identifier: Apache-2.0
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/** One option of a command, as the command line and the reference show it. */
export interface OptionSpec {
  /** Such as `--target <host:port>` or `-d, --debug`. */
  readonly flags: string;
  readonly description: string;
  /** The command refuses to start without it. */
  readonly required?: boolean;
  readonly default?: string;
  /** May be given more than once. */
  readonly repeatable?: boolean;
  /** Accepted, and left out of help and reference. */
  readonly hidden?: boolean;
}

/** One positional argument of a command. */
interface ArgumentSpec {
  /** Such as `<file>`. */
  readonly name: string;
  readonly description: string;
}

/** What the user typed, checked against the {@link CommandSpec}. */
export interface CommandInput {
  readonly args: readonly string[];
  /** By name in lowerCamelCase; a switch is `true`, and what may be repeated is a list. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

/** The code behind a command. It resolves to the exit code, 0 unless given. */
interface CommandModule {
  run(input: CommandInput, io: Io): Promise<number | undefined>;
}

/**
 * A command as data. Its code is imported when it is run, so that help and errors do not wait for it; its help is the
 * Markdown file of the same name in `src/help`, with `-` for spaces.
 */
export interface CommandSpec {
  /** Noun first, such as `function call`. */
  readonly name: string;
  readonly summary: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** Printed before the code is loaded, for a command that takes long to say anything. */
  readonly starting?: string;
  readonly load: () => Promise<CommandModule>;
}

/** The value of an option that takes one. */
export function textOption(input: CommandInput, name: string): string | undefined {
  const value = input.options[name];
  return typeof value === "string" ? value : undefined;
}

/** The values of an option that may be given more than once. */
export function listOption(input: CommandInput, name: string): readonly string[] {
  const value = input.options[name];
  return Array.isArray(value) ? value : [];
}

/** Whether a switch is set. */
export function isSet(input: CommandInput, name: string): boolean {
  return input.options[name] === true;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration such as `30s`, `1.5m` or `1m30s`; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, number, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g))
    total += Number(number) * (units[unit ?? ""] ?? 0);
  return total;
}

/** The longest delay of a timer, more than 24 days: a longer one would end at once. */
const longestDelayMs = 2 ** 31 - 1;

/** A time limit as the delay of a timer. */
export function timerDelay(ms: number): number {
  return Math.min(Math.ceil(ms), longestDelayMs);
}

/** Milliseconds of the value of --timeout. */
export function readTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return timerDelay(ms);
  throw new UserError(`--timeout: expected a duration such as 30s or 1m30s, not "${text}"`, { exitCode: 2 });
}
