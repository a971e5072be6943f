// SPDX-License-Identifier: Apache-2.0
import { basename } from "node:path";
import process from "node:process";
import { parseGoDuration } from "@purlin/function-protocol";
import { errorText, FunctionError, isFunctionError } from "../errors/function-error.ts";
import type { FunctionHandler, ServeOptions } from "./serve-options.ts";
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

/** A flag of your own, beside the standard ones. */
export interface CustomFlag {
  /** What the value is called in the usage text; undefined for a flag that is on or off. */
  readonly value?: string | undefined;
  readonly help: string;
  /** The environment variable that is used when the flag is not given. */
  readonly env?: string | undefined;
  readonly default?: string | undefined;
}

/** What to read flags from. */
export interface FlagsInput {
  /** The arguments after the script's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Flags of your own, by name without dashes. */
  readonly flags?: Readonly<Record<string, CustomFlag>> | undefined;
}

/** What the command line says. */
export interface ParsedFlags {
  /** For serve or start. */
  readonly options: ServeOptions;
  /** The values of your own flags: text, "true" for a flag that is on. */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Whether --help was given. */
  readonly help: boolean;
}

/**
 * Reads the flags every function has, and your own if you name some. A flag beats its environment variable, which beats
 * the default. Throws USAGE on an unknown flag or a value that makes no sense.
 */
export function parseFlags({ argv, env, flags = {} }: FlagsInput): ParsedFlags {
  const values: Record<string, string | undefined> = {};
  const options: Writable = {};
  const all = [...standardFlags, ...Object.entries(flags).map((entry) => toFlag(entry, values))];
  for (const flag of all) {
    const text = flag.env === undefined ? undefined : env[flag.env];
    if (text !== undefined && text !== "") flag.apply(options, text);
  }
  const byName = new Map(all.flatMap((flag) => flag.names.map((name) => [name, flag] as const)));
  const rest = [...argv];
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    if (word === "--help" || word === "-h") return { options, values, help: true };
    const { flag, text } = readWord(word, byName);
    flag.apply(options, text ?? nextValue(flag, word, rest));
  }
  return { options, values, help: false };
}

function toFlag([name, custom]: [string, CustomFlag], values: Record<string, string | undefined>): Flag {
  values[name] = custom.default;
  const apply = (_: Writable, text: string): void => {
    values[name] = text;
  };
  return { names: [name], value: custom.value, help: custom.help, env: custom.env, apply };
}

function readWord(word: string, byName: ReadonlyMap<string, Flag>): { flag: Flag; text: string | undefined } {
  const match = /^(--|-)([^=]+)(?:=(.*))?$/s.exec(word);
  const name = match?.[2] ?? "";
  const flag = byName.get(name);
  // One dash for one letter, two for a word: -address would otherwise be taken for --address by accident.
  if (match === null || flag === undefined || (match[1] === "-") !== (name.length === 1)) {
    throw new FunctionError("USAGE", `unknown ${match === null ? "argument" : "flag"} ${JSON.stringify(word)}`);
  }
  return { flag, text: match[3] };
}

function nextValue(flag: Flag, word: string, rest: string[]): string {
  if (flag.value === undefined) return "true";
  const next = rest.shift();
  if (next === undefined) throw new FunctionError("USAGE", `${word} needs a value: ${flag.value}`);
  return next;
}

/** What --help prints: every flag, its environment variable and what it does. */
export function usageText(name: string, flags: Readonly<Record<string, CustomFlag>> = {}): string {
  const all = [...standardFlags, ...Object.entries(flags).map((entry) => toFlag(entry, {}))];
  const rows = all.map(describe).concat([["-h, --help", "Print this help"]]);
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
  return `Usage: ${name} [flags]\n\nFlags:\n${lines.join("\n")}\n`;
}

function describe({ names, value, help, env }: Flag): [string, string] {
  const short = names.find((name) => name.length === 1);
  const left = `${short === undefined ? "" : `-${short}, `}--${names[0]}${value === undefined ? "" : ` ${value}`}`;
  return [left, env === undefined ? help : `${help} (env ${env})`];
}

/** A command line flag. */
interface Flag {
  /** Without dashes; the first is the one shown in the usage text. */
  readonly names: readonly string[];
  /** What the value is called in the usage text; undefined for a flag that is on or off. */
  readonly value?: string | undefined;
  readonly help: string;
  /** The environment variable that is used when the flag is not given. */
  readonly env?: string | undefined;
  /** Adds the value to the options. Throws USAGE when it makes no sense. */
  readonly apply: (options: Writable, text: string) => void;
}

/** Options being put together. */
type Writable = { -readonly [K in keyof ServeOptions]: ServeOptions[K] };

/** The flags every function has, whatever language it is written in. */
const standardFlags: readonly Flag[] = [
  {
    names: ["address"],
    value: "HOST:PORT",
    help: "Address to listen on; :PORT for all interfaces (default 127.0.0.1:9443, in a container :9443)",
    apply: (options, text) => {
      options.address = text;
    },
  },
  {
    names: ["network"],
    value: "tcp|unix",
    help: "Network type; unix takes a socket path as address (default tcp)",
    apply: (options, text) => {
      if (text !== "tcp" && text !== "unix") throw usage("--network", text, "tcp or unix");
      options.network = text;
    },
  },
  {
    names: ["tls-certs-dir", "tls-server-certs-dir"],
    value: "DIR",
    help: "Directory with tls.crt, tls.key and ca.crt; clients must present a certificate signed by ca.crt",
    env: "TLS_SERVER_CERTS_DIR",
    apply: (options, text) => {
      options.tlsCertsDir = text;
    },
  },
  {
    names: ["insecure"],
    help: "Serve plaintext; ignore certificates",
    apply: (options, text) => {
      options.insecure = onOrOff("--insecure", text);
    },
  },
  {
    names: ["max-recv-message-size"],
    value: "MIB",
    help: "Largest request in MiB (default 64)",
    apply: (options, text) => {
      options.maxRecvMessageSize = mebibytes("--max-recv-message-size", text);
    },
  },
  {
    names: ["max-send-message-size"],
    value: "MIB",
    help: "Largest response in MiB (default 64)",
    apply: (options, text) => {
      options.maxSendMessageSize = mebibytes("--max-send-message-size", text);
    },
  },
  {
    names: ["ttl"],
    value: "DURATION",
    help: "How long responses may be reused, such as 90s or 1m30s (default 1m)",
    apply: (options, text) => {
      const ms = parseGoDuration(text);
      if (ms === undefined || ms < 0) throw usage("--ttl", text, "a duration such as 90s or 1m30s");
      options.ttl = ms;
    },
  },
  {
    names: ["metrics-address"],
    value: "HOST:PORT",
    help: 'Address of the Prometheus metrics; "" disables them (default 127.0.0.1:8080, in a container :8080)',
    env: "METRICS_ADDRESS",
    apply: (options, text) => {
      options.metricsAddress = text;
    },
  },
  {
    names: ["debug", "d"],
    help: "Log debug messages in human-readable form",
    apply: (options, text) => {
      options.debug = onOrOff("--debug", text);
    },
  },
];

function onOrOff(flag: string, text: string): boolean {
  if (text !== "true" && text !== "false") throw usage(flag, text, "true or false");
  return text === "true";
}

function mebibytes(flag: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value === 0) throw usage(flag, text, "a positive number of MiB");
  return value;
}

function usage(flag: string, text: string, expected: string): FunctionError {
  return new FunctionError("USAGE", `${flag}: expected ${expected}, not ${JSON.stringify(text)}`);
}
