// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { sandboxOf } from "../../test/local-processes.ts";
import { sandboxVariable } from "./find-bwrap.ts";
import { findSandbox } from "./find-sandbox.ts";
import { isolationArguments, type Sandbox, sandboxCommand } from "./sandbox-arguments.ts";
import { machineFilter } from "./seccomp/filter.ts";

test("the sandbox is found by an absolute path, whatever the PATH", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  assert.ok(isAbsolute(support.program));
  for (const PATH of ["", "/nonexistent", ".", "bin:.:"]) assert.deepEqual(await findSandbox({ PATH }), support);
});

/** The exit status of a program in a view of this machine, without the system call filter. */
function run({ program }: Sandbox, isolation: readonly string[], ...command: readonly string[]): number | null {
  const view = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"];
  return spawnSync(program, [...isolation, ...view, ...command]).status;
}

test("user namespaces are disabled in the sandbox where bubblewrap and the kernel can do that", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  const knows = spawnSync(support.program, ["--help"], { encoding: "utf8" }).stdout.includes("--disable-userns");
  const works = run(support, ["--unshare-user", "--disable-userns"], "true") === 0;
  assert.equal(support.canDisableUserns, knows && works, JSON.stringify(support));
  assert.equal(support.notice === undefined, support.canDisableUserns);
  using image = tempFolder();
  const program = { root: image.path, command: ["true"], cwd: "/", env: {}, tmpBytes: 1, folders: {} };
  const words = String(sandboxCommand(support, program).inputs[0]).split("\0");
  assert.equal(words.includes("--disable-userns"), support.canDisableUserns);
});

test("bubblewrap keeps functions from making user namespaces, also without the filter", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  const make = ["unshare", "--user", "true"] as const;
  assert.equal(run(support, ["--unshare-user"], ...make), 0, "nothing else keeps them");
  // A continuous integration has a bubblewrap that can do it.
  if (!support.canDisableUserns && process.env["REQUIRE_SANDBOX"] === undefined) return t.skip(support.notice ?? "");
  assert.equal(run(support, isolationArguments(support), "true"), 0, "programs run");
  assert.notEqual(run(support, isolationArguments(support), ...make), 0);
});

test("a bubblewrap that cannot disable user namespaces is used, and that is reported", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  const old = `#!/bin/sh
case " $* " in *" --disable-userns "*) echo "bwrap: Unknown option --disable-userns" >&2; exit 1;; esac
exec ${support.program} "$@"
`;
  using folder = tempFolder({ bwrap: old });
  const program = join(folder.path, "bwrap");
  chmodSync(program, 0o755);
  assert.deepEqual(await findSandbox({ [sandboxVariable]: program }), {
    isSupported: true,
    program,
    canDisableUserns: false,
    notice: `bwrap cannot disable user namespaces in the sandbox, ${
      machineFilter() === undefined ? "and nothing else refuses them" : "only the system call filter refuses them"
    }: bwrap: Unknown option --disable-userns`,
  });
});

test("a program that is not bubblewrap does not count, and what it says is the reason", async () => {
  const support = await findSandbox({ [sandboxVariable]: "/bin/false" });
  assert.equal(support.isSupported, false);
  assert.equal(
    support.isSupported ? "" : support.reason,
    "bwrap does not work here: /bin/false ended with exit code 1 and no error message",
  );
});
