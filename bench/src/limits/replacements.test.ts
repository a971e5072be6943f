// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { replacements, withoutLimits } from "./replacements.ts";

const root = join(import.meta.dirname, "../../..");
const sources = globSync("packages/{base,kube-apiserver,function-runner}/src/**/*.ts", { cwd: root }).filter(
  (file) => !file.endsWith(".test.ts"),
);
const filesWith = (line: string): string[] =>
  sources.filter((file) => readFileSync(join(root, file), "utf8").includes(line));

test("each function that is replaced is there, once", () => {
  for (const line of Object.keys(replacements)) assert.equal(filesWith(line).length, 1, line);
});

test("a program that is run without limits has none", () => {
  const [file = ""] = filesWith("export function requireFewValues");
  const program = `(await import(${JSON.stringify(join(root, file))})).requireFewValues(1e9); console.log("allowed");`;
  const run = (...options: readonly string[]): string =>
    spawnSync(process.execPath, [...options, "--input-type=module", "-e", program], { encoding: "utf8" }).stdout;
  assert.equal(run(withoutLimits), "allowed\n");
  assert.equal(run(), "");
});
