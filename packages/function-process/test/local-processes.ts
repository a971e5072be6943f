// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { findSandbox, type SandboxSupport } from "../src/sandbox/find-sandbox.ts";

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

/** The words a process was started with, each ended by a NUL. None when it has ended meanwhile. */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** The sandbox of this machine. Without one the test is skipped, or fails where REQUIRE_SANDBOX is set. */
export async function sandboxOf(
  t: Pick<TestContext, "skip">,
): Promise<(SandboxSupport & { readonly isSupported: true }) | undefined> {
  const support = await findSandbox();
  if (support.isSupported) return support;
  assert.equal(process.env["REQUIRE_SANDBOX"], undefined, support.reason);
  t.skip(`${support.reason}: apt-get install bubblewrap`);
  return undefined;
}
