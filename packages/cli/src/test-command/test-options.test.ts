// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { testCase } from "../../test/case-state.ts";
import { TestIo } from "../../test/test-io.ts";
import { caseId, patternOf, readOptions, selected, type TestOptions } from "./test-options.ts";

const read = (options: Record<string, unknown> = {}, env: Record<string, string> = {}): TestOptions =>
  readOptions({ arguments: [], options } as never, new TestIo({ env }));

/** The error of options, with its exit code. */
function refusal(options: Record<string, unknown>): string {
  try {
    read(options);
  } catch (error) {
    const { message, exitCode } = error as { message: string; exitCode: number };
    assert.equal(exitCode, 2);
    return message;
  }
  return "accepted";
}

test("without options, all cases run in parallel for at most 30 s each, and new golden files are written", () => {
  const { input: _, ...options } = read();
  assert.deepEqual(options, {
    ...{
      reporter: "spec",
      junit: undefined,
      pattern: undefined,
      tags: [],
      onlyFailed: false,
      shard: undefined,
      seed: undefined,
    },
    ...{ bail: Number.POSITIVE_INFINITY, update: "new", parallel: availableParallelism(), timeoutMs: 30_000 },
    ...{ isCi: false, listsOnly: false, passWithNoTests: false, allowHooks: false, coverage: undefined },
  });
});

test("options are read as they are written", () => {
  const {
    input: _,
    pattern,
    ...options
  } = read({
    ...{ reporter: "tap", junit: "out.xml", testNamePattern: "^a", tag: ["x", "y"], onlyFailed: true, bail: "3" },
    ...{ shard: "2/4", update: "all", parallel: "8", timeout: "1m30s", list: true, passWithNoTests: true },
    ...{ allowHooks: true, coverage: "80.5%" },
  });
  assert.equal(String(pattern), "/^a/");
  assert.deepEqual(options, {
    ...{ reporter: "tap", junit: "out.xml", tags: ["x", "y"], onlyFailed: true, bail: 3 },
    ...{ shard: { index: 1, count: 4 }, seed: undefined, update: "all", parallel: 8, timeoutMs: 90_000, isCi: false },
    ...{ listsOnly: true, passWithNoTests: true, allowHooks: true, coverage: 80.5 },
  });
});

test("in CI, no golden file is written unless --update says so", () => {
  assert.deepEqual([read({}, { CI: "true" }).isCi, read({}, { CI: "true" }).update], [true, "none"]);
  assert.deepEqual(
    [read({}, { CI: "1" }).isCi, read({}, { CI: "" }).isCi, read({}, { CI: "false" }).isCi],
    [true, false, false],
  );
  assert.equal(read({ update: "all" }, { CI: "true" }).update, "all");
  assert.equal(read({ update: "none" }).update, "none");
});

test("--bail and --coverage are switches that may have a value", () => {
  assert.deepEqual(
    [read({ bail: true }).bail, read({ bail: false }).bail, read({ bail: "1" }).bail],
    [1, Number.POSITIVE_INFINITY, 1],
  );
  for (const [value, percent] of [
    [true, 0],
    [false, undefined],
    ["0", 0],
    ["100", 100],
    ["100%", 100],
    ["99.95", 99.95],
  ] as const) {
    assert.equal(read({ coverage: value }).coverage, percent, String(value));
  }
});

test("a value that cannot be used is refused with what is expected", () => {
  const cases: readonly (readonly [options: Record<string, unknown>, message: string])[] = [
    [{ reporter: "xml" }, "--reporter xml: expected spec, dot, tap, json, github"],
    [{ reporter: "constructor" }, "--reporter constructor: expected spec, dot, tap, json, github"],
    [{ update: "some" }, "--update some: expected new, all or none"],
    [{ testNamePattern: "(" }, "--test-name-pattern: Invalid regular expression: /(/: Unterminated group"],
    [{ bail: "0" }, "--bail 0: expected an integer of at least 1"],
    [{ bail: "-1" }, "--bail -1: expected an integer of at least 1"],
    [{ parallel: "1.5" }, "--parallel 1.5: expected an integer of at least 1"],
    [{ parallel: "many" }, "--parallel many: expected an integer of at least 1"],
    [{ timeout: "5" }, "--timeout 5: expected a duration, such as 5s or 1m30s"],
    [{ coverage: "100.1" }, "--coverage 100.1: expected a percentage from 0 to 100, such as 80%"],
    [{ coverage: "-1" }, "--coverage -1: expected a percentage from 0 to 100, such as 80%"],
    [{ coverage: "%" }, "--coverage %: expected a percentage from 0 to 100, such as 80%"],
    [{ shard: "0/4" }, "--shard 0/4: expected INDEX/COUNT, such as 1/4"],
    [{ shard: "5/4" }, "--shard 5/4: expected INDEX/COUNT, such as 1/4"],
    [{ shard: "1" }, "--shard 1: expected INDEX/COUNT, such as 1/4"],
    [{ seed: "a" }, "--seed a: expected an integer of at least 1"],
    [{ seed: "1", allowHooks: true }, "--seed and --allow-hooks: hooks need the order of their file"],
    [{ shard: "1/100000" }, "--shard 1/100000: expected INDEX/COUNT, such as 1/4"],
  ];
  for (const [options, message] of cases) assert.equal(refusal(options), message);
  assert.deepEqual(read({ shard: "4/4" }).shard, { index: 3, count: 4 });
  assert.equal(patternOf(undefined), undefined);
});

const cases = [
  testCase({ name: "a1", tags: ["fast"] }),
  testCase({ name: "a2", tags: ["slow", "net"] }),
  testCase({ name: "b1", tags: [] }),
  testCase({ name: "b2", tags: ["fast", "net"] }),
  testCase({ name: "b1", file: "other.test.yaml", tags: ["fast"] }),
];
const names = (options: Record<string, unknown>, failed: readonly string[] = [], of = cases, env = {}): string[] =>
  selected(of, read(options, env), new Set(failed)).map(({ name }) => name);

test("a seed chooses an order: always the same one, of the same cases, also of those of a shard", () => {
  const one = names({ seed: "1" });
  assert.deepEqual(names({ seed: "1" }, [], cases.toReversed()), one, "the order of files does not matter");
  assert.deepEqual(one.toSorted(), ["a1", "a2", "b1", "b1", "b2"]);
  const orders = new Set(["1", "2", "3", "4", "5", "6"].map((seed) => names({ seed }).join()));
  assert.ok(orders.size > 3, [...orders].join(" "));
  assert.deepEqual(names({ seed: "7", shard: "1/2" }).toSorted(), names({ shard: "1/2" }).toSorted());
});

test("cases are chosen by name, by any of the tags, and by what failed before", () => {
  assert.deepEqual(names({}), ["a1", "a2", "b1", "b2", "b1"]);
  assert.deepEqual(names({ testNamePattern: "^a|2$" }), ["a1", "a2", "b2"]);
  assert.deepEqual(names({ tag: ["net", "unknown"] }), ["a2", "b2"]);
  assert.deepEqual(names({ tag: ["fast"], testNamePattern: "^b" }), ["b2", "b1"]);
  assert.deepEqual(names({ onlyFailed: true }), []);
  assert.deepEqual(names({ onlyFailed: true }, ["app.test.yaml: b1", "app.test.yaml: b2"]), ["b1", "b2"]);
  assert.deepEqual(names({ tag: ["net"], onlyFailed: true }, ["app.test.yaml: b1", "app.test.yaml: b2"]), ["b2"]);
});

test("the shards of a run are all its cases, each once", () => {
  assert.deepEqual(names({ shard: "1/2" }), ["a1", "b1", "b1"]);
  assert.deepEqual(names({ shard: "2/2" }), ["a2", "b2"]);
  assert.deepEqual(names({ shard: "6/6" }), []);
});

test("cases with only run alone; in CI they are an error, as the others would not run", () => {
  const focused = [...cases, testCase({ name: "c", isOnly: true, at: "app.test.yaml:20:5" })];
  assert.deepEqual(names({}, [], focused), ["c"]);
  assert.deepEqual(names({ testNamePattern: "a" }, [], focused), []);
  assert.throws(() => names({}, [], focused, { CI: "true" }), {
    message: 'app.test.yaml:20:5: case "c": only: remove it; CI is set, and the other cases would not run',
    exitCode: 2,
  });
});

test("a case is known by its file and name", () => {
  assert.equal(caseId(testCase({ name: "x", file: "a/b.test.yaml" })), "a/b.test.yaml: x");
});
