// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { allowed } from "./allowed.ts";
import { findings } from "./findings.ts";

interface Samples {
  /** Lines with what is found in each. */
  readonly refused: readonly { readonly line: string; readonly phrase: string }[];
  /** Lines in which nothing is found. */
  readonly plain: readonly string[];
}

const samplesPath = "tools/voice/testdata/phrases.json";
const { refused, plain } = JSON.parse(readFileSync(samplesPath, "utf8")) as Samples;

for (const { line, phrase } of refused) {
  test(`refused: ${line}`, () => {
    assert.deepEqual(
      findings(line).map((finding) => finding.phrase),
      [phrase],
    );
  });
}

for (const line of plain) {
  test(`plain: ${line}`, () => assert.deepEqual(findings(line), []));
}

test("a finding has its line number, text and advice", () => {
  const text = refused[0]?.line ?? "";
  const [found] = findings(`first\n${text}\n`);
  assert.deepEqual(found?.line, { number: 2, text });
  assert.match(found?.advice ?? "", /client/);
});

test("phrases of two kinds in one line are two findings", () => {
  const [first, last] = [refused[0], refused.at(-1)];
  assert.deepEqual(
    findings(`${first?.line} ${last?.line}`).map(({ phrase }) => phrase),
    [first?.phrase, last?.phrase],
  );
});

for (const { path, text, reason } of allowed) {
  test(`the allowed phrase is still there: ${path}: ${text}`, () => {
    assert.ok(existsSync(path) && readFileSync(path, "utf8").includes(text), "remove it from tools/voice/allowed.ts");
    assert.ok(findings(text).length > 0, "the text is not refused");
    assert.notEqual(reason, "");
  });
}

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const run = (path: string): string => execFileSync(process.execPath, [main, path], { encoding: "utf8" });

test("the command names file, line, phrase and advice, and fails", () => {
  assert.throws(
    () => run(samplesPath),
    (error: { status?: number; stdout?: string }) => {
      assert.equal(error.status, 1);
      const found = (error.stdout ?? "").split("\n").filter((line) => line.startsWith(`${samplesPath}:`));
      assert.match(found[0] ?? "", /:\d+: "\w+": name the user, client/);
      for (const { phrase } of refused) assert.ok(error.stdout?.includes(`"${phrase}"`), phrase);
      return true;
    },
  );
});

test("the lint keeps to the rules that it checks", () => {
  assert.equal(run("tools/voice/"), "");
});
