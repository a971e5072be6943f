// SPDX-License-Identifier: Apache-2.0
// The harness itself: it must see a held loop, and must not see one where there is none.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { holdLog } from "./hold-log.ts";
import { holdLimits } from "./responsive.ts";
import { startAttackedServer } from "./server.ts";

/** A program that burns CPU time for this long in one turn, or in many short ones. */
const burner = `
  const [total, slice] = process.argv.slice(2).map(Number);
  const cpuMs = (since) => { const { user, system } = process.threadCpuUsage(since); return (user + system) / 1000; };
  const burn = (ms) => { const start = process.threadCpuUsage(); while (cpuMs(start) < ms); };
  setTimeout(function next(done = 0) {
    burn(slice);
    if (done + slice < total) setImmediate(next, done + slice);
    else setTimeout(() => {}, 50);
  }, 50);
`;

test("the hold log has the CPU time of the longest turn", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hold-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const program = join(directory, "burner.mjs");
  writeFileSync(program, burner);
  for (const { slice, least, most } of [
    { slice: 400, least: 380, most: 800 },
    { slice: 10, least: 0, most: 60 },
  ]) {
    const holds = holdLog(mkdtempSync(join(directory, "log-")));
    const child = spawn(process.execPath, [...holds.nodeOptions, program, "400", String(slice)], {
      env: { ...process.env, ...holds.env },
      stdio: "inherit",
    });
    const started = Date.now();
    await once(child, "exit");
    const held = holds.longestSince(started);
    assert.ok(held >= least && held <= most, `slices of ${slice} ms: ${held}`);
    assert.equal(holds.longestSince(Date.now() + 1), 0, "only turns since then count");
  }
});

test("an idle server is responsive, and its pings are counted", async () => {
  await using server = await startAttackedServer();
  await server.during("idle", () => delay(300));
  const report = server.watched.reports.get("idle");
  assert.ok(report && report.pings > 3, JSON.stringify(report));
  // In this order: memory that the server allocates between the two readings raises the peak.
  const memory = server.process.memory();
  const peak = server.process.peakMemory();
  assert.ok(memory > 0 && peak >= memory, `${memory} MiB, at most ${peak}`);
});

test("--quiet lowers the limit of a turn, and limits pings", () => {
  assert.deepEqual(holdLimits({}), { heldMs: 250, gapMs: Infinity });
  assert.deepEqual(holdLimits({ HOSTILE_QUIET: "1" }), { heldMs: 100, gapMs: 100 });
});
