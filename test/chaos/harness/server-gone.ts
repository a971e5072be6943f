// SPDX-License-Identifier: Apache-2.0

const codes = ["ECONNRESET", "ECONNREFUSED", "EPIPE"];

/** Whether an error says that the server is no longer there. */
export function isServerGone(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return codes.includes(String(code)) || message === "aborted";
}
