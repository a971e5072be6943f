// SPDX-License-Identifier: Apache-2.0

/** Runs `work`; what it throws comes out as `<context>: <text>` with the cause kept. */
export function wrapErrors<T>(context: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`${context}: ${text}`, { cause: error });
  }
}
