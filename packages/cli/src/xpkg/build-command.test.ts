// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { functionPackage, packageMeta } from "../../test/function-folder.ts";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import type { Inspected } from "./inspect-command.ts";

const crd =
  "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: inputs.example.org}\n";
const xrd =
  "apiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: x.e.org}\n";

const xpkg = (folder: TempFolder, ...args: string[]): Promise<Outcome> =>
  runInProcess(["xpkg", ...args], { cwd: folder.path });

async function inspect(folder: TempFolder, file: string): Promise<Inspected> {
  const { stdout, stderr } = await xpkg(folder, "inspect", file, "-o", "json");
  assert.equal(stderr, "");
  return JSON.parse(stdout) as Inspected;
}

test("a function project needs no option, and says what to do next", async () => {
  using project = functionPackage({ "package/input.yaml": crd });
  const { exitCode, stdout, stderr } = await xpkg(project, "build");
  assert.deepEqual([exitCode, stderr], [0, ""]);
  const [file = ""] = readdirSync(project.path).filter((name) => name.endsWith(".xpkg"));
  assert.match(file, /^function-hello-[0-9a-f]{12}\.xpkg$/);
  assert.match(stdout, new RegExp(`^Built ${file}\\n {2}package +Function function-hello\\n {2}digest +sha256:`));
  assert.match(
    stdout,
    /objects +1 CustomResourceDefinition\n {2}examples +none\n {2}runs +src\/function\.ts, bundled; runs on Purlin's own/,
  );
  assert.ok(stdout.endsWith(`Next:\n  purlin xpkg push -f ${file} <registry>/<repository>:<tag>\n`));
  const found = await inspect(project, file);
  assert.ok(found.digest.startsWith(`sha256:${file.slice("function-hello-".length, -".xpkg".length)}`));
  assert.deepEqual([found.platforms, found.runtime, found.process.user], [["linux/amd64"], "node", "2000"]);
  assert.deepEqual(found.process.entrypoint, ["node", "--enable-source-maps", "/function/main.mjs"]);
  assert.deepEqual(
    found.layers.map(({ xpkg: mark }) => mark),
    [undefined, "base"],
    "the package comes last",
  );
});

test("the same sources give the same bytes, in any folder and under any path", async () => {
  const files = { "package/b/input.yaml": crd, "package/c.yml": "", "examples/one.yaml": "a: b\n" };
  using one = functionPackage(files);
  using two = functionPackage(files);
  await xpkg(one, "build", "-o", "x.xpkg");
  await xpkg(two, "build", "-f", join(two.path, "package"), "--function", "./src/function.ts", "-o", "x.xpkg");
  assert.ok(readFileSync(join(one.path, "x.xpkg")).equals(readFileSync(join(two.path, "x.xpkg"))));
});

test("the same bytes come from any current folder, and examples are those of the project", async () => {
  const files = { "package/input.yaml": crd, "examples/one.yaml": "a: b\n", "examples/two.yml": "c: d\n" };
  using project = functionPackage(files);
  using elsewhere = tempFolder({ "examples/other.yaml": "not: of the package\n" });
  const built = async (cwd: string, ...args: string[]): Promise<Buffer> => {
    const output = join(project.path, "..", `${Math.random()}.xpkg`);
    const { exitCode, stdout, stderr } = await runInProcess(["xpkg", "build", ...args, "-o", output], { cwd });
    assert.deepEqual([exitCode, stderr], [0, ""]);
    assert.match(stdout, /examples +2 files of .*examples\n/);
    const bytes = readFileSync(output);
    rmSync(output);
    return bytes;
  };
  const here = await built(project.path);
  assert.ok(here.equals(await built(elsewhere.path, "-f", join(project.path, "package"))));
  assert.ok(here.equals(await built(join(project.path, "package"), "-f", ".")));
  assert.ok(here.equals(await built(join(project.path, "src"), "-f", "../package", "--function", "function.ts")));
});

test("a folder called package.json is not a project", async () => {
  using project = functionPackage({ "package/package.json/readme": "", "package/input.yaml": crd });
  const { exitCode, stdout, stderr } = await xpkg(project, "build");
  assert.deepEqual([exitCode, stderr], [0, ""]);
  assert.match(stdout, /runs +src\/function\.ts, bundled/);
});

test("a configuration is made of the whole folder, without hidden folders, links to folders and what is ignored", async () => {
  using folder = tempFolder({
    "crossplane.yaml": `# what it is\n${packageMeta("platform", "Configuration")}`,
    "apis/xrd.yaml": `---\n${xrd}---\n`,
    "apis/draft.yaml": "kind: [",
    ".github/ci.yaml": "on: push\n",
    "node_modules/x/y.yaml": "a: b\n",
    "examples/claim.yaml": "kind: Claim\n",
    "others/crd.txt": crd,
    "notes.yaml": "# nothing\n\n",
  });
  symlinkSync("others", join(folder.path, "link"));
  const { exitCode, stderr } = await xpkg(folder, "build", "-o", "p.xpkg", "--ignore", "apis/dr*");
  assert.deepEqual([exitCode, stderr], [0, ""]);
  const found = await inspect(folder, "p.xpkg");
  assert.deepEqual(found.objects, [
    { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition", name: "x.e.org" },
  ]);
  assert.deepEqual(
    found.layers.map(({ xpkg: mark }) => mark),
    ["upbound", "base"],
    "the folder examples is taken, as examples",
  );
});

test("a folder is a root, on a folder, and reproducible while its times are", async () => {
  using folder = tempFolder({
    "package/crossplane.yaml": packageMeta(),
    "root/bin/function": "#!/bin/sh\n",
    "below/usr/bin/tool": "#!/bin/sh\n",
    "root/data.yaml": "not: an object of a package\n",
  });
  chmodSync(join(folder.path, "root/bin/function"), 0o755);
  for (const path of ["root/bin", "root/bin/function", "root/data.yaml"]) utimesSync(join(folder.path, path), 9, 9);
  const args = ["build", "--root", "root", "--base", "below", "--platform", "linux/arm64"];
  const entry = ["--entrypoint", '["/bin/function", "a b"]'];
  for (const file of ["a.xpkg", "b.xpkg"]) {
    const { exitCode, stderr } = await xpkg(folder, ...args, ...entry, "-o", file);
    assert.deepEqual([exitCode, stderr], [0, ""]);
  }
  assert.ok(readFileSync(join(folder.path, "a.xpkg")).equals(readFileSync(join(folder.path, "b.xpkg"))));
  const found = await inspect(folder, "a.xpkg");
  assert.deepEqual(found.process.entrypoint, ["/bin/function", "a b"]);
  assert.deepEqual([found.platforms, found.runtime, found.layers.length], [["linux/arm64"], undefined, 3]);
});

test("a function without a runtime is built, with a warning", async () => {
  using folder = tempFolder({ "crossplane.yaml": packageMeta() });
  const { exitCode, stderr } = await xpkg(folder, "build");
  assert.equal(exitCode, 0);
  assert.equal(stderr, "warning: this Function has no runtime: add --function, or --root and --entrypoint\n");
});

const meta = packageMeta();
const refused: Record<
  string,
  { readonly files: Record<string, string>; readonly args?: string[]; readonly code?: number; readonly says: RegExp }
> = {
  NoFolder: { files: {}, args: ["-f", "nope"], says: /^error: cannot read nope: no such file/ },
  NoYaml: {
    files: { "a.txt": "" },
    says: /no files ending in \.yaml or \.yml found: a package needs crossplane\.yaml/,
  },
  NoMeta: { files: { "a.yaml": crd }, says: /expected exactly one object of meta\.pkg\.crossplane\.io .*, found 0/ },
  TwoMetas: { files: { "a.yaml": meta, "b.yaml": `# b\n---\n${meta}` }, says: /found 2: a\.yaml:1, b\.yaml:2/ },
  NotAllowed: {
    files: { "a.yaml": meta, "apis/x.yaml": `${crd}---\n${xrd}` },
    says: /^error: apis\/x\.yaml:4: CompositeResourceDefinition does not belong in a Function package: move it/,
  },
  UnknownKind: {
    files: { "a.yaml": `${meta}---\n${crd}`, "b.yaml": "apiVersion: v1\nkind: ConfigMap\n" },
    says: /^error: b\.yaml:1: a package cannot hold ConfigMap of v1: correct it, or leave a file out with --ignore\n/,
  },
  BadYaml: { files: { "a.yaml": meta, "b.yaml": "a: b\nc: [\n" }, says: /^error: b\.yaml:\d: invalid YAML: / },
  BadConstraint: {
    files: { "a.yaml": `${meta}spec: {crossplane: {version: newest}}\n` },
    says: /^error: a\.yaml:1: spec\.crossplane\.version: /,
  },
  BadExamples: {
    files: { "a.yaml": meta, "e/x.yaml": "[" },
    args: ["-e", "e"],
    says: /^error: e\/x\.yaml:.*invalid/,
  },
  NoExamples: { files: { "a.yaml": meta }, args: ["-e", "e"], says: /^error: cannot read e: / },
  NoFunction: {
    files: { "a.yaml": meta },
    args: ["--function", "f.ts"],
    says: /^error: f\.ts: no such file\n/,
  },
  BrokenFunction: {
    files: { "a.yaml": meta, "f.ts": "export default (" },
    args: ["--function", "f.ts"],
    says: /^error: f\.ts cannot be bundled: f\.ts:1:17: /,
  },
  MissingMain: {
    files: { "a.yaml": meta, "package.json": '{"main": "x.ts"}' },
    says: /^error: package\.json: x\.ts does not exist: correct it, or specify the file with --function\n/,
  },
  FunctionAndRoot: {
    files: { "a.yaml": meta },
    args: ["--function", "f.ts", "--root", "r"],
    code: 2,
    says: /are mutually exclusive/,
  },
  RootNoEntry: { files: { "a.yaml": meta, "r/x": "" }, args: ["--root", "r"], says: /no entrypoint: add --entrypoint/ },
  EntryMissing: {
    files: { "a.yaml": meta, "r/x": "" },
    args: ["--root", "r", "--entrypoint", "fn"],
    says: /^error: r: fn not found: /,
  },
  EntryNotExecutable: {
    files: { "a.yaml": meta, "r/x": "" },
    args: ["--root", "r", "--entrypoint", "/x"],
    says: /^error: r\/x is not executable: run "chmod \+x" on it\n/,
  },
  EntryAlone: { files: { "a.yaml": meta }, args: ["--entrypoint", "/x"], code: 2, says: /add --root or --base/ },
  BadEntry: { files: { "a.yaml": meta }, args: ["--entrypoint", "[1]"], code: 2, says: /a JSON list of its words/ },
  NoRoot: {
    files: { "a.yaml": meta },
    args: ["--root", "r", "--entrypoint", "/x"],
    says: /^error: --root r: no such file/,
  },
  NoBase: { files: { "a.yaml": meta }, args: ["--base", "b"], says: /^error: --base: there is no folder of this name/ },
  BadPlatform: { files: { "a.yaml": meta }, args: ["--platform", "linux"], code: 2, says: /expected <os>\/<arch/ },
  RunningConfiguration: {
    files: { "a.yaml": packageMeta("p", "Configuration") },
    args: ["--root", "r"],
    code: 2,
    says: /^error: --root: a Configuration has no runtime: remove the option\n/,
  },
  FunctionProvider: {
    files: { "a.yaml": packageMeta("p", "Provider") },
    args: ["--function", "f.ts"],
    code: 2,
    says: /package it with --provider or --root/,
  },
  NoOutputFolder: {
    files: { "a.yaml": meta },
    args: ["-o", "no/x.xpkg"],
    says: /cannot write no\/x\.xpkg: its folder does not exist: create it/,
  },
};
for (const [name, { files, args = [], code = 1, says }] of Object.entries(refused)) {
  test(`refused in one line, and nothing is written: ${name}`, async () => {
    using folder = tempFolder(files);
    const { exitCode, stdout, stderr } = await xpkg(folder, "build", ...args);
    assert.match(stderr, says);
    assert.deepEqual([exitCode, stdout, stderr.split("\n").length], [code, "", 2]);
    assert.deepEqual(
      readdirSync(folder.path).filter((file) => file.includes(".xpkg")),
      [],
    );
  });
}

/** A Provider on a stand-in for the kit, which prints its CRDs. */
function providerProject(program: string, capabilities = "[safe-start]"): TempFolder {
  return tempFolder({
    "package/crossplane.yaml": `${packageMeta("provider-files", "Provider")}spec: {capabilities: ${capabilities}}\n`,
    "package.json": '{"type": "module"}',
    "src/main.ts": program,
  });
}

test("a Provider project needs no option: its program is bundled and prints its CRDs", async () => {
  const made = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "a.e.org" },
  };
  const program = `if (process.argv.includes("--print-crds")) console.log(${JSON.stringify(JSON.stringify([made]))});\n`;
  using project = providerProject(program);
  const { exitCode, stdout, stderr } = await xpkg(project, "build", "-o", "x.xpkg");
  assert.deepEqual([exitCode, stderr], [0, ""]);
  assert.match(
    stdout,
    /objects +1 CustomResourceDefinition\n.*\n {2}runs +src\/main\.ts, bundled; runs on Purlin's own Node/,
  );
  const found = await inspect(project, "x.xpkg");
  assert.deepEqual([found.runtime, found.process.entrypoint.at(-1)], ["node", "/function/main.mjs"]);
  project.write("package/crd.yaml", crd.replace("inputs.example.org", "a.e.org"));
  const again = await xpkg(project, "build", "-o", "y.xpkg", "--provider", "src/main.ts");
  assert.match(again.stdout, /objects +1 CustomResourceDefinition\n/, "a CRD of the folder is not added twice");
});

test("a program that does not print CRDs, and a Provider that may not read them, are reported", async () => {
  using silent = providerProject("export {};\n");
  const { exitCode, stderr } = await xpkg(silent, "build");
  assert.equal(exitCode, 1);
  assert.match(
    stderr,
    /^error: src\/main\.ts --print-crds failed: .*: call runProvider of @purlin\/provider-sdk in the program/,
  );
  using unsafe = providerProject('console.log("[]");\n', "[]");
  const { stderr: warning } = await xpkg(unsafe, "build", "-o", "x.xpkg");
  assert.match(
    warning,
    /^warning: crossplane\.yaml: add "safe-start" to spec\.capabilities: without it the provider may not read CRDs/,
  );
  using fn = functionPackage();
  const refused = await xpkg(fn, "build", "--provider", "src/function.ts");
  assert.deepEqual(
    [refused.exitCode, refused.stderr],
    [2, "error: --provider: this package is a Function: package it with --function or --root\n"],
  );
});
