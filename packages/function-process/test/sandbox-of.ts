// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { findSandbox, type SandboxSupport } from "../src/sandbox/find-sandbox.ts";

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
