// SPDX-License-Identifier: Apache-2.0
import process from "node:process";
import { callerOf } from "./caller.ts";
import { consoleLine, jsonLine, type LogEntry, type LogLevel } from "./log-line.ts";
import type { LogFields, Logger } from "./logger.ts";

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

class LineLogger implements Logger {
  readonly #sink: Sink;
  readonly #fields: LogFields;

  constructor(sink: Sink, fields: LogFields) {
    this.#sink = sink;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    if (this.#sink.debug) this.#write("debug", message, fields, this.debug);
  }

  info(message: string, fields?: LogFields): void {
    this.#write("info", message, fields, this.info);
  }

  error(message: string, fields?: LogFields): void {
    this.#write("error", message, fields, this.error);
  }

  withValues(fields: LogFields): Logger {
    return new LineLogger(this.#sink, { ...this.#fields, ...fields });
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined, below: Logger["info"]): void {
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
