// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { exitCodeOf, readAssumptions, readDiffInput } from "./diff-input.ts";

const io = new TestIo();
const input = (options: Readonly<Record<string, string | boolean | readonly string[]>>, ...args: string[]) => ({
  args,
  options,
});

test("each style of exit codes, for nothing, changes, wrong files and failures", () => {
  const outcomes = [
    { hasFailed: false, isInvalid: false, hasChanges: false },
    { hasFailed: false, isInvalid: false, hasChanges: true },
    { hasFailed: false, isInvalid: true, hasChanges: true },
    { hasFailed: true, isInvalid: true, hasChanges: true },
  ];
  const codes = { purlin: [0, 3, 2, 1], kubectl: [0, 1, 2, 2], terraform: [0, 2, 1, 1], none: [0, 0, 2, 1] } as const;
  for (const style of ["purlin", "kubectl", "terraform", "none"] as const) {
    assert.deepEqual(
      outcomes.map((outcome) => exitCodeOf(outcome, style)),
      codes[style],
      style,
    );
  }
});

test("files that are wrong end with 2, and no error ends with the code that another tool has for changes", async () => {
  const noName = "apiVersion: v1\nkind: ConfigMap\n";
  using folder = tempFolder({ "bad.yaml": "a: [\n b: }\n", "noname.yaml": noName, "empty.yaml": "" });
  const codes = { purlin: [2, 1], none: [2, 1], kubectl: [2, 2], terraform: [1, 1] } as const;
  const codeOf = async (...args: string[]): Promise<number> =>
    (await runInProcess(["diff", ...args], { cwd: folder.path, env: { HOME: folder.path } })).exitCode;
  for (const [style, [wrong, failed]] of Object.entries(codes)) {
    for (const file of ["bad.yaml", "noname.yaml", "empty.yaml", "missing.yaml"])
      assert.equal(await codeOf(file, "--exit-code", style), wrong, `${style} ${file}`);
    assert.equal(await codeOf("-o", "html", "--exit-code", style), wrong, `${style} -o html`);
    assert.equal(await codeOf("--exit-code", style), failed, `${style} without a control plane`);
  }
});

test("a wrong command line is refused with what is expected", () => {
  const rows: readonly (readonly [Parameters<typeof input>[0], RegExp])[] = [
    [{ function: ["fn"] }, /--function: expected NAME=SOURCE, not "fn"/],
    [{ function: ["fn=./missing.ts"] }, /--function fn: no such file: \.\/missing\.ts/],
    [{ function: ["fn=fn"] }, /cannot run "fn": expected a source file/],
    [{ function: ["fn=missing.xpkg"] }, /no such file: missing\.xpkg/],
    [{ prune: true }, /--prune: needs -l/],
    [{ selector: "a in" }, /-l a in: /],
    [{ functions: "cloud" }, /--functions: expected auto, live, local, not "cloud"/],
    [{ maxNestedDepth: "0" }, /--max-nested-depth: expected a number from 1/],
    [{ ignoreFile: "missing" }, /--ignore-file missing: no such file: check the path$/],
    [{ maxRounds: "0" }, /--max-rounds: expected a number from 1/],
    [{ output: "html" }, /-o: expected plan, diff, json, yaml, markdown, not "html"/],
    [{ exitCode: "3" }, /--exit-code: expected purlin/],
    [{ show: "all" }, /--show: expected status/],
    [{ applyAs: "helm" }, /--apply-as: expected auto/],
  ];
  for (const [options, expected] of rows)
    assert.throws(
      () => readDiffInput(input(options), io),
      (error: Error & { exitCode?: number }) => expected.test(error.message) && error.exitCode === 2,
    );
});

test("the command lines of crossplane-diff work", () => {
  assert.deepEqual(readDiffInput(input({}, "xr", "a.yaml"), io).paths, ["a.yaml"]);
  assert.deepEqual(readDiffInput(input({ resource: ["default/a"], maxIterations: "5" }, "comp", "b.yaml"), io).only, [
    "default/a",
  ]);
  assert.equal(readDiffInput(input({ maxIterations: "5" }), io).maxRounds, 5);
});

test("fields are ignored by path, by kind, and with a wildcard for one level", () => {
  const { ignores } = readDiffInput(
    input({ ignore: ["metadata.labels[team]", "ConfigMap:data", "Widget.things.example.org:spec.*.size"] }),
    io,
  );
  const at = (kind: string, apiVersion: string, path: string): boolean => ignores({ kind, apiVersion, path });
  assert.deepEqual(
    [
      at("App", "example.org/v1", "metadata.labels[team]"),
      at("App", "example.org/v1", "metadata.labels[teams]"),
      at("App", "example.org/v1", "data.x"),
      at("ConfigMap", "v1", "data.x"),
    ],
    [true, false, false, true],
  );
  assert.deepEqual(
    [
      at("Widget", "things.example.org/v1", "spec.a.size"),
      at("Widget", "things.example.org/v1", "spec.a.b.size"),
      at("Widget", "other.org/v1", "spec.a.size"),
    ],
    [true, false, false],
  );
});

test("assumptions are a list of matches and statuses", async () => {
  using folder = tempFolder({
    "good.yaml": "- match: {kind: Bucket}\n  status: {atProvider: {arn: x}}\n",
    "bad.yaml": "- status: {}\n",
  });
  const inFolder = new TestIo({ cwd: folder.path });
  assert.deepEqual(await readAssumptions(input({ assume: "good.yaml" }), inFolder), [
    { match: { kind: "Bucket" }, status: { atProvider: { arn: "x" } } },
  ]);
  assert.deepEqual(
    [
      await readAssumptions(input({ assume: "ready" }), inFolder),
      await readAssumptions(input({ assume: "none" }), inFolder),
    ],
    [[], undefined],
  );
  await assert.rejects(readAssumptions(input({ assume: "bad.yaml" }), inFolder), /bad\.yaml: entry 1: expected/);
});
