// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";

/** Runs `work`; what it throws comes out as `<context>: <text>` with the cause kept. */
export function wrapErrors<T>(context: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw wrapped(context, error);
  }
}

/** {@link wrapErrors} for work that is done in parts. */
export function* wrapWork<T>(context: string, work: Work<T>): Work<T> {
  try {
    return yield* work;
  } catch (error) {
    throw wrapped(context, error);
  }
}

function wrapped(context: string, error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  return new Error(`${context}: ${text}`, { cause: error });
}
