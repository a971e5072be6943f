// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { descendants, memories, processorTimes, since, total } from "./usage.ts";

test("usage is summed by the name of the processes", () => {
  const twice = memories({ one: [process.pid], two: [process.pid, process.pid] });
  assert.ok((twice["two"] ?? 0) > (twice["one"] ?? 0) * 1.5);
  assert.ok((processorTimes({ one: [process.pid] })["one"] ?? 0) > 0);
});

test("increases are listed by name; new names count from zero", () => {
  assert.deepEqual(since({ a: 1, gone: 5 }, { a: 3, b: 2 }), { a: 2, b: 2 });
});

test("a total may leave some out", () => {
  assert.equal(total({ a: 1, b: 2, etcd: 4 }), 7);
  assert.equal(total({ a: 1, b: 2, etcd: 4 }, "etcd"), 3);
});

test("descendants are children and their children", async () => {
  const script = 'require("child_process").spawn("sleep", ["60"]).once("spawn", () => console.log("up"))';
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const pids: number[] = [];
  try {
    await once(child.stdout, "data");
    pids.push(...descendants(process.pid));
    assert.ok(pids.includes(child.pid ?? 0));
    assert.equal(descendants(child.pid ?? 0).length, 1);
  } finally {
    for (const pid of descendants(child.pid ?? 0)) process.kill(pid);
    child.kill();
  }
  await once(child, "exit");
});
