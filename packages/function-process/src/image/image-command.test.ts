// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/oci/testing";
import { imageCommand } from "./image-command.ts";

const path = "/usr/bin:/bin";

function image(files: Readonly<Record<string, string>>): TempFolder & { readonly root: string } {
  const folder = tempFolder(Object.fromEntries(Object.entries(files).map(([name, text]) => [`root/${name}`, text])));
  for (const name of Object.keys(files)) {
    if (name.includes("bin/")) chmodSync(join(folder.path, "root", name), 0o755);
  }
  return { ...folder, root: join(folder.path, "root"), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test("a program without a loader is started as it is, by its path or by its name", async () => {
  using folder = image({ "usr/bin/tool": "binary", "bin/other": "binary" });
  const { root } = folder;
  assert.deepEqual(await imageCommand(root, "/usr/bin/tool", path), [join(root, "usr/bin/tool")]);
  assert.deepEqual(await imageCommand(root, "other", path), [join(root, "bin/other")]);
});

test("a script is started with the interpreter of the image", async () => {
  using folder = image({
    "bin/python3": "binary",
    "bin/one": "#!/bin/python3 -u\nprint(1)\n",
    "bin/two": "#!/usr/bin/env -S python3 -u\n",
    "bin/three": "#! /bin/one\n",
  });
  const { root } = folder;
  const [python, one] = [join(root, "bin/python3"), join(root, "bin/one")];
  assert.deepEqual(await imageCommand(root, "/bin/one", path), [python, "-u", one]);
  assert.deepEqual(await imageCommand(root, "two", path), [python, "-u", join(root, "bin/two")]);
  assert.deepEqual(await imageCommand(root, "three", path), [python, "-u", one, join(root, "bin/three")]);
});

test("a missing program or interpreter is named in the error", async () => {
  using folder = image({ "bin/script": "#!/bin/nope\n", "etc/file": "not executable" });
  const { root } = folder;
  await assert.rejects(imageCommand(root, "nope", path), /the image has no nope to start/);
  await assert.rejects(imageCommand(root, "/etc/file", path), /the image has no \/etc\/file to start/);
  await assert.rejects(imageCommand(root, "script", path), /the image has no \/bin\/nope to start/);
});

test("a linked program runs with the loader and the libraries of the image", async (t) => {
  const loader = "/lib64/ld-linux-x86-64.so.2";
  if (!existsSync(loader)) return t.skip("this machine has another kind of loader");
  const libraries = dirname(realpathSync(loader));
  using folder = image({ "etc/ld.so.conf.d/libraries.conf": "# where they are\n/opt/libraries\n" });
  const { root } = folder;
  for (const name of ["lib64", "bin", "opt/libraries"]) mkdirSync(join(root, name), { recursive: true });
  copyFileSync(realpathSync(loader), join(root, loader));
  copyFileSync(realpathSync("/bin/cat"), join(root, "bin/cat"));
  for (const name of readdirSync(libraries).filter((one) => one.startsWith("libc.so"))) {
    copyFileSync(join(libraries, name), join(root, "opt/libraries", name));
  }
  const [command = "", ...args] = await imageCommand(root, "cat", path);
  assert.equal(command, join(root, loader));
  assert.ok(args[1]?.startsWith(join(root, "opt/libraries")), "what the image's configuration names comes first");
  const maps = execFileSync(command, [...args, "/proc/self/maps"], { encoding: "utf8" });
  assert.ok(maps.includes(join(root, "opt/libraries/libc.so.6")), "its own library is the one that is used");
});
