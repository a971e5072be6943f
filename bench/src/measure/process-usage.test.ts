// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fineProcessorTime, processorTime, residentMemory, shareOfMemory } from "./process-usage.ts";

test("resident memory is what the process itself sees", () => {
  const own = process.memoryUsage.rss() / 2 ** 20;
  const seen = residentMemory(process.pid);
  assert.ok(seen > own * 0.5 && seen < own * 2, `${seen} against ${own}`);
});

test("a share of memory is no more than what is resident", () => {
  const share = shareOfMemory(process.pid);
  assert.ok(share > 1 && share <= residentMemory(process.pid) * 1.1, String(share));
});

test("processor time grows with work, and is what the process itself sees", () => {
  const before = processorTime(process.pid);
  while (processorTime(process.pid) < before + 0.05) Math.sqrt(before);
  const { user, system } = process.cpuUsage();
  assert.ok(Math.abs(processorTime(process.pid) - (user + system) / 1e6) < 0.5);
});

test("fine processor time is the same, and that of a process that is gone is zero", () => {
  const difference = fineProcessorTime(process.pid) - processorTime(process.pid);
  assert.ok(Math.abs(difference) < 0.5, String(difference));
  assert.equal(fineProcessorTime(2 ** 22 + 1), 0);
});

test("a process that is gone is an error", () => {
  assert.throws(() => residentMemory(2 ** 22 + 1), /ENOENT/);
});
