// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { testCase } from "../../test/case-state.ts";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { Goldens, obsoleteGoldens, type UpdateMode } from "./goldens.ts";
import type { TestCase } from "./test-file.ts";

const naming = (file: string, golden: string): TestCase =>
  testCase({ file, name: golden, reconciles: [{ name: "1", change: {}, until: 1, expect: { golden } }] });

test("golden files that no case names are found, in folders of golden files whose tests were all read", async () => {
  using folder = tempFolder({
    "a/golden/used.yaml": "",
    "a/golden/old.yaml": "",
    "a/golden/notes.md": "",
    "b/golden/used.yaml": "",
    "b/golden/old.yaml": "",
    "a/xr.yaml": "",
  });
  const cases = [naming("a/x.test.yaml", "golden/used.yaml"), naming("a/x.test.yaml", "beside.yaml")];
  const others = [naming("b/x.test.yaml", "golden/used.yaml")];
  const io = new TestIo({ cwd: folder.path });
  const a = [join(folder.path, "a")];
  assert.deepEqual(await obsoleteGoldens([...cases, ...others], a, io), ["a/golden/old.yaml"]);
  assert.deepEqual(await obsoleteGoldens([...cases, ...others], [folder.path], io), [
    "a/golden/old.yaml",
    "b/golden/old.yaml",
  ]);
  assert.deepEqual(await obsoleteGoldens(cases, [], io), [], "a single file was named: others may use the folder");
});

test("a report that cannot be written is one line with its path, and leaves no other file", async () => {
  const suite =
    "apiVersion: test.purlin.dev/v1alpha1\nkind: CompositionTest\nspec: {inputs: {}, cases: [{name: a, skip: later}]}\n";
  using folder = tempFolder({ "x.test.yaml": suite, "folder/a.txt": "" });
  for (const [path, why] of [
    ["none/report.xml", "its folder does not exist: create it"],
    ["folder", "it is a folder: specify a file in it"],
    ["folder/a.txt/report.xml", "a part of the path is a file, not a folder: check the path"],
  ]) {
    const { exitCode, stderr } = await runInProcess(["test", "--junit", String(path)], { cwd: folder.path, env: {} });
    assert.deepEqual([exitCode, stderr], [2, `error: cannot write ${path}: ${why}\n`]);
  }
  assert.deepEqual(readdirSync(folder.path).toSorted(), ["folder", "x.test.yaml"]);
});

test("obsolete golden files are reported, fail in CI and are removed with --update all", async () => {
  using folder = tempFolder({
    "golden/old.yaml": "a: 1\n",
    "x.test.yaml": `apiVersion: test.purlin.dev/v1alpha1
kind: CompositionTest
spec:
  inputs: {}
  cases: [{name: a, skip: nothing to run, expect: {golden: golden/used.yaml}}]
`,
  });
  const purlin = async (env: Record<string, string>, ...args: string[]) => {
    const { exitCode, stderr } = await runInProcess(["test", ...args], { cwd: folder.path, env });
    return [exitCode, stderr];
  };
  const line = "no case names golden/old.yaml: remove it, or run with --update all\n";
  assert.deepEqual(await purlin({}), [0, line]);
  assert.deepEqual(await purlin({ CI: "true" }), [1, line]);
  assert.deepEqual(await purlin({}, "--update", "all"), [0, "removed golden/old.yaml\n"]);
  assert.equal(existsSync(join(folder.path, "golden/old.yaml")), false);
});

test("golden files of composed composite resources, of expectations that must not hold and of xprin are in use", async () => {
  using folder = tempFolder(Object.fromEntries(["a", "b", "c", "d", "old"].map((name) => [`golden/${name}.yaml`, ""])));
  const expect = {
    golden: "golden/a.yaml",
    nested: { db: { golden: "golden/b.yaml" }, other: {} },
    not: { golden: "golden/c.yaml" },
  };
  const xprin = {
    xprin: [
      { type: "Golden", expected: "golden/d.yaml" },
      { type: "Count", expected: "golden/old.yaml" },
    ],
  };
  const cases = [testCase({ expect }), testCase({ file: "xprin.yaml", expect: xprin })];
  const io = new TestIo({ cwd: folder.path });
  assert.deepEqual(await obsoleteGoldens(cases, [folder.path], io), ["golden/old.yaml"]);
});

test("a golden file is compared and written as the mode says", async () => {
  using folder = tempFolder({ "tests/golden/same.yaml": "a: 1\n", "tests/golden/other.yaml": "a: 2\n" });
  const io = new TestIo({ cwd: folder.path });
  const one = testCase({ file: "tests/app.test.yaml" });
  const compared = async (mode: UpdateMode, name: string): Promise<unknown[]> => {
    const goldens = new Goldens(mode, io);
    return [await goldens.compare(`golden/${name}.yaml`, "a: 1\n", one), goldens.written];
  };
  const differs = [
    "golden: tests/golden/other.yaml differs: accept the change with --update all",
    ...["  line 1:", "  - a: 2", "  + a: 1"],
  ];
  for (const mode of ["none", "new", "all"] as const) assert.deepEqual(await compared(mode, "same"), [[], []]);
  for (const mode of ["none", "new"] as const) assert.deepEqual(await compared(mode, "other"), [differs, []]);
  assert.deepEqual(await compared("none", "missing"), [
    ["golden: tests/golden/missing.yaml does not exist: write it with --update new"],
    [],
  ]);
  assert.deepEqual(await compared("new", "missing"), [[], ["tests/golden/missing.yaml"]]);
  assert.deepEqual(await compared("all", "other"), [[], ["tests/golden/other.yaml"]]);
  assert.equal(readFileSync(join(folder.path, "tests/golden/other.yaml"), "utf8"), "a: 1\n");
});

test("only the lines that differ are shown, at most twenty", async () => {
  const numbered = (count: number): string => Array.from({ length: count }, (_, at) => `n${at}\n`).join("");
  using folder = tempFolder({ "g.yaml": "a\nb\nc\nd\n", "long.yaml": numbered(30) });
  const goldens = new Goldens("none", new TestIo({ cwd: folder.path }));
  const shown = async (file: string, text: string): Promise<string[]> =>
    (await goldens.compare(file, text, testCase())).slice(1);
  assert.deepEqual(await shown("g.yaml", "a\nB\nc\nd\n"), ["  line 2:", "  - b", "  + B"]);
  assert.deepEqual(await shown("g.yaml", "a\nb\nb2\nc\nd\n"), ["  line 3:", "  + b2"]);
  assert.deepEqual(await shown("g.yaml", "a\nd\n"), ["  line 2:", "  - b", "  - c"]);
  assert.deepEqual(await shown("g.yaml", "a\nb\nc\nd\nd\n"), ["  line 5:", "  + d"]);
  const many = await shown("long.yaml", "");
  assert.deepEqual([many.length, many.at(-1)], [21, "  - n19"]);
});
