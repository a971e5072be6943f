// SPDX-License-Identifier: Apache-2.0

/** The variable parts of a log line. A field has the same name in every line. */
export type LogFields = Readonly<Record<string, unknown>>;

/** A structured log: messages are constant, variable parts are fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** A log that discards every line. */
export const silentLog: Log = { debug() {}, info() {}, error() {} };
