// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";

/** Whether a process exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until something is so. A test that waits in vain is ended by the runner. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(20);
}
