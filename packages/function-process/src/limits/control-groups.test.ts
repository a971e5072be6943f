// SPDX-License-Identifier: Apache-2.0
// The files that are written for control groups, in a folder that stands for the kernel's: most machines delegate none to a test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { enable, endGroups, groupAt, openControlGroups, ownControlGroup } from "./control-groups.ts";
import { defaultFunctionLimits } from "./function-limits.ts";

const self = 4711;
const launcher = 4710;

interface Delegation {
  readonly controllers: string;
  readonly members: readonly number[];
  readonly enabled: readonly string[];
}

const delegations: Record<string, Delegation> = {
  "all controllers": { controllers: "cpuset cpu io memory pids", members: [self], enabled: ["cpu", "memory", "pids"] },
  "with its launcher": { controllers: "memory pids", members: [launcher, self], enabled: ["memory", "pids"] },
  "with a shell of the user": { controllers: "memory pids", members: [self, 4000], enabled: [] },
  "other controllers": { controllers: "hugetlb", members: [self], enabled: [] },
};
for (const [name, { controllers, members, enabled }] of Object.entries(delegations)) {
  test(`limits are asked for where the group is this control plane's: ${name}`, () => {
    using folder = tempFolder({
      "cgroup.procs": members.map((pid) => `${pid}\n`).join(""),
      "cgroup.controllers": `${controllers}\n`,
      "run/x": "",
    });
    const found = enable({ own: folder.path, pid: self, launcher }, join(folder.path, "run"));
    assert.deepEqual([...found], enabled);
    assert.equal(
      existsSync(join(folder.path, "purlin-control-plane")),
      enabled.length > 0,
      "processes are moved only then",
    );
  });
}

test("the limits of a group are those of its function, for the controllers that there are", () => {
  using folder = tempFolder({ x: "", "memory.events": "low 0\noom 2\noom_kill 1\n" });
  const read = (file: string): string => readFileSync(join(folder.path, file), "utf8");
  const group = groupAt(folder.path, new Set(["memory", "cpu"]));
  group.limit({ ...defaultFunctionLimits, memoryBytes: 1_000_000, cpus: 1.5 });
  assert.deepEqual([read("memory.max"), read("memory.oom.group"), read("cpu.max")], ["1000000", "1", "150000 100000"]);
  assert.equal(existsSync(join(folder.path, "pids.max")), false);
  assert.equal(group.count("memory.events", "oom_kill"), 1);
  assert.equal(group.count("pids.events", "max"), 0);
});

test("a group is entered and ended by a shell, and swaps nothing", () => {
  using folder = tempFolder({ x: "" });
  const read = (file: string): string => readFileSync(join(folder.path, file), "utf8");
  const group = groupAt(folder.path, new Set(["memory", "pids", "cpu"]));
  assert.equal(group.enter, `echo 0 2>/dev/null >'${folder.path}/cgroup.procs'`);
  assert.equal(group.end, `echo 1 2>/dev/null >'${folder.path}/cgroup.kill'`);
  group.limit({ ...defaultFunctionLimits, memoryBytes: 1000.6, processes: 9.5, cpus: 0.25 });
  assert.deepEqual(["memory.max", "memory.swap.max", "pids.max", "cpu.max"].map(read), [
    "1001",
    "0",
    "10",
    "25000 100000",
  ]);
  group.kill();
  assert.equal(read("cgroup.kill"), "1");
  assert.equal(group.remove(), false, "something is in it");
});

test("without controllers no limit is written, and a group that is gone is not an error", () => {
  using folder = tempFolder({ "group/.keep": "" });
  const path = join(folder.path, "group");
  groupAt(path, new Set()).limit(defaultFunctionLimits);
  assert.deepEqual(readdirSync(path), [".keep"]);
  const gone = groupAt(join(folder.path, "gone"), new Set(["memory"]));
  gone.limit(defaultFunctionLimits);
  gone.kill();
  assert.deepEqual([gone.remove(), gone.count("memory.events", "oom_kill")], [false, 0]);
});

test("the groups of a run are ended by name: no other folder is touched", () => {
  using folder = tempFolder({ "purlin-12-3/1/.keep": "", "purlin-12-3/2/.keep": "", "purlin-12-3/file": "" });
  const killed = (path: string): boolean => existsSync(join(folder.path, path, "cgroup.kill"));
  endGroups(join(folder.path, "purlin-12-3"));
  assert.deepEqual([killed("purlin-12-3/1"), killed("purlin-12-3/2"), killed("purlin-12-3")], [true, true, false]);
  for (const name of ["purlin-12", "purlin-12-3-4", "other-12-3", "xpurlin-12-3", "purlin-a-3"]) {
    using other = tempFolder({ [`${name}/1/.keep`]: "" });
    endGroups(join(other.path, name));
    assert.equal(existsSync(join(other.path, name, "1", "cgroup.kill")), false, name);
  }
  endGroups(join(folder.path, "purlin-99-9"));
});

test("an empty group of a run is removed with the run", () => {
  using folder = tempFolder({ "purlin-12-3/.keep": "" });
  rmSync(join(folder.path, "purlin-12-3/.keep"));
  endGroups(join(folder.path, "purlin-12-3"));
  assert.equal(existsSync(join(folder.path, "purlin-12-3")), false);
});

test("groups are not opened in a folder that is not a control group", () => {
  using folder = tempFolder({ "cgroup.procs": "" });
  assert.equal(openControlGroups({ own: folder.path, pid: self }), undefined);
  assert.deepEqual(readdirSync(folder.path), ["cgroup.procs"]);
  assert.equal(openControlGroups({ own: join(folder.path, "missing"), pid: self }), undefined);
});

// With all controllers: test/hostile/limits/control-groups.test.ts, which brings a kernel of its own.
test("groups of this machine end what is in them, where they are delegated", async (t) => {
  const own = ownControlGroup();
  const groups = own === undefined ? undefined : openControlGroups({ own, pid: process.pid });
  if (groups === undefined) {
    t.diagnostic(`no control group (version 2) is delegated to this user: ${own ?? "none is mounted"}`);
    return;
  }
  const group = groups.create();
  assert.ok(group);
  group.limit(defaultFunctionLimits);
  const child = spawn("/bin/sh", ["-c", `${group.enter}\nsetsid sleep 60 & exec sleep 60`], { stdio: "ignore" });
  const ended = new Promise<string | null>((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  const members = (): string => readFileSync(join(groups.path, "1/cgroup.procs"), "utf8").trim();
  while (members().split("\n").length < 2) await setTimeout(20);
  group.kill();
  assert.equal(await ended, "SIGKILL");
  while (!group.remove()) await setTimeout(20);
  groups.close();
  assert.equal(existsSync(groups.path), false);
});
