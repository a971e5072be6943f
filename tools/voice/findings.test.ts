// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { allowed } from "./allowed.ts";
import { findings } from "./findings.ts";

const refused: Readonly<Record<string, string>> = {
  "/** Nobody waits for it. */": "Nobody",
  "// the port that somebody else took": "somebody",
  "open to anybody": "anybody",
  'test("whoever asks gets it", () => {': "whoever",
  "the user is told why": "told",
  "Told once, last.": "Told",
  "const toldAt = clock.now();": "toldA",
  "let isTold = false;": "sTold",
  "a version that is none": "is none",
  "headers that are none": "are none",
  "what is no tag is left out": "is no t",
  "`${text} is no version constraint`": "is no v",
  "it is no ELF file": "is no E",
  "bytes that are no text": "are no t",
  "that was no server": "was no s",
};

for (const [line, phrase] of Object.entries(refused)) {
  test(`refused: ${line}`, () => {
    assert.deepEqual(
      findings(line).map((finding) => finding.phrase),
      [phrase],
    );
  });
}

const plain: readonly string[] = [
  "there is no such file",
  "When there is no need to wait, it returns.",
  "There are no functions.",
  "where there is none, the default applies",
  "it is no longer reconciled",
  "the queue is no more than a list",
  "a bare handler is no faster than the SDK",
  "the error is no different",
  "is none of the listed kinds",
  "if there were no leader",
  "if recipient is None:",
  "const asked = ['expr', 'optOld'];",
  "const folded = scaffold();",
  "The reported value is not a string.",
];

for (const line of plain) {
  test(`plain: ${line}`, () => assert.deepEqual(findings(line), []));
}

test("a finding has its line number, text and advice", () => {
  const [found] = findings("first\nnobody reads it\n");
  assert.deepEqual(found?.line, { number: 2, text: "nobody reads it" });
  assert.match(found?.advice ?? "", /client/);
});

test("two phrases of one line are two findings", () => {
  assert.equal(findings("nobody is told").length, 2);
});

for (const { path, text, reason } of allowed) {
  test(`the allowed phrase is still there: ${path}: ${text}`, () => {
    assert.ok(existsSync(path) && readFileSync(path, "utf8").includes(text), "remove it from tools/voice/allowed.ts");
    assert.ok(findings(text).length > 0, "the text is not refused");
    assert.notEqual(reason, "");
  });
}

test("the command names file, line, phrase and advice, and fails", () => {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const run = (path: string): string => execFileSync(process.execPath, [main, path], { encoding: "utf8" });
  assert.equal(run("LICENSE"), "");
  assert.throws(
    () => run("tools/voice/"),
    (error: { status?: number; stdout?: string }) => {
      assert.equal(error.status, 1);
      assert.match(error.stdout ?? "", /^tools\/voice\/findings\.test\.ts:\d+: "Nobody": name the user, client/m);
      return true;
    },
  );
});
