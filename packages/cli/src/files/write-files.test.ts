// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import { UserError } from "../user-error.ts";
import { writeFolder } from "./write-files.ts";

const fill = (folder: string): Promise<void> => writeFile(join(folder, "a.txt"), "a");

test("a folder appears with everything in it", async () => {
  using folder = tempFolder();
  await writeFolder("deep/new", new TestIo({ cwd: folder.path }), fill);
  assert.equal(readFileSync(join(folder.path, "deep/new/a.txt"), "utf8"), "a");
  assert.deepEqual(readdirSync(join(folder.path, "deep")), ["new"]);
});

test("an empty folder may exist", async () => {
  using folder = tempFolder();
  mkdirSync(join(folder.path, "new"));
  await writeFolder("new", new TestIo({ cwd: folder.path }), fill);
  assert.deepEqual(readdirSync(join(folder.path, "new")), ["a.txt"]);
});

test("an empty folder stays the same folder: a shell may be in it", async () => {
  using folder = tempFolder();
  const before = statSync(folder.path).ino;
  await writeFolder(".", new TestIo({ cwd: folder.path }), fill);
  assert.equal(statSync(folder.path).ino, before);
  assert.deepEqual(readdirSync(folder.path), ["a.txt"]);
});

test("a repository that was just made counts as empty", async () => {
  using folder = tempFolder({ ".git/HEAD": "ref: refs/heads/main" });
  await writeFolder(".", new TestIo({ cwd: folder.path }), fill);
  assert.deepEqual(readdirSync(folder.path).sort(), [".git", "a.txt"]);
  await assert.rejects(writeFolder(".", new TestIo({ cwd: folder.path }), fill), /the folder exists and is not empty/);
});

test("what was moved into an empty folder is removed when the rest cannot be", async () => {
  using folder = tempFolder();
  const both = async (draft: string): Promise<void> => {
    await fill(draft);
    await writeFile(join(draft, "b.txt"), "b");
    // Comes between: a file cannot replace a folder.
    mkdirSync(join(folder.path, "b.txt"));
  };
  await assert.rejects(writeFolder(".", new TestIo({ cwd: folder.path }), both), { name: "UserError" });
  assert.deepEqual(readdirSync(folder.path), ["b.txt"]);
});

const refused: Record<string, { readonly files: Record<string, string>; readonly says: string }> = {
  NotEmpty: {
    files: { "new/mine.txt": "mine" },
    says: "cannot create new: the folder exists and is not empty: choose another name, or empty it",
  },
  AFile: { files: { new: "mine" }, says: "cannot create new: a file with that name exists: choose another name" },
};
for (const [name, { files, says }] of Object.entries(refused)) {
  test(`what exists is left alone: ${name}`, async () => {
    using folder = tempFolder(files);
    const before = readdirSync(folder.path, { recursive: true });
    await assert.rejects(writeFolder("new", new TestIo({ cwd: folder.path }), fill), {
      name: "UserError",
      message: says,
    });
    assert.deepEqual(readdirSync(folder.path, { recursive: true }), before);
  });
}

test("nothing is left when filling fails half-way", async () => {
  using folder = tempFolder();
  const io = new TestIo({ cwd: folder.path });
  const failing = async (draft: string): Promise<void> => {
    await fill(draft);
    throw new UserError("boom");
  };
  await assert.rejects(writeFolder("new", io, failing), { message: "boom" });
  assert.deepEqual(readdirSync(folder.path), []);
});
