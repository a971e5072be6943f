// SPDX-License-Identifier: Apache-2.0
// The last lines of a function in memory, the limit of its output, and its files, at their limits.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import {
  collectFunctionLogs,
  createLogRate,
  createLogTail,
  functionLogPath,
  listFunctionLogs,
  openLogFile,
} from "./function-output.ts";
import { readPaced } from "./launch-function.ts";

describe("the last lines", () => {
  test("are as many as fit, each with its line break, and at least one", () => {
    const tail = createLogTail(9);
    tail.add("aa\nbb\ncc\n");
    assert.deepEqual(tail.lines(), ["aa", "bb", "cc"], "three lines of three characters");
    tail.add("d\n");
    assert.deepEqual(tail.lines(), ["bb", "cc", "d"]);
    tail.add(`${"x".repeat(50)}\n`);
    assert.deepEqual(tail.lines(), ["x".repeat(50)], "one that is too long stays alone");
  });

  test("are the last ones of many thousands, whenever they are read", () => {
    const tail = createLogTail(100);
    for (let n = 0; n < 5000; n++) {
      tail.add(`line ${String(n).padStart(4, "0")}\n`);
      if (n % 997 !== 0) continue;
      const lines = tail.lines();
      assert.equal(lines.at(-1), `line ${String(n).padStart(4, "0")}`);
      assert.ok(lines.length <= 10);
    }
    const expected = Array.from({ length: 10 }, (_, n) => `line ${4990 + n}`);
    assert.deepEqual(tail.lines(), expected);
  });

  test("include one that is still being written, in parts and cut at 4,096 characters", () => {
    const tail = createLogTail(100_000);
    tail.add("be");
    tail.add("gin\nne");
    assert.deepEqual(tail.lines(), ["begin", "ne"]);
    tail.add("xt\n");
    assert.deepEqual(tail.lines(), ["begin", "next"]);
    tail.add("y".repeat(5000));
    tail.add("z".repeat(5000));
    assert.equal(tail.lines().at(-1)?.length, 4096);
    tail.add("\n");
    assert.equal(tail.lines().at(-1), "y".repeat(4096));
    tail.add("\n\n");
    assert.deepEqual(tail.lines().slice(-2), ["", ""]);
  });
});

describe("the rate of output", () => {
  const limited = (bytesPerSecond: number) => {
    let [now, exceeded] = [0, 0];
    const clock = { now: () => now, schedule: () => () => {} };
    const rate = createLogRate(bytesPerSecond, clock, () => void exceeded++);
    const pass = (ms: number): void => {
      now += ms;
    };
    return { rate, pass, exceeded: () => exceeded };
  };

  test("is four seconds at once, and then what time has brought", () => {
    const { rate, pass, exceeded } = limited(10);
    assert.equal(rate.keep("x".repeat(40)).length, 40);
    assert.equal(rate.keep("y"), "");
    assert.equal(exceeded(), 1);
    pass(100);
    assert.equal(rate.keep("z"), "\n[1 bytes were discarded: more than the log limit]\nz");
    assert.equal(rate.keep("z"), "");
    assert.equal(exceeded(), 1, "it is reported once");
  });

  test("counts bytes, not characters, and says how many were discarded", () => {
    const { rate, pass, exceeded } = limited(10);
    assert.equal(rate.keep("ä☃😀".repeat(4)).length, 16, "36 bytes");
    assert.equal(rate.keep("☃ä"), "", "2 characters, but 5 bytes");
    assert.equal(exceeded(), 1);
    pass(100);
    assert.equal(rate.keep("😀x"), "\n[5 bytes were discarded: more than the log limit]\n😀x", "5 bytes are left");
    assert.equal(rate.keep("x"), "");
  });

  test("is the same however the bytes of a character are split into chunks", async () => {
    const line = Buffer.from("grüße ☃ 😀\n");
    for (let at = 1; at < line.length; at++) {
      const { rate } = limited(line.length);
      const output = Readable.from([line.subarray(0, at), line.subarray(at)], { objectMode: false });
      let kept = "";
      readPaced(output, (text) => {
        kept += rate.keep(text);
      });
      await once(output, "end");
      assert.equal(kept, line.toString(), `split after ${at} bytes`);
      assert.equal(rate.keep("x".repeat(3 * line.length + 1)), "", `split after ${at} bytes: each byte counts once`);
      assert.notEqual(rate.keep("x".repeat(3 * line.length)), "");
    }
  });

  test("counts bytes that are not UTF-8 as they are written to the log", async () => {
    const { rate, exceeded } = limited(10);
    const output = Readable.from([Buffer.alloc(14, 0xff)], { objectMode: false });
    readPaced(output, (text) => assert.equal(rate.keep(text), "", "14 replacement characters of 3 bytes"));
    await once(output, "end");
    assert.equal(exceeded(), 1);
  });

  test("never saves up more than four seconds, and time that goes back adds nothing", () => {
    const { rate, pass } = limited(10);
    pass(3_600_000);
    assert.equal(rate.keep("x".repeat(41)), "");
    assert.notEqual(rate.keep("x".repeat(40)), "");
    pass(-5000);
    assert.equal(rate.keep("y"), "");
  });
});

describe("a log file", () => {
  test("is there before anything is written, for this user only, and turns when it is over its limit", () => {
    using folder = tempFolder();
    const path = join(folder.path, "fn/fn-1.log");
    const log = openLogFile(path, 10);
    assert.deepEqual([statSync(path).size, statSync(path).mode & 0o777], [0, 0o600]);
    log.add("0123456789");
    log.add("a");
    assert.equal(existsSync(`${path}.1`), false, "at its limit it continues");
    log.add("b");
    assert.deepEqual([readFileSync(`${path}.1`, "utf8"), readFileSync(path, "utf8")], ["0123456789a", "b"]);
    const again = openLogFile(path, 10);
    again.add("c".repeat(10));
    again.add("d");
    assert.equal(readFileSync(`${path}.1`, "utf8"), `b${"c".repeat(10)}`, "what was there before counts");
  });

  test("counts bytes, not characters", () => {
    using folder = tempFolder();
    const path = join(folder.path, "fn.log");
    const log = openLogFile(path, 10);
    log.add("äöüäöü");
    log.add("next");
    assert.equal(readFileSync(path, "utf8"), "next");
  });

  test("whose folder is gone is begun again, and never an error", () => {
    using folder = tempFolder();
    const path = join(folder.path, "fn/fn.log");
    const log = openLogFile(path, 10);
    log.add("before");
    rmSync(join(folder.path, "fn"), { recursive: true });
    log.add("lost");
    log.add("after");
    assert.equal(readFileSync(path, "utf8"), "after");
    mkdirSync(join(folder.path, "taken.log"));
    openLogFile(join(folder.path, "taken.log"), 10).add("nowhere");
  });
});

describe("the logs of functions", () => {
  const logs = {
    "a/a-1.log": "",
    "a/a-1.log.1": "",
    "a/a-2.log": "",
    "a/a-3.log": "",
    "b/b-1.log": "",
    "a/notes.txt": "",
  };

  test("are listed by the time of their last line, with function and revision", async () => {
    using folder = tempFolder(logs);
    for (const [index, name] of ["a/a-2.log", "b/b-1.log", "a/a-1.log", "a/a-3.log"].entries()) {
      utimesSync(join(folder.path, name), 100 + index, 100 + index);
    }
    assert.deepEqual(
      (await listFunctionLogs(folder.path)).map(({ functionName, revision, writtenMs }) => [
        functionName,
        revision,
        writtenMs,
      ]),
      [
        ["a", "a-2", 100_000],
        ["b", "b-1", 101_000],
        ["a", "a-1", 102_000],
        ["a", "a-3", 103_000],
      ],
    );
    assert.deepEqual(await listFunctionLogs(join(folder.path, "none")), []);
    assert.equal(functionLogPath("/logs", { name: "fn-1", functionName: "fn" }), "/logs/fn/fn-1.log");
    assert.equal(functionLogPath("/logs", { name: "fn" }), "/logs/fn/fn.log");
  });

  test("of revisions that are gone are removed, except the last few of each function", async () => {
    using folder = tempFolder(logs);
    for (const [index, name] of ["a/a-1.log", "a/a-2.log", "a/a-3.log", "b/b-1.log"].entries()) {
      utimesSync(join(folder.path, name), 100 + index, 100 + index);
    }
    const left = async (): Promise<string> =>
      (await listFunctionLogs(folder.path)).map(({ revision }) => revision).join();
    await collectFunctionLogs(folder.path, { isThere: ({ revision }) => revision === "a-2", spare: 1 });
    assert.equal(await left(), "a-2,a-3,b-1");
    assert.equal(existsSync(join(folder.path, "a/a-1.log.1")), false);
    await collectFunctionLogs(folder.path, { isThere: () => true, spare: 0 });
    assert.equal(await left(), "a-2,a-3,b-1");
    await collectFunctionLogs(folder.path, { isThere: () => false, spare: 0 });
    assert.equal(await left(), "");
    assert.ok(existsSync(join(folder.path, "a/notes.txt")));
  });
});
