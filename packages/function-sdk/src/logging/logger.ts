// SPDX-License-Identifier: Apache-2.0

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

/** A logger that says nothing. */
export const nopLogger: Logger = {
  debug() {},
  info() {},
  error() {},
  withValues: () => nopLogger,
};
