// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { runInProcess, TestIo } from "../testing/test-io.ts";
import { obsoleteGoldens } from "./goldens.ts";
import type { TestCase } from "./test-file.ts";

const naming = (file: string, golden: string): TestCase => ({
  ...{ file, suite: "s", name: golden, tags: [], skip: undefined, isOnly: false, timeoutMs: undefined, inputs: {} },
  ...{ kind: "CompositionTest", patches: [], locate: () => "", at: file },
  reconciles: [{ name: "1", change: {}, until: 1, expect: { golden } }],
  expect: undefined,
});

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
