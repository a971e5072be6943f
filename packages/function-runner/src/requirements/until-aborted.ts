// SPDX-License-Identifier: Apache-2.0

/** The result of a read, or the reason of the signal if it aborts first: a read that ignores the signal must not hold the run. */
export async function untilAborted<T>(read: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return read;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([read, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
