// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
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

/** The first bytes of a program that names its loader. */
function linkedProgram(loader: string): Buffer {
  const head = Buffer.alloc(256);
  head.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  head.writeBigUInt64LE(64n, 32);
  head.writeUInt16LE(56, 54);
  head.writeUInt16LE(1, 56);
  head.writeUInt32LE(3, 64);
  head.writeBigUInt64LE(128n, 72);
  head.writeBigUInt64LE(BigInt(loader.length + 1), 96);
  head.write(`${loader}\0`, 128);
  return head;
}

/** The folders that the loader of an image is given, as the image sees them. All folders named exist. */
async function foldersOf(
  loader: string,
  folders: readonly string[],
  files: Readonly<Record<string, string>>,
  change: (root: string) => void = () => {},
): Promise<string[]> {
  using folder = image({ [loader.slice(1)]: "loader", "bin/main": "", ...files });
  const { root } = folder;
  writeFileSync(join(root, "bin/main"), linkedProgram(loader));
  for (const name of folders) mkdirSync(join(root, name), { recursive: true });
  change(root);
  const [, flag, paths = ""] = await imageCommand(root, "main", path);
  assert.equal(flag, "--library-path");
  return paths.split(":").map((one) => one.slice(root.length));
}

const glibc = "/lib64/ld-linux-x86-64.so.2";
const folderRows: Record<
  string,
  {
    readonly loader?: string;
    readonly folders: readonly string[];
    readonly files: Readonly<Record<string, string>>;
    readonly want: readonly string[];
    readonly reason: string;
  }
> = {
  OneFile: {
    folders: ["/usr/local/lib64", "/opt/x"],
    files: { "etc/ld.so.conf": "/usr/local/lib64\n  /opt/x=libc6 # ours\n# /opt/y\n/gone\n" },
    want: ["/usr/local/lib64", "/opt/x", "/lib64"],
    reason: "openSUSE and images that append to the file name folders in it",
  },
  Includes: {
    folders: ["/opt/a", "/opt/b", "/opt/last", "/opt/other"],
    files: {
      "etc/ld.so.conf": "include ld.so.conf.d/*.conf extra/one\n/opt/last\n",
      "etc/ld.so.conf.d/b.conf": "/opt/b\n",
      "etc/ld.so.conf.d/a.conf": "/opt/a\r\ninclude /etc/ld.so.conf\n",
      "etc/ld.so.conf.d/README": "/opt/not",
      "etc/extra/one": "/opt/other",
    },
    want: ["/opt/a", "/opt/b", "/opt/other", "/opt/last", "/lib64"],
    reason: "files are read in their order, relative to the one that includes them, each once",
  },
  Parts: {
    folders: ["/opt/a"],
    files: { "etc/ld.so.conf.d/a.conf": "/opt/a" },
    want: ["/opt/a", "/lib64"],
    reason: "the folder counts without the file that includes it",
  },
  Processor: {
    folders: ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"],
    files: {},
    want: ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/lib", "/usr/lib"],
    reason: "the loader of Debian has these built in, and would look on this machine",
  },
  Musl: {
    loader: "/lib/ld-musl-x86_64.so.1",
    folders: ["/opt/a", "/opt/b"],
    files: { "etc/ld-musl-x86_64.path": "/opt/a:/opt/b\n/gone", "etc/ld.so.conf": "/opt/c" },
    want: ["/opt/a", "/opt/b", "/lib"],
    reason: "musl has a file of its own",
  },
};
for (const [name, { loader = glibc, folders, files, want, reason }] of Object.entries(folderRows)) {
  test(`library folders: ${name}`, async () => {
    assert.deepEqual(await foldersOf(loader, folders, files), want, reason);
  });
}

const hostileRows: Record<string, { readonly files: Readonly<Record<string, string>>; readonly reason: string }> = {
  Huge: {
    files: { "etc/ld.so.conf": `/opt/a\n${"#".repeat(70_000)}` },
    reason: "a file of more than 64 KiB is not read",
  },
  Folder: { files: { "etc/ld.so.conf.d/a.conf/file": "/opt/a" }, reason: "a folder has no text" },
  Colon: { files: { "etc/ld.so.conf": "/opt/a:b" }, reason: "the loader would take it for two folders" },
  Outside: {
    files: { "etc/ld.so.conf": "/../../../../../tmp\ninclude ../../../../etc/hosts" },
    reason: "no path leads out",
  },
};
for (const [name, { files, reason }] of Object.entries(hostileRows)) {
  test(`library folders of a hostile image: ${name}`, async () => {
    assert.deepEqual(await foldersOf(glibc, ["/opt/a", "/opt/a:b"], files), ["/lib64"], reason);
  });
}

test("library folders of a hostile image: links lead nowhere else, and files and folders have a bound", async () => {
  const many = Array.from({ length: 2000 }, (_, at) => [`etc/ld.so.conf.d/${at}.conf`, `/opt/${at}`]);
  const names = Array.from({ length: 2000 }, (_, at) => `/opt/${at}`);
  const found = await foldersOf(glibc, names, Object.fromEntries(many));
  assert.ok(found.length > 200 && found.length <= 257, `${found.length} folders`);
  const lines = `${names.join("\n")}\n`;
  assert.equal((await foldersOf(glibc, names, { "etc/ld.so.conf": lines })).length, 257);
  const linked = await foldersOf(glibc, [], { "etc/x": "" }, (root) => {
    symlinkSync("/etc", join(root, "opt"));
    symlinkSync("/dev/zero", join(root, "etc/ld.so.conf"));
    mkdirSync(join(root, "dev"));
    symlinkSync("zero", join(root, "dev/zero"));
  });
  assert.deepEqual(linked, ["/lib64"]);
});
