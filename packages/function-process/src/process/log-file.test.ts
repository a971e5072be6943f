// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/oci/testing";
import { openLogFile } from "./log-file.ts";

test("a log is appended to, moved aside when it is full, and never grows beyond two files", () => {
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

test("a log that cannot be written stops nobody, and goes on when it can", () => {
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
