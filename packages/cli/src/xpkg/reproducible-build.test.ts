// SPDX-License-Identifier: Apache-2.0
// The same bytes in every build: the processes differ in everything that should not matter.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { functionPackage, packageMeta } from "../../test/function-folder.ts";
import { purlinCommand } from "../../test/spawn-purlin.ts";

const crd =
  "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: inputs.example.org}\n";

interface Surroundings {
  readonly umask: string;
  readonly env: Readonly<Record<string, string>>;
}

const surroundings: Readonly<Record<string, Surroundings>> = {
  "a plain one": { umask: "022", env: { TZ: "UTC", LANG: "C", HOME: "/nonexistent" } },
  "another time zone, language, umask and user": {
    umask: "077",
    env: { TZ: "Pacific/Kiritimati", LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8", HOME: "/tmp", USER: "another" },
  },
};

async function build(cwd: string, args: readonly string[], { umask, env }: Surroundings): Promise<Buffer> {
  const file = `${umask}.xpkg`;
  const script = `umask ${umask} && exec "$@"`;
  const argv = [process.execPath, purlinCommand, "xpkg", "build", ...args, "--skip-start", "-o", file];
  const options = { cwd, env: { PATH: process.env["PATH"] ?? "", NO_COLOR: "1", ...env } };
  await promisify(execFile)("/bin/sh", ["-c", script, "sh", ...argv], options);
  return readFileSync(join(cwd, file));
}

async function assertSame(folders: readonly string[], args: readonly string[]): Promise<void> {
  const built: Buffer[] = [];
  for (const [at, one] of Object.values(surroundings).entries()) built.push(await build(folders[at] ?? "", args, one));
  assert.ok(built[0]?.equals(built[1] ?? Buffer.alloc(0)), Object.keys(surroundings).join(" against "));
}

test("a function is the same wherever it is built", async () => {
  using one = functionPackage({ "package/input.yaml": crd, "examples/x.yaml": "a: b\n" });
  using two = functionPackage({ "package/input.yaml": crd, "examples/x.yaml": "a: b\n" });
  await assertSame([one.path, two.path], []);
});

function root(folder: TempFolder): void {
  folder.write("crossplane.yaml", packageMeta());
  folder.write("root/bin/function", "#!/bin/sh\n");
  folder.write("root/I/ı/İ.txt", "letters that languages sort each in their own way");
  folder.write("root/i.txt", "x");
  chmodSync(join(folder.path, "root/bin/function"), 0o755);
  for (const path of ["root/bin/function", "root/I/ı/İ.txt", "root/i.txt", "root/I/ı", "root/I", "root/bin", "root"]) {
    utimesSync(join(folder.path, path), 1_000_000_000.5, 1_000_000_000.25);
  }
}

test("a root file system is packed the same, regardless of its folder and permissions", async () => {
  using one = tempFolder();
  using two = tempFolder();
  root(one);
  mkdirSync(join(two.path, "copy"));
  root(two);
  cpSync(join(two.path, "root"), join(two.path, "copy", "root"), { recursive: true, preserveTimestamps: true });
  chmodSync(join(two.path, "root/i.txt"), 0o600);
  chmodSync(join(two.path, "root/I"), 0o700);
  const args = ["--root", "root", "--entrypoint", "/bin/function", "--platform", "linux/amd64", "--ignore", "copy/**"];
  await assertSame([one.path, two.path], args);
});
