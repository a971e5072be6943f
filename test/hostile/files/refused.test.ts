// SPDX-License-Identifier: Apache-2.0
// Every command that reads a user's file, given each file that does harm: one line that says what, which file and what to do; at once.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { runInProcess } from "../../../packages/cli/test/test-io.ts";
import { closeSockets, hostileFiles } from "./hostile-files.ts";

const root = mkdtempSync(join(tmpdir(), "hostile-files-"));
after(() => {
  closeSockets();
  rmSync(root, { recursive: true, force: true });
});
let count = 0;

function freshFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = join(root, String(++count));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const xr = "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\n";
const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline: [{step: s, functionRef: {name: f}}]
`;

const packageMeta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: p}\n";

interface Reader {
  readonly args: readonly string[];
  /** What the hostile file is called. */
  readonly file: string;
  /** What else is in the folder. */
  readonly beside?: Readonly<Record<string, string>>;
  /** True where the file is not text, so that only its kind and size matter. */
  readonly isBinary?: boolean;
  readonly isFolderFine?: boolean;
  /** True where a broken link counts as no file. */
  readonly isBrokenLinkFine?: boolean;
  /** What it says of text that cannot be parsed, where another parser reads it. */
  readonly saysOfText?: RegExp;
  /** True where files of any size are read, piece by piece. */
  readonly isSizeFine?: boolean;
}

const functions = `${composition}---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: f, annotations: {render.crossplane.io/runtime: Development}}
`;

function renderWith(...args: readonly string[]): Reader {
  const beside = { "xr.yaml": xr, "c.yaml": functions };
  return { args: ["render", ...args], file: "x.yaml", beside, isFolderFine: true };
}

const readers: Readonly<Record<string, Reader>> = {
  "apply FILE": { args: ["apply", "x.yaml"], file: "x.yaml", isFolderFine: true },
  "apply FOLDER": { args: ["apply", "."], file: "x.yaml", beside: { "a.yaml": xr }, isFolderFine: true },
  "delete -f FILE": { args: ["delete", "-f", "x.yaml"], file: "x.yaml", isFolderFine: true },
  "up FILE": { args: ["up", "x.yaml", "--data-dir", "data"], file: "x.yaml", isFolderFine: true },
  "up FOLDER": { args: ["up", "manifests", "--data-dir", "data"], file: "manifests/x.yaml", isFolderFine: true },
  "render XR": {
    args: ["render", "x.yaml", "c.yaml", "c.yaml"],
    file: "x.yaml",
    beside: { "c.yaml": composition },
    isFolderFine: true,
  },
  "render COMPOSITION": {
    args: ["render", "xr.yaml", "x.yaml", "x.yaml"],
    file: "x.yaml",
    beside: { "xr.yaml": xr },
    isFolderFine: true,
  },
  "render FUNCTIONS": renderWith("xr.yaml", "c.yaml", "x.yaml"),
  "render --xrd": renderWith("xr.yaml", "c.yaml", "c.yaml", "--xrd", "x.yaml"),
  "render --observed-resources": renderWith("xr.yaml", "c.yaml", "c.yaml", "--observed-resources", "x.yaml"),
  "render --required-resources": renderWith("xr.yaml", "c.yaml", "c.yaml", "--required-resources", "x.yaml"),
  "render --function-credentials": renderWith("xr.yaml", "c.yaml", "c.yaml", "--function-credentials", "x.yaml"),
  "render --context-files": {
    ...renderWith("xr.yaml", "c.yaml", "c.yaml", "--context-files", "k=x.yaml"),
    isFolderFine: false,
  },
  "function call --request": {
    args: ["function", "call", "--target", "localhost:1", "--insecure", "--request", "x.yaml"],
    file: "x.yaml",
  },
  "function call --xr": {
    args: ["function", "call", "--target", "localhost:1", "--insecure", "--xr", "x.yaml"],
    file: "x.yaml",
    isFolderFine: true,
  },
  "get --kubeconfig": { args: ["get", "pods", "--kubeconfig", "x.yaml"], file: "x.yaml" },
  "purlin.yaml": { args: ["get", "pods"], file: "purlin.yaml" },
  "xpkg inspect": { args: ["xpkg", "inspect", "x.xpkg"], file: "x.xpkg", isBinary: true },
  "xpkg push": { args: ["xpkg", "push", "localhost:1/a:v1", "-f", "x.xpkg"], file: "x.xpkg", isBinary: true },
  "xpkg build": {
    args: ["xpkg", "build"],
    file: "x.yaml",
    beside: { "crossplane.yaml": packageMeta },
    isFolderFine: true,
    saysOfText:
      /^error: (x\.yaml:\d+: .*: correct it, or leave a file out with --ignore|cannot read the file x\.yaml: )/,
  },
  "xpkg build of examples": {
    args: ["xpkg", "build"],
    file: "examples/x.yaml",
    beside: { "crossplane.yaml": packageMeta },
    isFolderFine: true,
  },
  "xpkg build --function": {
    args: ["xpkg", "build", "--function", "x.ts"],
    file: "x.ts",
    beside: { "crossplane.yaml": packageMeta.replace("Configuration", "Function") },
    isBinary: true,
  },
  "xpkg build --provider": {
    args: ["xpkg", "build", "--provider", "x.ts"],
    file: "x.ts",
    beside: { "crossplane.yaml": packageMeta.replace("Configuration", "Provider") },
    isBinary: true,
  },
  "xpkg build of package.json": {
    args: ["xpkg", "build"],
    file: "package.json",
    beside: { "crossplane.yaml": packageMeta.replace("Configuration", "Function") },
    isBinary: true,
    isBrokenLinkFine: true,
    isFolderFine: true,
  },
  "function run": { args: ["function", "run", "x.ts", "--insecure"], file: "x.ts", isBinary: true },
  "validate FILE": { args: ["validate", "x.yaml"], file: "x.yaml", isFolderFine: true },
  "validate --old": {
    args: ["validate", "c.yaml", "--old", "x.yaml"],
    file: "x.yaml",
    beside: { "c.yaml": composition },
    isFolderFine: true,
  },
  "resource validate": {
    args: ["resource", "validate", "c.yaml", "x.yaml"],
    file: "x.yaml",
    beside: { "c.yaml": composition },
    isFolderFine: true,
  },
  "types FILE": { args: ["types", "x.yaml"], file: "x.yaml", isFolderFine: true },
  "schemas FILE": { args: ["schemas", "x.yaml"], file: "x.yaml", isFolderFine: true },
  "diff FILE": { args: ["diff", "x.yaml"], file: "x.yaml", isFolderFine: true },
  "diff --ignore-file": { args: ["diff", "--ignore-file", "x.txt"], file: "x.txt", isBinary: true },
  "diff --assume": {
    args: ["diff", "c.yaml", "--assume", "x.yaml"],
    file: "x.yaml",
    beside: { "c.yaml": composition },
  },
  "diff --function": { args: ["diff", "--function", "f=./x.ts"], file: "x.ts", isBinary: true, isSizeFine: true },
  "diff --function package": {
    args: ["diff", "--function", "f=./x.xpkg"],
    file: "x.xpkg",
    isBinary: true,
    isSizeFine: true,
  },
  "test FILE": { args: ["test", "x.test.yaml"], file: "x.test.yaml", isFolderFine: true },
  "test of xprin": { args: ["test", "x_xprin.yaml"], file: "x_xprin.yaml", isFolderFine: true },
  "runs import": { args: ["runs", "import", "x.jsonl", "--recorder-dir", "d"], file: "x.jsonl", isBinary: true },
  "runs ls --recorder-dir": {
    args: ["runs", "ls", "--recorder-dir", "."],
    file: "runs.db",
    isBinary: true,
    isSizeFine: true,
  },
  restore: { args: ["restore", "x.tar.gz", "--data-dir", "data"], file: "x.tar.gz", isBinary: true, isSizeFine: true },
  "apiserver --audit-policy-file": {
    args: ["apiserver", "--data-dir", "data", "--audit-policy-file", "x.yaml"],
    file: "x.yaml",
  },
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

for (const [command, reader] of Object.entries(readers)) {
  for (const [what, { make, says, isOfAnyKind }] of Object.entries(hostileFiles)) {
    if (reader.isBinary && !isOfAnyKind) continue;
    if (what === "a folder" && reader.isFolderFine) continue;
    if (/circle|itself/.test(what) && reader.isBrokenLinkFine) continue;
    // Its own reader says so before anything is read.
    if (command === "function run" && /circle|itself|8 GiB/.test(what)) continue;
    test(`${command}: ${what}`, async () => {
      const cwd = freshFolder(reader.beside);
      mkdirSync(join(cwd, dirname(reader.file)), { recursive: true });
      await make(join(cwd, reader.file));
      const { exitCode, stdout, stderr } = await runInProcess(reader.args, { cwd, env: { HOME: cwd } });
      assert.notEqual(exitCode, 0, stdout);
      const lines = stderr.trimEnd().split("\n");
      assert.equal(lines.length, 1, stderr.slice(0, 2000));
      assert.match(stderr, /^error: /);
      const isLinkOut = /^(apply FOLDER|up FOLDER|xpkg build|xpkg build of examples)$/.test(command);
      const linkOut = isLinkOut ? "|is a symbolic link to .*, outside " : "";
      if (reader.isSizeFine && /8 GiB/.test(what)) return;
      const saysSo = isOfAnyKind ? says : (reader.saysOfText ?? says);
      assert.match(stderr, isRun(command) ? /not a regular file/ : new RegExp(`${saysSo.source}${linkOut}`));
      assert.ok(stderr.includes(reader.file.split("/").at(-1) ?? ""), stderr);
      assert.ok(stderr.length < 1000, `${stderr.length} characters`);
      assert.doesNotMatch(stderr.trimEnd(), control);
    });
  }
}

function isRun(command: string): boolean {
  return command === "function run";
}

for (const args of [
  ["xpkg", "inspect", "x.xpkg"],
  ["xpkg", "push", "localhost:1/a:v1", "-f", "x.xpkg"],
]) {
  test(`${args.slice(0, 2).join(" ")}: a file that grows is read as far as it was when it was opened`, async () => {
    const cwd = freshFolder();
    const file = join(cwd, "x.xpkg");
    // Blocks of zeros end an archive; what follows them is not looked at, and never ends.
    writeFileSync(file, Buffer.alloc(1024));
    const growing = setInterval(() => appendFileSync(file, Buffer.alloc(1 << 20)), 1);
    try {
      const { exitCode, stderr } = await runInProcess(args, { cwd, env: { HOME: cwd } });
      assert.deepEqual([exitCode, stderr.trimEnd().split("\n").length], [1, 1], stderr);
      assert.match(stderr, /^error: x\.xpkg is not a package file: /);
    } finally {
      clearInterval(growing);
    }
  });

  test(`${args.slice(0, 2).join(" ")}: a file that says it is empty, and is not`, async () => {
    const cwd = freshFolder();
    symlinkSync("/proc/self/status", join(cwd, "x.xpkg"));
    const { stderr } = await runInProcess(args, { cwd, env: { HOME: cwd } });
    assert.match(stderr, /^error: x\.xpkg is not a package file: /);
  });
}

test("a link out of a folder of manifests is refused, one inside is followed, and a file that is named may be a link", async () => {
  const cwd = freshFolder({ "outside.yaml": xr });
  mkdirSync(join(cwd, "in/data"), { recursive: true });
  writeFileSync(join(cwd, "in/data/real.txt"), "apiVersion: v1\nkind: 3\n");
  symlinkSync("../outside.yaml", join(cwd, "in/a.yaml"));
  const { stderr } = await runInProcess(["apply", "in"], { cwd });
  assert.match(
    stderr,
    /^error: cannot read in\/a\.yaml: it is a symbolic link to .*outside\.yaml, outside in: copy the file, or specify it/,
  );
  rmSync(join(cwd, "in/a.yaml"));
  symlinkSync("data/real.txt", join(cwd, "in/a.yaml"));
  assert.match((await runInProcess(["apply", "in"], { cwd })).stderr, /^error: in\/a\.yaml:2:1: kind/);
  symlinkSync("in/data/real.txt", join(cwd, "named.yaml"));
  assert.match((await runInProcess(["apply", "named.yaml"], { cwd })).stderr, /^error: named\.yaml:2:1: kind/);
});

const names = ["a\nerror: b.yaml", "a\u001b[2J.yaml", "a\u202eb.yaml", "a\u009b31m.yaml", "\u0007.yaml", "-.yaml"];
for (const name of names) {
  test(`a file called ${JSON.stringify(name)} is named without effect on the terminal`, async () => {
    const file = name.endsWith(".yaml") ? name : `${name}.yaml`;
    const cwd = freshFolder({ [file]: "kind: 3\napiVersion: v1\n" });
    const { stderr, exitCode } = await runInProcess(["apply", "."], { cwd });
    assert.equal(exitCode, 1);
    assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    assert.doesNotMatch(stderr.trimEnd(), control);
    assert.doesNotMatch(stderr, /\u202e/);
  });
}

test("standard input without end is refused", async () => {
  const { stderr, exitCode } = await runInProcess(["apply", "-"], { stdin: "#".repeat(33 * 1024 * 1024) });
  assert.equal(exitCode, 1);
  assert.match(stderr, /^error: cannot read standard input: it has more; the limit is 32 MiB/);
});

test("what a shell passes for <(command) is read", () => {
  const cwd = freshFolder();
  const purlin = join(import.meta.dirname, "../../../packages/cli/bin/purlin.js");
  const script = `"$0" "$1" apply -f <(printf 'kind: 3\\napiVersion: v1\\n')`;
  const { stderr, status } = spawnSync("bash", ["-c", script, process.execPath, purlin], { cwd, encoding: "utf8" });
  assert.equal(status, 1);
  assert.match(stderr, /^error: \/dev\/fd\/\d+:1:1: kind: must be a string/);
});

test("a file of 60 million line breaks is imported in little memory", () => {
  const cwd = freshFolder({ "x.jsonl": "\n".repeat(60_000_000) });
  const purlin = join(import.meta.dirname, "../../../packages/cli/bin/purlin.js");
  const args = ["--max-old-space-size=256", purlin, "runs", "import", "x.jsonl", "--recorder-dir", "d"];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  assert.deepEqual([status, stdout], [0, "0 runs recorded\n"], stderr.slice(0, 500));
});

test("another user's files are not read, and the line says why", () => {
  assert.equal(process.getuid?.(), 0, "only root can become another user: run this test as root");
  const cwd = freshFolder({ "x.yaml": xr });
  chmodSync(join(cwd, "x.yaml"), 0o600);
  chmodSync(root, 0o755);
  chmodSync(cwd, 0o755);
  const purlin = join(import.meta.dirname, "../../../packages/cli/bin/purlin.js");
  const as = ["--reuid", "23457", "--regid", "23457", "--clear-groups", process.execPath, purlin, "apply", "x.yaml"];
  const { stderr, status } = spawnSync("setpriv", as, { cwd, encoding: "utf8", env: { HOME: cwd } });
  assert.equal(status, 1);
  assert.equal(stderr, "error: cannot read the file x.yaml: permission denied: check the file's permissions\n");
});
