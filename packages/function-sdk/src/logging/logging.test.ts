// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { newLogger, nopLogger } from "./new-logger.ts";

interface Captured {
  readonly lines: string[];
  readonly log: ReturnType<typeof newLogger>;
}

function capture(debug = false): Captured {
  const lines: string[] = [];
  return { lines, log: newLogger({ debug, write: (line) => lines.push(line), now: () => 1_700_000_000_250 }) };
}

const parse = (line: string | undefined): Record<string, unknown> => JSON.parse(line ?? "") as Record<string, unknown>;

test("a line is a JSON object with level, ts, caller, msg and the fields, in that order", () => {
  const { lines, log } = capture();
  log.info("composed", { name: "bucket", count: 2 });
  assert.equal(lines.length, 1);
  const entry = parse(lines[0]);
  assert.deepEqual(Object.keys(entry), ["level", "ts", "caller", "msg", "name", "count"]);
  assert.deepEqual(
    { ...entry, caller: undefined },
    { level: "info", ts: 1_700_000_000.25, caller: undefined, msg: "composed", name: "bucket", count: 2 },
  );
  assert.match(String(entry["caller"]), /^logging\/logging\.test\.ts:\d+$/);
  assert.ok(lines[0]?.endsWith("\n"));
});

test("the caller is the line that logs, through a child logger too", () => {
  const { lines, log } = capture();
  const where = new Error().stack?.split("\n")[1] ?? "";
  log.withValues({ a: 1 }).error("x");
  const line = Number(/:(\d+):\d+\)?$/.exec(where)?.[1]) + 1;
  assert.equal(parse(lines[0])["caller"], `logging/logging.test.ts:${line}`);
});

test("debug messages appear with debug only, and then in a form for people", () => {
  const quiet = capture();
  quiet.log.debug("hidden");
  assert.deepEqual(quiet.lines, []);
  const loud = capture(true);
  loud.log.debug("shown", { a: 1 });
  loud.log.info("plain");
  assert.match(
    loud.lines[0] ?? "",
    /^2023-11-14T22:13:20\.250Z {2}DEBUG {2}logging\/logging\.test\.ts:\d+ {2}shown {2}\{"a":1\}\n$/,
  );
  assert.match(loud.lines[1] ?? "", / {2}INFO {3}logging\/logging\.test\.ts:\d+ {2}plain\n$/);
});

test("child loggers add fields; later ones win; none can replace the head", () => {
  const { lines, log } = capture();
  const child = log.withValues({ tag: "t", a: 1 }).withValues({ a: 2 });
  child.info("m", { b: 3, msg: "fake", level: "fake" });
  log.info("parent");
  assert.deepEqual(
    { ...parse(lines[0]), caller: undefined, ts: undefined },
    { level: "info", ts: undefined, caller: undefined, msg: "m", tag: "t", a: 2, b: 3 },
  );
  assert.equal("tag" in parse(lines[1]), false);
});

test("fields may be anything", () => {
  const { lines, log } = capture();
  const circular: Record<string, unknown> = { a: 1 };
  circular["self"] = circular;
  log.info("odd", {
    error: new Error("outer", { cause: new Error("inner") }),
    big: 12n,
    symbol: Symbol("s"),
    map: new Map([["k", 1]]),
    set: new Set([1]),
    missing: undefined,
  });
  const { error, big, symbol, map, set } = parse(lines[0]);
  assert.deepEqual([error, big, symbol, map, set], ["outer: inner", "12", "Symbol(s)", { k: 1 }, [1]]);
  log.error("circular", { circular, n: 1 });
  assert.match(String(parse(lines[1])["circular"]), /Circular/);
  log.error("hostile", {
    hostile: {
      toJSON(): never {
        throw new Error("no");
      },
    },
  });
  assert.equal(parse(lines[2])["msg"], "hostile");
});

test("the silent logger writes nothing", () => {
  nopLogger.debug("a");
  nopLogger.info("b");
  nopLogger.error("c");
  assert.equal(nopLogger.withValues({ a: 1 }), nopLogger);
});
