// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { isAbsolute } from "node:path";
import { test } from "node:test";
import { sandboxOf } from "../../test/local-processes.ts";
import { sandboxVariable } from "./find-bwrap.ts";
import { findSandbox } from "./find-sandbox.ts";
import { isolationArguments } from "./sandbox-arguments.ts";

test("the sandbox is found by an absolute path, whatever the PATH", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  assert.ok(isAbsolute(support.program));
  for (const PATH of ["", "/nonexistent", ".", "bin:.:"]) assert.deepEqual(await findSandbox({ PATH }), support);
});

test("bubblewrap keeps functions from making user namespaces, also without the filter", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  const run = (isolation: readonly string[]): number | null => {
    const view = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"];
    return spawnSync(support.program, [...isolation, ...view, "unshare", "--user", "true"]).status;
  };
  assert.equal(run(["--unshare-user"]), 0, "nothing else keeps them");
  if (support.canDisableUserns) assert.notEqual(run(isolationArguments(support)), 0);
});

test("a program that is not bubblewrap does not count, and what it says is the reason", async () => {
  const support = await findSandbox({ [sandboxVariable]: "/bin/false" });
  assert.equal(support.isSupported, false);
  assert.equal(
    support.isSupported ? "" : support.reason,
    "bwrap does not work here: /bin/false ended with exit code 1 and no error message",
  );
});
