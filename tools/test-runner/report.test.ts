// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { isCommand, isTestEvent } from "./events.ts";
import { failedGroupText, failureText, groupLine, summary } from "./report.ts";
import type { GroupResult } from "./test-process.ts";

const failure = { path: ["a.test.ts", "suite", "adds"], location: "a.test.ts:3:1", error: "Error: no\n\n    at x" };
const result = (members: Partial<GroupResult> = {}): GroupResult =>
  ({
    group: { title: "packages/cel", files: ["a.test.ts", "b.test.ts"] },
    ...{ passed: 12, failures: [], skipped: [], seconds: 2.14, output: "" },
    ...members,
  }) as unknown as GroupResult;
const skipped = [{ path: ["a.test.ts", "later"], reason: "skip: no network" }];

test("the line of a group has its position, numbers and time", () => {
  assert.equal(groupLine(result(), 3, 16), "[ 3/16] ok   packages/cel: 12 passed in 2 files (2.1s)");
  const bad = result({ failures: [failure], skipped });
  assert.equal(groupLine(bad, 10, 10), "[10/10] FAIL packages/cel: 12 passed, 1 failed, 1 skipped in 2 files (2.1s)");
  const one = result({ group: { title: "cel/a.test.ts", files: ["a.test.ts"] } as unknown as GroupResult["group"] });
  assert.equal(groupLine(one, 1, 2), "[1/2] ok   cel/a.test.ts: 12 passed (2.1s)");
});

test("a failure has its path, its place from here, and its error indented", () => {
  const text = "✖ a.test.ts › suite › adds\n    at a.test.ts:3:1\n    Error: no\n\n        at x";
  assert.equal(failureText(failure), text);
  assert.equal(failureText({ ...failure, location: resolve("a.test.ts:3:1") }), text);
});

test("a group that failed is shown with the end of its output", () => {
  const bad = result({ failures: [failure, { ...failure, path: ["b"] }], output: "\nline 1\n\nline 2\n" });
  const [first, second] = [failureText(failure), failureText({ ...failure, path: ["b"] })];
  assert.equal(
    failedGroupText(bad),
    `${first}\n${second}\n  output of packages/cel (last part):\n  | line 1\n\n  | line 2`,
  );
  assert.equal(failedGroupText(result({ failures: [failure], output: " \n" })), first);
});

test("the summary lists failures and tests that did not run, and ends with the sums", () => {
  assert.equal(summary([result(), result({ passed: 1 })], 61.4), "13 tests in 4 files, 61s\n13 passed, 0 failed");
  assert.equal(
    summary([result({ passed: 0, failures: [failure], skipped })], 0.4),
    [
      "✖ a.test.ts › suite › adds (a.test.ts:3:1)",
      "not run: a.test.ts › later (skip: no network)",
      "2 tests in 2 files, 0s",
      "0 passed, 1 failed",
    ].join("\n"),
  );
  assert.equal(summary([], 0), "0 tests in 0 files, 0s\n0 passed, 0 failed");
});

test("messages of tests on the channel are neither events nor commands", () => {
  for (const kind of ["started", "passed", "skipped", "failed", "waiting", "lingering"])
    assert.ok(isTestEvent({ kind }), kind);
  for (const kind of ["run", "end"]) assert.ok(isCommand({ kind }) && !isTestEvent({ kind }), kind);
  for (const other of [undefined, null, "passed", 5, {}, { kind: 5 }, { kind: "other" }, ["passed"]]) {
    assert.deepEqual([isTestEvent(other), isCommand(other)], [false, false], JSON.stringify(other));
  }
});
