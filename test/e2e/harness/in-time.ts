// SPDX-License-Identifier: Apache-2.0
// Everything a suite has started ends in time, or the error names what did not: a suite must not wait forever.

/** Longer than anything here takes to end on a machine with much to do. */
const longestMs = 120_000;
/** Time for the failure to be reported. */
const lastWordsMs = 10_000;

/**
 * Waits for an end, at most this long. What is late continues behind the back of the failure, and would keep this
 * process from ending as well, so it is ended.
 */
export async function inTime<T>(what: string, end: PromiseLike<T>, limitMs: number = longestMs): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const left = process.getActiveResourcesInfo().join(", ");
    reject(new Error(`${what} has not ended within ${limitMs / 1000} s; the process still has ${left}`));
    setTimeout(() => process.exit(1), lastWordsMs).unref();
  }, limitMs);
  try {
    return await Promise.race([end, promise]);
  } finally {
    clearTimeout(timer);
  }
}
