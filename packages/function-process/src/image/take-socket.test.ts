// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { takeSocket } from "./prepare-sandboxed.ts";

test("a function listens where it did last, and elsewhere while that is in use", async () => {
  using folder = tempFolder();
  const wanted = join(folder.path, "sockets", "fn");
  const first = await takeSocket(wanted);
  assert.equal(first.path, wanted);
  const second = await takeSocket(wanted);
  const third = await takeSocket(wanted);
  assert.deepEqual([second.path, third.path], [`${wanted}.1`, `${wanted}.2`]);
  await first.dispose();
  await second.dispose();
  await third.dispose();
  const again = await takeSocket(wanted);
  assert.equal(again.path, `${wanted}.2`, "calls meanwhile wait there");
  await again.dispose();
});

test("a socket left by a killed process is replaced, and disposed sockets are removed", async () => {
  using folder = tempFolder({ fn: "left behind" });
  const wanted = join(folder.path, "fn");
  const socket = await takeSocket(wanted);
  assert.equal(existsSync(wanted), false);
  writeFileSync(wanted, "");
  await socket.dispose();
  assert.equal(existsSync(wanted), false);
});
