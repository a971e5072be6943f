// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { failedGroupText, summary } from "./report.ts";
import { type GroupResult, runGroup } from "./run-group.ts";

/** Runs test files with the given contents in one process. */
function run(t: TestContext, contents: readonly string[], silenceMs = 60_000): Promise<GroupResult> {
  const folder = mkdtempSync(join(tmpdir(), "test-runner-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = contents.map((content, index) => {
    const file = join(folder, `file-${index}.test.ts`);
    writeFileSync(file, content);
    return file;
  });
  return runGroup({ title: "a group", files, silenceMs }, { nodeOptions: [], showOutput: false });
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

test("an error after its test has ended is reported, with the test", async (t) => {
  const late = 'setTimeout(() => { throw new Error("too late"); }, 20);';
  const wait = "await new Promise((resolve) => setTimeout(resolve, 200));";
  const result = await run(t, [`${head}test("leaves", () => { ${late} }); test("b", async () => { ${wait} });`]);
  assert.equal(lastLine(result), "2 passed, 1 failed", errors(result));
  assert.match(errors(result), /Test "leaves" .*too late/);
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
