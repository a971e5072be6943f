// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { openLogFile } from "@purlin/function-process";
import fc from "fast-check";
import { lastLines } from "./logs-command.ts";
import { readLog } from "./merged-logs.ts";

const tails: Record<string, { text: string; count: number; want: string; reason: string }> = {
  Last: {
    text: "a\nb\nc\n",
    count: 1,
    want: "c\n",
    reason: "the newline of the last line does not start another line",
  },
  Unfinished: { text: "a\nb", count: 1, want: "b", reason: "a line that is still being written counts" },
  More: { text: "a\nb\n", count: 9, want: "a\nb\n", reason: "there are no more" },
  EmptyLines: { text: "\n\nb\n", count: 2, want: "\nb\n", reason: "an empty line is a line" },
  FirstIsEmpty: { text: "\nb", count: 2, want: "\nb", reason: "also the first" },
  None: { text: "a\n", count: 0, want: "", reason: "only what comes is wanted" },
  Nothing: { text: "", count: 3, want: "", reason: "nothing was written" },
};
for (const [name, { text, count, want, reason }] of Object.entries(tails)) {
  test(`last lines: ${name}`, () => assert.equal(lastLines(text, count), want, reason));
}

test("the last lines are those that splitting gives", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-c]{0,3}$/), { maxLength: 8 }), fc.nat(10), (lines, count) => {
      const text = lines.map((line) => `${line}\n`).join("");
      const want = count === 0 ? [] : lines.slice(-count);
      assert.equal(lastLines(text, count), want.map((line) => `${line}\n`).join(""));
    }),
  );
});

test("a log is read from its start, then what is new, across full files", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "fn.log");
  const log = openLogFile(path, 8);
  const early = readLog(path);
  assert.equal(await early.next(), "", "nothing was written");
  log.add("one 1234\n");
  assert.equal(await early.next(), "one 1234\n");
  log.add("two 1234\n");
  assert.equal(await early.next(), "two 1234\n", "the file before is full");
  assert.equal(await readLog(path).next(), "one 1234\ntwo 1234\n", "a late reader gets both files");
  assert.equal(await early.next(), "", "nothing is shown twice");
  appendFileSync(path, "more\n");
  log.add("three\n");
  assert.equal(await early.next(), "more\nthree\n", "what was written to a file before it was moved is not missed");
  rmSync(path);
  rmSync(`${path}.1`);
  assert.equal(await early.next(), "");
  writeFileSync(path, "next\n");
  assert.equal(await early.next(), "next\n", "files that are made again are read from their start");
});

test("a character that is written in two pieces is whole", async () => {
  using folder = tempFolder();
  const bytes = Buffer.from("é\n");
  const path = folder.write("fn.log", "");
  const reader = readLog(path);
  appendFileSync(path, bytes.subarray(0, 1));
  assert.equal(await reader.next(), "");
  appendFileSync(path, bytes.subarray(1));
  assert.equal(await reader.next(), "é\n");
});

test("whatever is written in whatever pieces is read, in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.string({ maxLength: 6 }), fc.boolean()), { maxLength: 12 }),
      async (steps) => {
        using folder = tempFolder();
        const path = join(folder.path, "fn.log");
        // As large as one piece at most: a reader that looks after every piece misses none.
        const log = openLogFile(path, 4);
        const reader = readLog(path);
        let read = "";
        for (const [piece] of steps) {
          log.add(piece);
          read += await reader.next();
        }
        assert.equal(read, steps.map(([piece]) => Buffer.from(piece).toString()).join(""));
      },
    ),
    { numRuns: 50 },
  );
});
