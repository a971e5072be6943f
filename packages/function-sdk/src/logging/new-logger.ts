// SPDX-License-Identifier: Apache-2.0
import process from "node:process";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { errorText } from "../errors/function-error.ts";

/** How bad a message is. */
type LogLevel = "debug" | "info" | "error";

/** One message. */
interface LogEntry {
  readonly level: LogLevel;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly caller: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** How a logger writes. */
export interface LoggerOptions {
  /** Shows debug messages, in a form for people instead of JSON. Default false. */
  readonly debug?: boolean | undefined;
  /** Takes a finished line. Default: standard error. */
  readonly write?: ((line: string) => void) | undefined;
  /** Milliseconds since 1970. Default: now. */
  readonly now?: (() => number) | undefined;
}

interface Sink {
  readonly debug: boolean;
  readonly format: (entry: LogEntry) => string;
  readonly write: (line: string) => void;
  readonly now: () => number;
}

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

class LineLogger implements Logger {
  readonly #sink: Sink;
  readonly #fields: LogFields;

  constructor(sink: Sink, fields: LogFields) {
    this.#sink = sink;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    if (this.#sink.debug) this.#write({ level: "debug", message, fields }, this.debug);
  }

  info(message: string, fields?: LogFields): void {
    this.#write({ level: "info", message, fields }, this.info);
  }

  error(message: string, fields?: LogFields): void {
    this.#write({ level: "error", message, fields }, this.error);
  }

  withValues(fields: LogFields): Logger {
    return new LineLogger(this.#sink, { ...this.#fields, ...fields });
  }

  #write({ level, message, fields }: Line, below: Logger["info"]): void {
    const { format, write, now } = this.#sink;
    const all = fields === undefined ? this.#fields : { ...this.#fields, ...fields };
    write(format({ level, timeMs: now(), caller: callerOf(below), message, fields: all }));
  }
}

/**
 * A logger that writes one JSON object a line to standard error, with level, ts, caller, msg and the fields; with debug,
 * lines for people. Needs no set-up and no other package.
 */
export function newLogger(options: LoggerOptions = {}): Logger {
  const debug = options.debug ?? false;
  const sink: Sink = {
    debug,
    format: debug ? consoleLine : jsonLine,
    write: options.write ?? ((line) => process.stderr.write(line)),
    now: options.now ?? Date.now,
  };
  return new LineLogger(sink, {});
}

/** Where the function that called `below` is written: the last folder, file and line, as in `src/function.ts:12`. */
function callerOf(below: (...args: never[]) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, below);
  // The first line is the name of the holder, the second the caller.
  const line = holder.stack?.split("\n")[1] ?? "";
  const match = /\(?((?:file:\/\/)?[^()]*):(\d+):\d+\)?$/.exec(line);
  return match === null ? "unknown" : `${shortPath(match[1] ?? "")}:${match[2]}`;
}

function shortPath(place: string): string {
  const at = place.indexOf("file://");
  const path = at === -1 ? place.trim().replace(/^at (?:async )?/, "") : fileURLToPath(place.slice(at));
  return path.split(/[\\/]/).slice(-2).join("/");
}

/** A line of JSON: level, ts in seconds, caller, msg, then the fields. */
function jsonLine({ level, timeMs, caller, message, fields }: LogEntry): string {
  const head = { level, ts: timeMs / 1000, caller, msg: message };
  // First and last: the head comes in front, and no field can pretend to be part of it.
  return `${stringify({ ...head, ...fields, ...head })}\n`;
}

/** A line for people: time, level, caller, message, then the fields as JSON. */
function consoleLine({ level, timeMs, caller, message, fields }: LogEntry): string {
  const head = [new Date(timeMs).toISOString(), level.toUpperCase().padEnd(5), caller, message].join("  ");
  return Object.keys(fields).length === 0 ? `${head}\n` : `${head}  ${stringify(fields)}\n`;
}

/** A field can be anything an author has at hand; none of it may make logging fail. */
function stringify(value: object): string {
  try {
    return JSON.stringify(value, printable);
  } catch {
    const entries = Object.entries(value).map(([key, field]) => [key, plain(field)]);
    return JSON.stringify(Object.fromEntries(entries));
  }
}

function printable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return errorText(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return typeof value === "bigint" || typeof value === "symbol" ? String(value) : value;
}

function plain(value: unknown): unknown {
  return typeof value === "object" && value !== null
    ? inspect(value, { depth: 3, breakLength: Infinity })
    : String(value);
}

/** Values that go with a log message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where a function writes what happens. Messages are constant; what varies goes into fields. */
export interface Logger {
  /** Details for debugging; shown with --debug only. */
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger whose messages all carry these fields. */
  withValues(fields: LogFields): Logger;
}

/** A logger that writes nothing. */
export const nopLogger: Logger = {
  debug() {},
  info() {},
  error() {},
  withValues: () => nopLogger,
};
