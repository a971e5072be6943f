// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { makeFolder, whyNoFolder } from "./write-files.ts";

test("a folder is made with those it lies in, and again without a complaint", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "a/b/c");
  await makeFolder(path, 0o700);
  await makeFolder(path, 0o700);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  symlinkSync(path, join(folder.path, "link"));
  await makeFolder(join(folder.path, "link/d"));
  assert.ok(statSync(join(path, "d")).isDirectory());
  await makeFolder("/");
});

test("two at once do not stumble over each other", async () => {
  using folder = tempFolder();
  await Promise.all(["a/b/c", "a/b/c", "a/b/d", "a/b"].map((path) => makeFolder(join(folder.path, path))));
  assert.ok(statSync(join(folder.path, "a/b/c")).isDirectory());
});

const refused: Record<string, { readonly path: string; readonly says: RegExp }> = {
  // On Linux a folder in /proc is not found although /proc is there; elsewhere / itself cannot be written.
  NoSuchPlace: {
    path: "/proc/purlin/x",
    says: /^(files cannot be created there|not writable: .*): choose another folder/,
  },
  AFile: { path: "file", says: /^the path or a part of it is a file, not a folder: choose another folder$/ },
  InAFile: { path: "file/x/y", says: /^the path or a part of it is a file, not a folder: choose another folder$/ },
  ADeadLink: { path: "dead", says: /^files cannot be created there: choose another folder$/ },
};
for (const [name, { path, says }] of Object.entries(refused)) {
  test(`an error is reported where no folder can be created: ${name}`, async () => {
    using folder = tempFolder({ file: "" });
    symlinkSync(join(folder.path, "nowhere"), join(folder.path, "dead"));
    const error: unknown = await makeFolder(path.startsWith("/") ? path : join(folder.path, path)).catch((e) => e);
    assert.match(whyNoFolder(error), says);
  });
}
