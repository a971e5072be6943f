// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import fc from "fast-check";
import {
  collectFunctionLogs,
  createLogRate,
  createLogTail,
  functionLogPath,
  listFunctionLogs,
  openLogFile,
} from "./function-output.ts";

test("the log file is rotated when full and never grows beyond two files", () => {
  using folder = tempFolder();
  const path = join(folder.path, "logs/fn.log");
  const log = openLogFile(path, 10);
  for (const word of ["first 12 b\n", "second 12 \n", "third 12 b\n"]) log.add(word);
  assert.equal(readFileSync(path, "utf8"), "third 12 b\n");
  assert.equal(readFileSync(`${path}.1`, "utf8"), "second 12 \n");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  openLogFile(path, 100).add("again\n");
  assert.equal(readFileSync(path, "utf8"), "third 12 b\nagain\n", "what was there before a restart stays");
});

test("a log that cannot be written drops lines and continues when it can be written again", () => {
  using folder = tempFolder({ "logs/fn.log": "0123456789" });
  const path = join(folder.path, "logs/fn.log");
  const log = openLogFile(path, 5);
  rmSync(join(folder.path, "logs"), { recursive: true });
  folder.write("logs", "a file where the folder was");
  log.add("lost\n");
  rmSync(join(folder.path, "logs"));
  log.add("kept\n");
  assert.ok(existsSync(path));
  assert.equal(readFileSync(path, "utf8"), "kept\n");
});

test("the tail joins chunks into lines and includes a partial last line", () => {
  const tail = createLogTail(1_000);
  for (const piece of ["a", "b\nc", "\n", "\nd"]) tail.add(piece);
  assert.deepEqual(tail.lines(), ["ab", "c", "", "d"]);
});

test("the tail drops the oldest lines first and always keeps the last one", () => {
  const tail = createLogTail(12);
  tail.add("one\ntwo\nthree\nfour\n");
  assert.deepEqual(tail.lines(), ["three", "four"]);
  tail.add(`${"x".repeat(20)}\n`);
  assert.deepEqual(tail.lines(), ["x".repeat(20)]);
});

test("the tail truncates very long lines", () => {
  const tail = createLogTail(10_000);
  for (let i = 0; i < 100; i++) tail.add("y".repeat(1_000));
  assert.equal(tail.lines()[0]?.length, 4_096);
});

test("the tail keeps the end of the text however it is split into chunks", () => {
  const pieces = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 9 }), { maxLength: 60 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 40 }), (parts, max) => {
      const tail = createLogTail(max);
      for (const part of parts) tail.add(part);
      const all = parts.join("").split("\n");
      if (all.at(-1) === "") all.pop();
      const lines = tail.lines();
      assert.deepEqual(lines, all.slice(all.length - lines.length));
      const whole = parts.join("").endsWith("\n") ? lines : lines.slice(0, -1);
      assert.ok(whole.length <= 1 || whole.reduce((sum, line) => sum + line.length + 1, 0) <= max);
    }),
  );
});

test("the rate limit discards output above the rate and writes a line about it", () => {
  let now = 0;
  let reports = 0;
  const clock = { now: () => now, schedule: () => () => {} };
  const rate = createLogRate(100, clock, () => reports++);
  assert.equal(rate.keep("a".repeat(400)).length, 400, "a burst");
  assert.equal(rate.keep("b"), "");
  assert.equal(rate.keep("bb"), "");
  now = 1_000;
  assert.equal(rate.keep("c"), "\n[3 bytes were discarded: more than the log limit]\nc");
  now = 100_000;
  assert.equal(rate.keep("d".repeat(401)), "");
  assert.equal(reports, 1);
});

test("logs are kept by Function and found again, those written last coming last", async () => {
  using folder = tempFolder();
  assert.deepEqual(await listFunctionLogs(join(folder.path, "none")), []);
  const specs = [{ name: "fn-b", functionName: "fn" }, { name: "fn" }, { name: "fn-a", functionName: "fn" }];
  for (const [index, spec] of specs.entries()) {
    const path = functionLogPath(folder.path, spec);
    folder.write(path.slice(folder.path.length + 1), "x");
    folder.write(`${path.slice(folder.path.length + 1)}.1`, "older");
    utimesSync(path, 100 - index, 100 - index);
  }
  folder.write("stray.log", "not in a function's folder");
  const found = (await listFunctionLogs(folder.path)).map(({ functionName, revision }) => [functionName, revision]);
  assert.deepEqual(found, [
    ["fn", "fn-a"],
    ["fn", "fn"],
    ["fn", "fn-b"],
  ]);
});

test("the last logs of deleted revisions of each Function are kept, and all logs of existing ones", async () => {
  using folder = tempFolder();
  const write = (functionName: string, name: string, time: number): string => {
    const path = functionLogPath(folder.path, { name, functionName });
    folder.write(path.slice(folder.path.length + 1), "x");
    folder.write(`${path.slice(folder.path.length + 1)}.1`, "x");
    utimesSync(path, time, time);
    return path;
  };
  const [live, old, newer, newest] = [
    write("fn", "live", 1),
    write("fn", "old", 2),
    write("fn", "new", 3),
    write("fn", "newest", 4),
  ];
  const other = write("other", "old", 1);
  await collectFunctionLogs(folder.path, { isThere: ({ revision }) => revision === "live", spare: 2 });
  const there = [live, old, newer, newest, other].map((path) => existsSync(path));
  assert.deepEqual(there, [true, false, true, true, true]);
  assert.equal(existsSync(`${old}.1`), false, "both files go");
});
