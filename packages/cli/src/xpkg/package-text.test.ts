// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { packageMeta } from "../../test/function-folder.ts";
import { TestIo } from "../../test/test-io.ts";
import { joinYaml, packageText, readYamlFolder } from "./package-text.ts";

test("the YAML files of a folder are read in an order that is the same everywhere", async () => {
  using folder = tempFolder({
    ...{
      "package/b.yml": "b: 1\n",
      "package/a.yaml": "a: 1\n",
      "package/deep/er/c.yaml": "c: 1\n",
      "package/A.yaml": "A: 1\n",
    },
    ...{
      "package/notes.md": "x",
      "package/empty.yaml": " \n",
      "package/.git/x.yaml": "x: 1\n",
      "package/node_modules/y.yaml": "y: 1\n",
    },
  });
  // Another name of the same file.
  symlinkSync(join(folder.path, "package/a.yaml"), join(folder.path, "package/link.yaml"));
  const io = new TestIo({ cwd: folder.path });
  const names = async (options = {}): Promise<string[]> =>
    (await readYamlFolder("package", io, options)).map(({ name }) => name);
  assert.deepEqual(await names(), ["package/A.yaml", "package/a.yaml", "package/b.yml", "package/deep/er/c.yaml"]);
  assert.deepEqual(await names({ ignore: ["deep/**", "a.yaml"] }), ["package/A.yaml", "package/b.yml"]);
  assert.deepEqual(await names({ except: new Set([join(folder.path, "package/deep")]) }), [
    "package/A.yaml",
    "package/a.yaml",
    "package/b.yml",
  ]);
});

test("a link is followed within the folder, and refused where it leads out of it", async () => {
  using folder = tempFolder({ "package/data/real.txt": "a: 1\n", "outside.yaml": "b: 1\n" });
  const io = new TestIo({ cwd: folder.path });
  symlinkSync("data/real.txt", join(folder.path, "package/a.yaml"));
  assert.deepEqual(await readYamlFolder("package", io), [{ name: "package/a.yaml", text: "a: 1\n" }]);
  symlinkSync("../outside.yaml", join(folder.path, "package/b.yaml"));
  const says =
    /^cannot read package\/b\.yaml: it is a symbolic link to .*\/outside\.yaml, outside package: copy the file, or /;
  await assert.rejects(readYamlFolder("package", io), { message: says });
  await assert.rejects(readYamlFolder("package", io, { ignore: ["a.yaml"] }), {
    message: /leave it out with --ignore$/,
  });
  assert.deepEqual(
    (await readYamlFolder("package", io, { ignore: ["b.yaml"] })).map(({ name }) => name),
    ["package/a.yaml"],
  );
});

test("lock files of editors, which link to nothing, are left out, and other broken links are named", async () => {
  using folder = tempFolder({ "package/a.yaml": "a: 1\n", "package/deep/b.yaml": "b: 1\n" });
  const io = new TestIo({ cwd: folder.path });
  for (const name of [".#a.yaml", "deep/.#b.yaml"]) symlinkSync("user@host.4711", join(folder.path, "package", name));
  const names = (await readYamlFolder("package", io)).map(({ name }) => name);
  assert.deepEqual(names, ["package/a.yaml", "package/deep/b.yaml"]);
  symlinkSync("gone.yaml", join(folder.path, "package/link.yaml"));
  await assert.rejects(readYamlFolder("package", io), { message: /package\/link\.yaml: no such file/ });
});

test("what is ignored may be listed in braces, and a pattern that is not supported is an error of the option", async () => {
  using folder = tempFolder({ "package/a.yaml": "a: 1\n", "package/b.yml": "b: 1\n", "package/test/c.yaml": "c: 1\n" });
  const io = new TestIo({ cwd: folder.path });
  const names = async (...ignore: string[]): Promise<string[]> =>
    (await readYamlFolder("package", io, { ignore })).map(({ name }) => name);
  assert.deepEqual(await names("*.{yaml,yml}"), ["package/test/c.yaml"]);
  assert.deepEqual(await names("{examples,test}/**", "b*"), ["package/a.yaml"]);
  await assert.rejects(names("+(a|b).yaml"), {
    exitCode: 2,
    message: '--ignore "+(a|b).yaml": +(…) is not supported: write {a,b}, or \\( for a parenthesis',
  });
});

test("a folder that is a file, or is missing, is an error with its name", async () => {
  using folder = tempFolder({ "a.yaml": "" });
  const io = new TestIo({ cwd: folder.path });
  await assert.rejects(readYamlFolder("a.yaml", io), { message: "a.yaml: expected a folder" });
  await assert.rejects(readYamlFolder("none", io), { message: /^cannot read none: / });
});

test("files are one stream, of which each line is known by its file", () => {
  const { text, place } = joinYaml(
    [
      { name: "a.yaml", text: "\uFEFFa: 1\nb: 2" },
      { name: "b.yaml", text: "c: 3\n" },
    ],
    "package",
  );
  assert.equal(text, "---\na: 1\nb: 2\n---\nc: 3\n");
  assert.deepEqual([1, 2, 3, 4, 5].map(place), ["a.yaml:1", "a.yaml:1", "a.yaml:2", "b.yaml:1", "b.yaml:1"]);
  assert.equal(place(undefined), "package");
  assert.equal(joinYaml([], "package").place(1), "package");
});

test("a package needs files, metadata, and nothing that does not belong in it", async () => {
  const meta = { name: "package/crossplane.yaml", text: packageMeta() };
  const { contents, text } = await packageText([meta], "package");
  assert.deepEqual([contents.meta.name, contents.meta.kind], ["function-hello", "Function"]);
  assert.ok(text.startsWith("---\napiVersion: meta.pkg.crossplane.io/v1\n"));
  await assert.rejects(packageText([], "package"), {
    message:
      "package: no files ending in .yaml or .yml found: a package needs crossplane.yaml, with apiVersion meta.pkg.crossplane.io/v1, kind and metadata.name",
  });
  const pod = { name: "package/pod.yaml", text: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n" };
  await assert.rejects(packageText([meta, pod], "package"), {
    message:
      /^package\/pod\.yaml:1.*: (move it elsewhere, or leave it out|correct it, or leave a file out) with --ignore$/,
  });
  const broken = { name: "package/broken.yaml", text: "a: 1\nb: [\n" };
  await assert.rejects(packageText([meta, broken], "package"), {
    message: /^package\/broken\.yaml:\d.*: correct it, or leave a file out with --ignore$/s,
  });
});
