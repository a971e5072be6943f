// SPDX-License-Identifier: Apache-2.0

/** The text of anything that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error that says where another one happened, as `outer: inner`, with the inner one as its cause. */
export function wrapError(outer: string, cause: unknown): Error {
  return new Error(`${outer}: ${textOf(cause)}`, { cause });
}

/** Runs something and, when it fails, says what could not be done. */
export async function during<T>(what: string, action: () => Promise<T> | T): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw wrapError(what, error);
  }
}
