// SPDX-License-Identifier: Apache-2.0
import { basename } from "node:path";
import process from "node:process";
import { errorText, isFunctionError } from "../errors/function-error.ts";
import { type CustomFlag, type ParsedFlags, parseFlags, usageText } from "./parse-flags.ts";
import type { FunctionHandler } from "./serve-options.ts";
import { type ServeUntilOptions, serve } from "./start.ts";

/** Options of {@link main}. All are for functions with wishes beyond the usual. */
export interface MainOptions extends ServeUntilOptions {
  /** The name in the usage text. Default: that of the script. */
  readonly name?: string | undefined;
  /** The arguments after the script's name. Default: those of the process. */
  readonly argv?: readonly string[] | undefined;
  /** Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Flags of your own, by name without dashes. */
  readonly flags?: Readonly<Record<string, CustomFlag>> | undefined;
  /** Called with the values of your own flags before the function is served. */
  readonly onFlags?: ((values: ParsedFlags["values"]) => void) | undefined;
}

/** What keeps the process alive after the function has stopped gets this long. */
const lingerMs = 500;

/**
 * The whole program of a function: reads the flags, serves, stops on SIGTERM and SIGINT. Sets the exit code: 0 after an
 * orderly stop, 1 when the function cannot be served, 2 for a wrong command line. Flags beat the options given here.
 */
export async function main(handler: FunctionHandler, options: MainOptions = {}): Promise<void> {
  const { name = basename(process.argv[1] ?? "function"), argv = process.argv.slice(2), flags, ...rest } = options;
  // biome-ignore lint/style/noProcessEnv: main is the entry point of a program, where the environment is read.
  const env = rest.env ?? process.env;
  process.exitCode = await run(handler, { name, argv, env, flags, rest });
  // A handler that outlived its grace period, or a timer that is still set, must not keep a stopped function around.
  setTimeout(() => process.exit(), lingerMs).unref();
}

interface Invocation {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, CustomFlag>> | undefined;
  readonly rest: Omit<MainOptions, "name" | "argv" | "flags">;
}

async function run(handler: FunctionHandler, { name, argv, env, flags, rest }: Invocation): Promise<number> {
  try {
    const parsed = parseFlags({ argv, env, flags });
    if (parsed.help) {
      process.stdout.write(usageText(name, flags));
      return 0;
    }
    rest.onFlags?.(parsed.values);
    await serve(handler, { ...rest, ...parsed.options });
    return 0;
  } catch (error) {
    const wrongUsage = isFunctionError(error, "USAGE") || isFunctionError(error, "INVALID_OPTION");
    process.stderr.write(`${name}: ${errorText(error)}\n${wrongUsage ? `\n${usageText(name, flags)}` : ""}`);
    return wrongUsage ? 2 : 1;
  }
}
