// SPDX-License-Identifier: Apache-2.0
// What processes use, as the kernel says: memory, open files, and files without a name. Measured on this process.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { commandLineOf, until } from "../../test/local-processes.ts";
import { type ProcessStat, pageBytes, readStat } from "./marked-processes.ts";
import {
  busyIn,
  type CpuClock,
  cpusUsed,
  type HeldFiles,
  heldFiles,
  isClose,
  judge,
  type LookStart,
  pageTableBytes,
  proportionalBytes,
  residentBytes,
} from "./throttle.ts";

const options = { skip: process.platform !== "linux" && "there is no /proc" };
/** A process that does not exist: pids are smaller. */
const gone: ProcessStat = {
  ...{ pid: 2 ** 22 + 1, parent: 1, start: 1, ticks: 0, childTicks: 0, threads: 1, resident: 10, isZombie: false },
};
const filesOf = (family: readonly ProcessStat[]): HeldFiles => finish(heldFiles(family));
const own = (): ProcessStat => readStat(process.pid) ?? assert.fail("this process is gone");
const statusKilobytes = (name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync("/proc/self/status", "utf8"))?.[1]);

describe("memory", options, () => {
  test("is the pages of all processes, times the size of a page", () => {
    assert.equal(residentBytes([]), 0);
    assert.equal(
      residentBytes([
        { ...gone, resident: 3 },
        { ...gone, resident: 4 },
      ]),
      7 * pageBytes(),
    );
    assert.ok([4096, 16_384, 65_536].includes(pageBytes()), String(pageBytes()));
  });

  test("of this process is what its status says, give or take what changes meanwhile", () => {
    const expected = statusKilobytes("VmRSS") * 1024;
    const found = residentBytes([own()]);
    assert.ok(found > expected / 2 && found < expected * 2, `${found} of ${expected}`);
  });

  test("that is shared counts in proportion, so it is not more than what is resident", async () => {
    const [shared, resident] = [await proportionalBytes([own()]), residentBytes([own()])];
    assert.ok(shared > 1024 * 1024 && shared < resident * 1.5, `${shared} of ${resident}`);
  });

  test("includes page tables, whose size is in the status of each process", async () => {
    const expected = statusKilobytes("VmPTE") * 1024;
    const found = await pageTableBytes([own(), gone, own()]);
    assert.ok(found > expected && found < expected * 4, `${found}, twice ${expected}`);
  });

  test("of a process that is gone is 0", async () => {
    assert.equal(await proportionalBytes([gone]), 0);
    assert.equal(await proportionalBytes([]), 0);
  });
});

describe("memory of a family of many processes", options, () => {
  const family = (): ProcessStat[] => Array.from({ length: 50 }, own);

  test("is read while other work runs", async () => {
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await proportionalBytes(family());
    isDone = true;
    assert.ok(turns >= 50, `${turns} turns of the event loop`);
  });

  test("is read until it exceeds the limit", async () => {
    const [one, most] = [await proportionalBytes([own()]), await proportionalBytes(family(), 1)];
    assert.ok(most > 1 && most < 2 * one, `${most} of ${one} a process`);
  });

  test("is read of its largest processes first", async () => {
    const small = Array.from({ length: 20 }, () => spawn("sleep", ["60"], { stdio: "ignore" }));
    try {
      const family = [...small.map(({ pid }) => readStat(pid ?? 0) ?? assert.fail("it is gone")), own()];
      const [one, most] = [await proportionalBytes([own()]), await proportionalBytes(family, 1)];
      assert.ok(most > one / 2, `${most} of ${one}`);
    } finally {
      for (const child of small) child.kill("SIGKILL");
    }
  });
});

describe("open files of a family of many processes", options, () => {
  /** CPU time of the longest part, in ms, and what was found. */
  function measure(family: readonly ProcessStat[]): { readonly longestMs: number; readonly found: HeldFiles } {
    const work = heldFiles(family);
    let longestMs = 0;
    for (;;) {
      const before = process.cpuUsage();
      const part = work.next();
      const { user, system } = process.cpuUsage(before);
      longestMs = Math.max(longestMs, (user + system) / 1000);
      if (part.done) return { longestMs, found: part.value };
    }
  }

  test("with thousands of open files each are looked at in parts", () => {
    const before = filesOf([own()]).openFiles;
    const files = Array.from({ length: 3_000 }, () => openSync("/dev/null", "r"));
    try {
      const { longestMs, found } = measure(Array.from({ length: 400 }, own));
      // Where they are counted one by one, the folder that lists them is one of them.
      assert.ok(found.openFiles >= before + 2_999, `${found.openFiles} after ${before}`);
      assert.ok(longestMs < 100, `one part took ${longestMs} ms of CPU time`);
    } finally {
      for (const file of files) closeSync(file);
    }
  });
});

describe("deleted files of a family of many processes", options, () => {
  const megabyte = 1024 * 1024;

  /** Starts a shell script with open files, of which one is a deleted file of a megabyte. */
  function start(script: string, { openFiles, deletedAt }: { openFiles: number; deletedAt: number }): ChildProcess {
    using folder = tempFolder({ large: "x".repeat(megabyte) });
    const path = join(folder.path, "large");
    const [deleted, other] = [openSync(path, "r"), openSync("/dev/null", "r")];
    rmSync(path);
    const stdio = Array.from({ length: openFiles }, (_, at) => (at === deletedAt ? deleted : other));
    try {
      return spawn("/bin/sh", ["-c", script], { stdio: [other, "pipe", ...stdio.slice(2)], detached: true });
    } finally {
      for (const file of [deleted, other]) closeSync(file);
    }
  }
  const end = ({ pid = 0 }: ChildProcess): boolean => process.kill(-pid, "SIGKILL");
  const statOf = (pid: number | undefined): ProcessStat => readStat(pid ?? 0) ?? assert.fail("it is gone");

  test("count where the other processes have few files", () => {
    const child = start("sleep 60", { openFiles: 61, deletedAt: 60 });
    try {
      const others = Array.from({ length: 899 }, () => gone);
      assert.ok(filesOf([statOf(child.pid), ...others]).deletedBytes >= megabyte);
    } finally {
      end(child);
    }
  });

  test("count in one of the looks where all processes have many files", async () => {
    const script = "for i in $(seq 70); do sleep 60 9<&- & echo $!; done; sleep 60 & echo $!; wait";
    const child = start(script, { openFiles: 512, deletedAt: 9 });
    try {
      const pids = await numbersOf(child, 71);
      await until(() => pids.every((pid) => commandLineOf(pid).startsWith("sleep")));
      const family = pids.toSorted((a, b) => a - b).map(statOf);
      const twice = (start: LookStart): boolean[] =>
        [1, 2].map(() => finish(heldFiles(family, start)).deletedBytes >= megabyte);
      assert.deepEqual(twice({ pid: 0 }), [false, true]);
      assert.deepEqual(twice({ pid: (pids.at(-1) ?? 0) + 1 }), [false, true], "what the last look ended at is gone");
      const many = Array.from({ length: 100 }, () => family).flat();
      assert.ok(filesOf(many).openFiles >= 500, "files are counted of more processes than can be looked at");
    } finally {
      end(child);
    }
  });

  async function numbersOf({ stdout }: ChildProcess, count: number): Promise<number[]> {
    const lines = createInterface(stdout ?? assert.fail("it has no output"));
    const numbers: number[] = [];
    for await (const line of lines) if (numbers.push(Number(line)) === count) break;
    return numbers;
  }
});

describe("open files", options, () => {
  test("are those of the process that has most, without processes that have ended", () => {
    const before = filesOf([own()]).openFiles;
    const files = Array.from({ length: 20 }, () => openSync("/dev/null", "r"));
    try {
      const { openFiles } = filesOf([gone, own(), gone]);
      assert.ok(openFiles >= before + 20, `${openFiles} after ${before}`);
      assert.equal(filesOf([{ ...own(), isZombie: true }]).openFiles, 0);
    } finally {
      for (const file of files) closeSync(file);
    }
    assert.deepEqual(filesOf([gone]), { openFiles: 0, memoryBytes: 0, deletedBytes: 0 });
  });

  test("that were deleted still take room, each once, and none after they are closed", () => {
    using folder = tempFolder();
    const path = join(folder.path, "large");
    writeFileSync(path, Buffer.alloc(1024 * 1024, 7));
    const before = filesOf([own()]).deletedBytes;
    const [file, again] = [openSync(path, "r+"), openSync(path, "r")];
    const { blocks } = statSync(path);
    assert.equal(filesOf([own()]).deletedBytes, before, "it has a name");
    rmSync(path);
    assert.equal(filesOf([own()]).deletedBytes - before, blocks * 512);
    assert.equal(filesOf([own(), own()]).deletedBytes - before, blocks * 512, "the same file in two processes");
    writeSync(file, Buffer.alloc(512 * 1024, 8), 0, 512 * 1024, 1024 * 1024);
    assert.ok(filesOf([own()]).deletedBytes - before > blocks * 512, "it has grown");
    closeSync(file);
    closeSync(again);
    assert.equal(filesOf([own()]).deletedBytes, before);
  });
});

describe("processor time", options, () => {
  const stat = (pid: number, ticks: number): ProcessStat => ({ ...gone, pid, ticks });

  test("is that of all processes, and of a new one since it began", () => {
    const clock: CpuClock = new Map();
    cpusUsed([stat(1, 100), stat(2, 300)], clock, 1000);
    assert.equal(cpusUsed([stat(1, 150), stat(2, 350), stat(3, 50)], clock, 1000), 1.5);
    assert.deepEqual(
      [...clock],
      [
        ["1 1", { ticks: 150, childTicks: 0 }],
        ["2 1", { ticks: 350, childTicks: 0 }],
        ["3 1", { ticks: 50, childTicks: 0 }],
      ],
    );
  });

  test("of a process that has ended is forgotten", () => {
    const clock: CpuClock = new Map();
    cpusUsed([stat(1, 100), stat(2, 300)], clock, 1000);
    assert.equal(cpusUsed([stat(2, 300)], clock, 2000), 0);
    assert.deepEqual([...clock.keys()], ["2 1"]);
  });

  test("of a process that has ended is that of the parent that waited for it, and counts once", () => {
    const clock: CpuClock = new Map();
    cpusUsed([stat(1, 100), stat(2, 300)], clock, 1000);
    const parent = { ...stat(1, 110), childTicks: 350 };
    assert.equal(cpusUsed([parent], clock, 1000), 0.6);
    assert.equal(cpusUsed([{ ...parent, childTicks: 450 }], clock, 1000), 1, "children that came and went meanwhile");
    assert.equal(cpusUsed([{ ...parent, childTicks: 450 }, stat(3, 20)], clock, 1000), 0.2);
  });

  test("makes a process busy, also that of children that it waited for", () => {
    const clock: CpuClock = new Map();
    const family = [stat(1, 100), stat(2, 300), stat(3, 100)];
    cpusUsed(family, clock, 1000);
    const now = [stat(1, 101), stat(2, 302), { ...stat(3, 100), childTicks: 50 }, stat(4, 1), stat(5, 2)];
    const busy = busyIn(now, clock, 1000).map(({ pid }) => pid);
    assert.deepEqual(busy, [2, 3, 5]);
  });

  test("without time that has passed is 0", () => {
    assert.equal(cpusUsed([stat(1, 100)], new Map(), 0), 0);
    assert.equal(cpusUsed([stat(1, 100)], new Map(), -5), 0);
  });
});

describe("limits", () => {
  const limits = {
    ...{ memoryBytes: 1000, processes: 10, cpus: 1, openFiles: 10, tmpBytes: 100, logBytesPerSecond: 1 },
  };
  const none = { memoryBytes: 0, processes: 0, tmpBytes: 0 };

  test("the first one that is exceeded is the reason", () => {
    for (const usage of [
      { ...none, memoryBytes: 1001 },
      { ...none, processes: 11 },
      { ...none, tmpBytes: 101 },
    ]) {
      assert.ok(judge(usage, limits) !== undefined, JSON.stringify(usage));
    }
    assert.equal(judge(none, limits), undefined);
  });

  test("a function is close to one of them before it exceeds it", () => {
    assert.equal(isClose(none, limits), false);
    for (const usage of [
      { ...none, memoryBytes: 1000 },
      { ...none, processes: 10 },
      { ...none, tmpBytes: 100 },
    ]) {
      assert.ok(isClose(usage, limits), JSON.stringify(usage));
    }
  });
});
