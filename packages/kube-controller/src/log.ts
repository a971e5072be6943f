// SPDX-License-Identifier: Apache-2.0

/** What a line of the log is about, under names that are the same everywhere. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where entry points tell what happens: constant messages, variable parts as fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Says nothing. */
export const silentLog: Log = { debug() {}, info() {}, error() {} };
