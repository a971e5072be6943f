// SPDX-License-Identifier: Apache-2.0
// What needs a registry (installing, type-checking, running) is tested in test/interop/function-init.test.ts.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { runInProcess } from "../testing/test-io.ts";

test("a project is made whole, with a packed SDK beside it", async () => {
  using folder = tempFolder();
  const { exitCode, stdout, stderr } = await runInProcess(["function", "init", "my-function"], { cwd: folder.path });
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^Made my-function\. Next:\n\n {2}cd my-function\n {2}npm install\n {2}npm test\n/);
  assert.deepEqual(readdirSync(folder.path), ["my-function"]);
  assert.deepEqual(readdirSync(join(folder.path, "my-function")).sort(), [
    ".gitignore",
    "README.md",
    "package",
    "package.json",
    "request.yaml",
    "src",
    "tsconfig.json",
    "vendor",
  ]);
  assert.match(readdirSync(join(folder.path, "my-function/vendor")).join(), /^purlin-function-sdk-[\d.]+\.tgz$/);
});

test("a bad name or a folder with something in it: one line, and nothing is written", async () => {
  using folder = tempFolder({ "taken/mine.txt": "" });
  const bad = await runInProcess(["function", "init", "My_Function"], { cwd: folder.path });
  assert.equal(bad.exitCode, 2);
  assert.equal(
    bad.stderr,
    'error: "My_Function" cannot be the name of a function: use lower-case letters, digits and dashes, beginning with a letter, at most 63, such as my-function\n',
  );
  const taken = await runInProcess(["function", "init", "taken"], { cwd: folder.path });
  assert.equal(taken.exitCode, 1);
  assert.equal(
    taken.stderr,
    "error: cannot make taken: the folder exists and is not empty: choose another name or empty it\n",
  );
  assert.deepEqual(readdirSync(folder.path, { recursive: true }).sort(), ["taken", "taken/mine.txt"]);
});

test("interrupted half-way, nothing is left", async () => {
  using folder = tempFolder();
  const stop = new AbortController();
  const running = runInProcess(["function", "init", "my-function"], { cwd: folder.path, signal: stop.signal });
  stop.abort(new Error("stopped by SIGINT"));
  const { exitCode, stderr } = await running;
  assert.equal(exitCode, 130);
  assert.match(stderr, /stopped by SIGINT\n$/);
  assert.deepEqual(readdirSync(folder.path), []);
});
