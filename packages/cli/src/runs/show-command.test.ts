// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunSummary } from "@purlin/run-store";
import { recordedRun, recordedStep } from "../../test/recorded-runs.ts";
import { runColumns, runRow } from "./ls-command.ts";
import { changeText, changeTexts, revisionText, shortJson, stepsOf } from "./show-command.ts";

test("a step is found by its name or position", () => {
  const run = recordedRun({ steps: [recordedStep("compose", { index: 0 }), recordedStep("ready", { index: 1 })] });
  assert.deepEqual(
    stepsOf(run, undefined).map(({ name }) => name),
    ["compose", "ready"],
  );
  assert.deepEqual(
    stepsOf(run, "ready").map(({ name }) => name),
    ["ready"],
  );
  assert.deepEqual(
    stepsOf(run, "0").map(({ name }) => name),
    ["compose"],
  );
  assert.throws(() => stepsOf(run, "2"), {
    message: "--step 2: run 01ABCDEFGH has no such step: its steps are compose, ready",
    exitCode: 2,
  });
  assert.throws(() => stepsOf(recordedRun(), "a"), /run 01ABCDEFGH has no such step/);
});

test("a change of a field: new, gone or another value", () => {
  assert.equal(changeText({ path: "spec.a", after: { b: 1 } } as never), '+ spec.a: {"b":1}');
  assert.equal(changeText({ path: "spec.a", before: "x" } as never), '- spec.a: "x"');
  assert.equal(
    changeText({ path: "spec.a", before: null, after: 9007199254740993n } as never),
    "~ spec.a: null -> 9007199254740993",
  );
});

test("who owns which field is one line", () => {
  const changes = [
    { path: "metadata.managedFields[0].time", after: "t" },
    { path: "metadata.name", after: "a" },
    { path: "metadata.managedFields[1].manager", after: "m" },
  ];
  assert.deepEqual(changeTexts(changes as never), [
    '+ metadata.name: "a"',
    "~ metadata.managedFields (2 fields, see -o json)",
  ]);
});

test("a value of more than 120 characters is cut", () => {
  assert.equal(shortJson("x".repeat(118)), `"${"x".repeat(118)}"`);
  assert.equal(shortJson("x".repeat(119)), `"${"x".repeat(119)}…`);
  assert.equal(shortJson(undefined), "");
});

test("a function under development has no revision to show", () => {
  assert.deepEqual([revisionText("fn-1"), revisionText("fn@localhost:9443")], ["fn-1", "(development)"]);
});

test("the row of a run has a cell for each column", () => {
  const { steps: _, writes: __, composite: ___, conditions: ____, ...facts } = recordedRun();
  const summary = { ...facts, steps: ["a", "b"], writes: 3 } as unknown as RunSummary;
  const row = (more: Partial<RunSummary> = {}): string[] =>
    runRow({ ...summary, ...more }, Date.parse("2026-01-01T00:05:00Z"));
  assert.deepEqual(row(), ["01ABCDEFGH", "5m", "App/shop", "apps-1", "spec", "2", "3", "20ms", "composed"]);
  assert.equal(row().length, runColumns.length);
  const other = row({
    xr: { ...summary.xr, namespace: "team" },
    compositionRevision: "",
    repeats: 4,
    durationMs: 1.5,
    cause: "a\nb",
  });
  assert.deepEqual(other.slice(2), ["App/team/shop", "-", "a b", "2", "3", "2ms", "composed (×5)"]);
  assert.equal(row({ last: "2026-01-01T00:06:00Z" })[1], "0s", "a clock that is ahead");
});
