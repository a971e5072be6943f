// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { cpSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { type Outcome, runInProcess } from "../../test/test-io.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** The Operation of the examples that runs at once, with its function and the Secret that it rotates. */
function operationsExample(): TempFolder {
  const folder = tempFolder();
  cpSync(join(root, "examples/operations"), folder.path, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  for (const name of ["back-up.yaml", "remediate.yaml", "unhealthy.yaml"]) rmSync(join(folder.path, name));
  return folder;
}

/** An Operation whose function does not find what it needs. */
const failing = `apiVersion: ops.crossplane.io/v1alpha1
kind: Operation
metadata: {name: fails}
spec:
  mode: Pipeline
  retryLimit: 1
  pipeline: [{step: one, functionRef: {name: rotate-secret}}]
`;

const upWaiting = (folder: TempFolder, ...options: readonly string[]): Promise<Outcome> =>
  runInProcess(["up", ".", "--wait", ...options], { cwd: folder.path, env: { PATH: process.env["PATH"] } });

test("up --wait waits for the Operations of the files, and fails when one of them fails", async () => {
  using folder = operationsExample();
  const options = ["--timeout", "5m", "--enable-operations"];
  const done = await upWaiting(folder, ...options);
  assert.equal(done.exitCode, 0, done.stdout + done.stderr);
  assert.match(done.stdout, /everything is ready/);
  folder.write("fails.yaml", failing);
  const failed = await upWaiting(folder, ...options);
  assert.equal(failed.exitCode, 1, failed.stdout + failed.stderr);
  assert.match(
    failed.stderr,
    /^failed:\n {2}Operation fails: failure limit of 1 reached: .*the Secret does not exist: create it first$/m,
  );
});

test("up --wait names an Operation that nothing runs", async () => {
  using folder = operationsExample();
  const late = await upWaiting(folder, "--timeout", "3s");
  assert.equal(late.exitCode, 1, late.stdout + late.stderr);
  assert.match(late.stderr, /^not ready after 3s:$/m);
  assert.match(late.stderr, /Operation rotate-database-password: nothing runs it: start .* with --enable-operations/);
});
