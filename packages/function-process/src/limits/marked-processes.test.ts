// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { until } from "../../test/local-processes.ts";
import { ownStart } from "./containment.ts";
import { isPidMaxOwn } from "./limit-script.ts";
import {
  createMarks,
  descendantsOf,
  endMarked,
  findMarked,
  forEachInTurns,
  killSame,
  markOf,
  markScript,
  marksInLimits,
  markVariable,
  readStat,
  searchScript,
} from "./marked-processes.ts";

const header = "Limit                     Soft Limit           Hard Limit           Units     ";
const line = (name: string, hard: string): string => `${name.padEnd(26)}${hard.padEnd(21)}${hard.padEnd(21)}units`;

const limits: Record<string, readonly [string, readonly number[]]> = {
  none: [line("Max file locks", "unlimited"), []],
  both: [[line("Max resident set", "2048"), line("Max file locks", "2")].join("\n"), [2, 2]],
  "one lowered": [[line("Max resident set", "2048"), line("Max file locks", "1")].join("\n"), [1, 2]],
  "not of a shell": [line("Max resident set", "1000"), []],
  nothing: ["", []],
};
for (const [name, [text, expected]] of Object.entries(limits)) {
  test(`marks are read from limits: ${name}`, () => {
    assert.deepEqual(marksInLimits(`${header}\n${text}\n`), expected);
  });
}

test("runs have marks of their own", () => {
  const [one, other] = [createMarks(), createMarks()];
  assert.notEqual(one.first, other.first);
  assert.deepEqual([one.next(), one.next()], [one.first, one.first + 1]);
  assert.ok(Number.isSafeInteger(one.first * 1024));
});

test("descendants are found by their parents, parents first, up to a number", async () => {
  const child = spawn("/bin/sh", ["-c", "{ sleep 60 & sleep 60 & wait; } & wait"], { stdio: "ignore", detached: true });
  const pid = child.pid ?? assert.fail("it did not start");
  try {
    const isWhole = (): boolean => descendantsOf([pid], 10).length === 3;
    await until(isWhole);
    const [shell, ...sleeps] = descendantsOf([pid], 10);
    assert.equal(readStat(shell ?? 0)?.parent, pid);
    assert.deepEqual(
      sleeps.map((one) => readStat(one)?.parent),
      [shell, shell],
    );
    assert.deepEqual(descendantsOf([pid], 2), [shell, sleeps[0]]);
    // Those of several are found once, and none of themselves.
    assert.deepEqual(descendantsOf([pid, shell ?? 0, pid], 10), sleeps);
  } finally {
    process.kill(-pid, "SIGKILL");
  }
  assert.deepEqual(descendantsOf([2 ** 22 + 1], 10), []);
});

interface Escape {
  readonly script: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Each continues without the shell that started it. */
const escapes: Record<string, Escape> = {
  "in the background": { script: "sleep 60 &" },
  "in a session of its own": { script: "setsid sleep 60 &" },
  "without environment": { script: "setsid env -i sleep 60 &" },
  "twice removed": { script: "setsid sh -c 'setsid env -i sleep 60 & exit' &" },
  "with one mark lowered": { script: "ulimit -m 5; setsid env -i sleep 60 &" },
  "with both marks lowered, and its environment": {
    script: "ulimit -m 5; { ulimit -x 5 || ulimit -w 5; } 2>/dev/null; setsid sleep 60 &",
  },
};
const programOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, "utf8").trim();

for (const [name, { script }] of Object.entries(escapes)) {
  for (const by of ["the control plane", "a shell"]) {
    test(`a marked process that continues ${name} is found and ended by ${by}`, async () => {
      // A shell looks at limits only.
      if (by === "a shell" && name.includes("both")) return;
      const marks = createMarks();
      const mark = marks.next();
      const run = { first: marks.first, since: ownStart(), uid: process.getuid?.() ?? -1 };
      const child = spawn("/bin/sh", ["-c", `${markScript(mark)}\n${script}`], {
        stdio: "ignore",
        env: { PATH: "/usr/bin:/bin", [markVariable]: String(mark) },
      });
      await new Promise((resolve) => child.once("exit", resolve));
      // The shells in between may be seen until they end.
      await until(async () => {
        const found = await findMarked(run);
        return found.length === 1 && found.every(({ stat }) => programOf(stat.pid) === "sleep");
      });
      assert.equal((await findMarked(run))[0]?.mark, mark);
      await endMarked(run, (one) => one !== mark);
      assert.equal((await findMarked(run)).length, 1, "another mark is left alone");
      if (by === "a shell") spawn("/bin/sh", ["-c", searchScript(mark)], { stdio: "ignore" });
      else assert.equal(await endMarked(run, (one) => one === mark), 1);
      await until(async () => (await findMarked(run)).length === 0);
    });
  }
}

test("a process without a mark, of another run or from before is left alone", async () => {
  const child = spawn("/bin/sh", ["-c", "exec sleep 60"], { stdio: "ignore" });
  const pid = child.pid ?? 0;
  const run = { first: createMarks().first, since: ownStart(), uid: process.getuid?.() ?? -1 };
  assert.equal(markOf(pid, run.first), undefined);
  assert.equal(await endMarked(run, () => true), 0);
  killSame({ pid, start: (readStat(pid)?.start ?? 0) + 1 });
  assert.ok(readStat(pid)?.isZombie === false, "its pid alone is not enough");
  child.kill("SIGKILL");
});

test("a mark is found in a large environment, and similar names are not taken for one", async () => {
  const run = { first: createMarks().first };
  const filler = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`A${at}`, "x".repeat(100_000)]));
  const env = { ...filler, [`X${markVariable}`]: String(run.first), [markVariable]: String(run.first + 7) };
  const child = spawn("/bin/sleep", ["60"], { stdio: "ignore", env });
  try {
    await until(async () => markOf(child.pid ?? 0, run.first) === run.first + 7);
  } finally {
    child.kill("SIGKILL");
  }
});

test("other work runs between items that take long", async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns++;
  }, 0);
  await forEachInTurns(Array.from({ length: 40 }), () => {
    const end = performance.now() + 5;
    while (performance.now() < end);
  });
  clearInterval(timer);
  assert.ok(turns >= 5, `${turns} timers in 200 ms of work`);
});

test("the largest pid is set only where it is that of a namespace", () => {
  const kernels = ["6.13.12", "6.14.0-1-amd64", "5.15.0", "7.0.1", "6.18.44-fc", "", "6"];
  assert.deepEqual(kernels.map(isPidMaxOwn), [false, true, false, true, true, false, false]);
});
