// SPDX-License-Identifier: Apache-2.0
// What needs a registry (installing, type-checking, building the package) is tested in test/interop/provider-init.test.ts.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { runInProcess } from "../../test/test-io.ts";

test("a bad name of a provider is one line, and nothing is written", async () => {
  using folder = tempFolder();
  const { exitCode, stderr } = await runInProcess(["provider", "init", "My_Provider"], { cwd: folder.path });
  assert.equal(exitCode, 2);
  assert.equal(
    stderr,
    'error: invalid provider name "My_Provider": use at most 63 lower-case letters, digits and dashes, starting with a letter, such as my-provider\n',
  );
  assert.deepEqual(readdirSync(folder.path), []);
});
