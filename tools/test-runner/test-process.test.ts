// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { failedGroupText, summary } from "./report.ts";
import { type GroupRunner, ownProcesses, sharedProcess } from "./schedule.ts";
import type { Group, GroupResult } from "./test-process.ts";

/** A group of test files with the given contents. */
function groupOf(t: TestContext, contents: readonly string[], more: Partial<Group> = {}): Group {
  const folder = mkdtempSync(join(tmpdir(), "test-runner-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = contents.map((content, index) => {
    const file = join(folder, `file-${index}.test.ts`);
    writeFileSync(file, content);
    return file;
  });
  return { title: "a group", silenceMs: 60_000, ...more, files };
}

async function resultsOf(create: typeof ownProcesses, groups: readonly Group[]): Promise<readonly GroupResult[]> {
  const results: GroupResult[] = [];
  const runner: GroupRunner = create({ nodeOptions: [], showOutput: false }, (result) => void results.push(result));
  for (const group of groups) await runner.run(group);
  await runner.end();
  return results;
}

/** Runs test files with the given contents in one process. */
async function run(t: TestContext, contents: readonly string[], silenceMs = 60_000): Promise<GroupResult> {
  const [result] = await resultsOf(ownProcesses, [groupOf(t, contents, { silenceMs })]);
  return result ?? assert.fail("no result");
}

const head = 'import { after, before, beforeEach, describe, test } from "node:test";\n';
const lastLine = (result: GroupResult): string | undefined => summary([result], 1).split("\n").at(-1);
const errors = (result: GroupResult): string => result.failures.map(({ error }) => error).join("\n");

test("tests, subtests and tests of suites are counted; suites are not", async (t) => {
  const nested = 'test("parent", async (t) => { await t.test("child", () => {}); });';
  const result = await run(t, [`${head}test("a", () => {}); describe("s", () => test("b", () => {})); ${nested}`]);
  assert.equal(lastLine(result), "4 passed, 0 failed");
});

test("a failed test is reported with its path, its place and its error, and its suites are not counted", async (t) => {
  const result = await run(t, [`${head}describe("s", () => test("b", () => { throw new Error("boom"); }));`]);
  assert.equal(lastLine(result), "0 passed, 1 failed");
  assert.match(
    failedGroupText(result),
    /✖ .*file-0\.test\.ts › s › b\n {4}at .*file-0\.test\.ts:2:\d+\n {4}Error: boom/,
  );
});

test("what a failed group printed is shown", async (t) => {
  const result = await run(t, [`${head}console.log("a clue"); test("b", () => { throw new Error("boom"); });`]);
  assert.match(failedGroupText(result), /\| a clue$/);
});

test("a file that cannot be loaded fails, and the others run", async (t) => {
  const result = await run(t, ['throw new Error("no such thing");', `${head}test("a", () => {});`]);
  assert.equal(lastLine(result), "1 passed, 1 failed");
  assert.match(errors(result), /no such thing/);
});

test("a test that ends the process does not pass for those that did not run", async (t) => {
  const result = await run(t, [`${head}test("quitter", () => process.exit(0)); test("never run", () => {});`]);
  assert.equal(lastLine(result), "0 passed, 1 failed");
  assert.match(errors(result), /ended early \(0\) in: .* > quitter/);
});

test("a test that never ends is stopped and named", async (t) => {
  // Long enough for a process to start its first test on a machine with much to do.
  const result = await run(
    t,
    [`${head}test("spinner", () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); });`],
    15_000,
  );
  assert.match(errors(result), /no test ended for 15s; last started: .* > spinner/);
});

test("an error after its test has ended is reported, with the test that ran meanwhile", async (t) => {
  const late = 'setTimeout(() => { throw new Error("too late"); }, 20);';
  const wait = "await new Promise((resolve) => setTimeout(resolve, 200));";
  const result = await run(t, [`${head}test("leaves", () => { ${late} }); test("b", async () => { ${wait} });`]);
  assert.equal(lastLine(result), "2 passed, 1 failed", errors(result));
  assert.match(failedGroupText(result), /✖ .* > b\n.*\n +uncaughtException while this test ran; .*: Error: too late/);
});

test("a rejected promise that nothing handles is reported", async (t) => {
  const wait = "await new Promise((resolve) => setTimeout(resolve, 200));";
  const result = await run(t, [`${head}test("a", async () => { Promise.reject(new Error("lost")); ${wait} });`]);
  assert.equal(lastLine(result), "1 passed, 1 failed", errors(result));
  assert.match(errors(result), /unhandledRejection while this test ran; .*: Error: lost/);
});

test("suites in suites, subtests and hooks in files keep their places", async (t) => {
  const inner =
    'describe("inner", () => { before(async () => { await 1; }); test("deep", () => { throw new Error("x"); }); });';
  const result = await run(t, [`${head}await 1; describe("outer", () => { test("a", () => {}); ${inner} });`]);
  assert.deepEqual(
    result.failures.map(({ path }) => path.slice(1).join(" › ")),
    ["outer › inner › deep"],
  );
  assert.equal(result.passed, 1);
});

test("a skipped test is not counted as passed", async (t) => {
  const result = await run(t, [`${head}test("a", { skip: "no reason" }, () => {});`]);
  assert.match(summary([result], 1), /not run: .* › a \(skip: no reason\)\n1 test in 1 file, 1s\n0 passed, 0 failed$/);
});

test("top-level hooks of a file run for its own tests only, and end before the next file starts", async (t) => {
  const first = `${head}globalThis.seen = []; before(() => seen.push("open")); after(() => seen.push("close"));
beforeEach(() => seen.push("each")); test("a", () => {}); test("b", () => {});`;
  const second = `import assert from "node:assert/strict"; ${head}
test("c", () => assert.deepEqual(seen, ["open", "each", "each", "close"]));`;
  assert.equal(lastLine(await run(t, [first, second])), "3 passed, 0 failed");
});

test("a test may wait for a timer that keeps no process alive", async (t) => {
  const wait = "await new Promise((resolve) => setTimeout(resolve, 50).unref());";
  assert.equal(lastLine(await run(t, [`${head}test("a", async () => { ${wait} });`])), "1 passed, 0 failed");
});

test("a process that does not exit after its tests fails, with what keeps it alive", async (t) => {
  const result = await run(t, [
    `import { createServer } from "node:net"; ${head}test("a", () => { createServer().listen(0, "127.0.0.1"); });`,
  ]);
  assert.match(errors(result), /did not exit within 10s of its last test; still open: .*TCPServerWrap/);
});

test("groups that share a process are counted apart, and each file is loaded once", async (t) => {
  const load = "globalThis.loads = (globalThis.loads ?? 0) + 1;";
  const check = (count: number): string =>
    `test("loads", () => { if (globalThis.loads !== ${count}) throw new Error(); });`;
  const results = await resultsOf(sharedProcess, [
    groupOf(t, [`${head}${load} test("a", () => {}); test("b", () => {});`, `${head}${load}${check(2)}`]),
    groupOf(t, [`${head}${load}${check(3)} test("c", () => { throw new Error("boom"); });`], { title: "another" }),
    groupOf(t, [`${head}test("d", { skip: "no reason" }, () => {});`]),
  ]);
  const counts = results.map(({ passed, failures, skipped }) => [passed, failures.length, skipped.length]);
  assert.deepEqual(counts, [
    [3, 0, 0],
    [1, 1, 0],
    [0, 0, 1],
  ]);
});

test("after a group that ended its process, the next group has another one", async (t) => {
  const results = await resultsOf(sharedProcess, [
    groupOf(t, [`${head}test("quitter", () => process.exit(0));`]),
    groupOf(t, [`${head}test("a", () => {});`]),
  ]);
  assert.match(errors(results[0] ?? assert.fail()), /ended early \(0\) in: .* > quitter/);
  assert.deepEqual(
    results.map(({ passed, failures }) => [passed, failures.length]),
    [
      [0, 1],
      [1, 0],
    ],
  );
});

test("what groups of a shared process leave open is reported with their titles", async (t) => {
  const leak = 'createServer().listen(0, "127.0.0.1");';
  const results = await resultsOf(sharedProcess, [
    groupOf(t, [`import { createServer } from "node:net"; ${head}test("a", () => { ${leak} });`]),
    groupOf(t, [`${head}test("b", () => {});`], { title: "another" }),
  ]);
  assert.equal(results.length, 3);
  const last = results[2] ?? assert.fail();
  assert.match(failedGroupText(last), /✖ after a group, another\n[\s\S]*still open: .*TCPServerWrap/);
});
