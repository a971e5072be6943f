// SPDX-License-Identifier: Apache-2.0

/** Where the runner tells what never fails a run: a cache that cannot be written, a recorder that does not answer. */
export interface RunnerLog {
  debug(message: string, fields: Readonly<Record<string, unknown>>): void;
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/** Says nothing. */
export const silentLog: RunnerLog = { debug() {}, info() {} };
