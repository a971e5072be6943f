// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { chmodSync, chownSync, copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { findBwrap, sandboxVariable } from "./find-bwrap.ts";

const isRoot = process.getuid?.() === 0;
/** Files can belong to a uid without an account. */
const stranger = 64_123;

/** Puts a program called bwrap into a folder. */
function plant(folder: TempFolder, name: string): string {
  mkdirSync(join(folder.path, name), { recursive: true });
  const path = join(folder.path, name, "bwrap");
  copyFileSync("/bin/true", path);
  chmodSync(path, 0o755);
  return path;
}

/** What is found in folders of the PATH alone: the system's own comes after those, or is missing. */
function firstIn(...folders: readonly string[]): string {
  const found = findBwrap({ PATH: folders.join(":") });
  return "path" in found ? found.path : found.reason;
}

test("a program in an absolute folder of the PATH is found by its absolute path", () => {
  using folder = tempFolder();
  const path = plant(folder, "bin");
  assert.equal(firstIn("/nowhere", join(folder.path, "bin")), path);
});

test("relative and empty folders of the PATH are not looked into", (t: TestContext) => {
  using folder = tempFolder();
  plant(folder, "bin");
  const before = process.cwd();
  t.after(() => process.chdir(before));
  process.chdir(join(folder.path, "bin"));
  for (const path of [".", "", "../bin", "bin", ":", "./"]) {
    assert.ok(!firstIn(path).startsWith(folder.path), `PATH=${path}`);
  }
});

type Spoil = (folder: TempFolder, path: string) => void;
type Danger = { readonly spoil: Spoil; readonly says: (folder: string) => string; readonly needsRoot?: boolean };
const dangers: Record<string, Danger> = {
  WritableProgram: { spoil: (_, path) => chmodSync(path, 0o757), says: () => "other users can write to it" },
  WritableFolder: {
    spoil: ({ path }) => chmodSync(join(path, "bin"), 0o777),
    says: (folder) => `other users can write to its folder ${folder}/bin`,
  },
  WritableFolderAbove: {
    spoil: ({ path }) => chmodSync(path, 0o777),
    says: (folder) => `other users can write to its folder ${folder}`,
  },
  ForeignProgram: {
    spoil: (_, path) => chownSync(path, stranger, stranger),
    says: () => `it belongs to user ${stranger}`,
    needsRoot: true,
  },
  ForeignGroup: {
    spoil(_, path) {
      chownSync(path, 0, stranger);
      chmodSync(path, 0o775);
    },
    says: () => "other users can write to it",
    needsRoot: true,
  },
  ForeignFolder: {
    spoil: ({ path }) => chownSync(join(path, "bin"), stranger, stranger),
    says: (folder) => `its folder ${folder}/bin belongs to user ${stranger}`,
    needsRoot: true,
  },
};
// Only root can give a file to another user.
const possible = Object.entries(dangers).filter(([, { needsRoot = false }]) => isRoot || !needsRoot);
for (const [name, { spoil, says }] of possible) {
  test(`a program that another user could replace is not used: ${name}`, () => {
    using folder = tempFolder();
    const path = plant(folder, "bin");
    assert.equal(firstIn(join(folder.path, "bin")), path, "it is used as long as nothing is wrong with it");
    spoil(folder, path);
    assert.notEqual(firstIn(join(folder.path, "bin")), path);
    assert.deepEqual(findBwrap({ [sandboxVariable]: path }), { reason: `${path} is not used: ${says(folder.path)}` });
    const other = plant(folder, "other");
    if (!name.endsWith("Above")) assert.equal(firstIn(join(folder.path, "bin"), join(folder.path, "other")), other);
  });
}

test("a link is judged by the folder it is in and by the program it leads to", () => {
  using folder = tempFolder();
  const path = plant(folder, "real");
  mkdirSync(join(folder.path, "links"));
  symlinkSync(path, join(folder.path, "links", "bwrap"));
  assert.equal(firstIn(join(folder.path, "links")), join(folder.path, "links", "bwrap"));
  chmodSync(join(folder.path, "real"), 0o777);
  assert.notEqual(firstIn(join(folder.path, "links")), join(folder.path, "links", "bwrap"));
});

test("folders and files without the execute permission are skipped", () => {
  using folder = tempFolder({ "plain/bwrap": "x" });
  mkdirSync(join(folder.path, "folder", "bwrap"), { recursive: true });
  const path = plant(folder, "bin");
  assert.equal(firstIn(...["plain", "folder", "bin"].map((name) => join(folder.path, name))), path);
});

const chosen: Record<string, { readonly value: string; readonly says: RegExp }> = {
  None: { value: "none", says: /^PURLIN_SANDBOX=none$/ },
  Relative: { value: "bin/bwrap", says: /^PURLIN_SANDBOX must be an absolute path or none, not "bin\/bwrap"$/ },
  Missing: { value: "/nowhere/bwrap", says: /^PURLIN_SANDBOX names \/nowhere\/bwrap, which is not a program$/ },
};
for (const [name, { value, says }] of Object.entries(chosen)) {
  test(`${sandboxVariable} decides alone: ${name}`, () => {
    const found = findBwrap({ [sandboxVariable]: value, PATH: "/usr/bin" });
    assert.match("reason" in found ? found.reason : "", says);
  });
}

test("a folder of the PATH that cannot be entered, and one that is a file, are passed over", () => {
  using folder = tempFolder({ file: "x" });
  const path = plant(folder, "bin");
  const long = `/${"x".repeat(5_000)}`;
  assert.equal(firstIn(join(folder.path, "file"), long, join(folder.path, "bin")), path);
});
