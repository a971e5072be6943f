// SPDX-License-Identifier: Apache-2.0

/** Whether a program says that its port is taken. The words are those of most languages. */
export function saysPortTaken(output: string): boolean {
  return /EADDRINUSE|address already in use/i.test(output);
}
