// SPDX-License-Identifier: Apache-2.0
// memory.max, pids.max and cpu.max of a real kernel. Few machines delegate control groups (version 2) with these controllers to a test, so
// it brings a kernel: User Mode Linux is Linux as a program, on the files of this machine, read-only. It depends on linux.uml
// (Debian: apt-get install user-mode-linux), and fails where that is missing.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { ProbeReport } from "./harness/control-group-probe.ts";

const probe = join(import.meta.dirname, "harness/control-group-probe.ts");
const folder = mkdtempSync(join(tmpdir(), "control-groups-"));
let report: ProbeReport;

/** The first program of the machine: makes a group as a session manager would, and runs the probe as its only member. */
const init = `#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+memory +pids +cpu" > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/delegated
mount -t tmpfs tmpfs /run
export TMPDIR=/run
sh -c 'echo $$ > /sys/fs/cgroup/delegated/cgroup.procs; exec "$0" "$1"' "${process.execPath}" "${probe}"
echo o > /proc/sysrq-trigger
sleep 60
`;

before(async () => {
  const file = join(folder, "init");
  writeFileSync(file, init);
  chmodSync(file, 0o755);
  const kernel = ["mem=512M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", `init=${file}`, "quiet"];
  const consoles = ["con=null", "con0=fd:0,fd:1", "panic=-1"];
  const child = spawn("linux.uml", [...kernel, ...consoles], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await once(child, "close");
  const line = /^PROBE (.*?)\r?$/m.exec(output)?.[1];
  assert.ok(line, `the probe printed no report: ${output.slice(-3_000)}`);
  report = JSON.parse(line) as ProbeReport;
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("the group that was delegated is found, and its controllers are used", () => {
  assert.equal(report.own, "/sys/fs/cgroup/delegated");
  assert.deepEqual([...report.controllers].sort(), ["cpu", "memory", "pids"]);
});

test("memory.max: the kernel ends a program that uses more, and it is counted", () => {
  assert.equal(report.memory.signal, "SIGKILL");
  assert.ok(report.memory.oomKills > 0);
});

test("pids.max: the kernel refuses more processes, and it is counted", () => {
  assert.ok(report.processes.refusedProcesses > 0);
  assert.equal(report.processes.oomKills, 0);
});

test("cpu.max: the kernel pauses a program that never rests", () => {
  assert.ok(report.cpuThrottles > 0);
});

test("a function that the kernel ends for its memory has the limit in its problem", () => {
  const { mechanism, problem } = report.function;
  assert.match(mechanism, /^control groups \(.*memory/);
  // The kernel says only that it happened; what supervision measures has an amount.
  assert.match(
    problem,
    /^the function exceeded its memory limit of 32Mi and was stopped; raise --function-memory-limit/,
  );
});

test("nothing is left of the groups", () => {
  assert.equal(report.isRemoved, true);
});
