// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/oci/testing";
import { collectFunctionLogs, functionLogPath, listFunctionLogs } from "./function-logs.ts";

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
