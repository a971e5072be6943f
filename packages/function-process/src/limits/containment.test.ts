// SPDX-License-Identifier: Apache-2.0
// What is written down about a run of the control plane, and what the next run ends because of it.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { type Containment, openContainment, ownStart } from "./containment.ts";
import { createMarks, markVariable } from "./marked-processes.ts";

const options = { skip: process.platform !== "linux" && "there is no /proc" };

/** A containment that uses nothing but marks. */
const open = (directory: string): Containment =>
  openContainment({ directory, controlGroups: false, pidNamespaces: false });

const recordIn = (directory: string): string => join(directory, "processes.json");
const readRecord = (directory: string): Record<string, unknown> =>
  JSON.parse(readFileSync(recordIn(directory), "utf8")) as Record<string, unknown>;
const bootId = (): string => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();

/** A record of a run whose process is gone: pids are smaller. */
const former = (first: number, more: object = {}): string =>
  JSON.stringify({ first, since: ownStart(), uid: process.getuid?.(), boot: bootId(), pid: 2 ** 22 + 1, ...more });

/** A process of a function of a former run. */
function leftover(mark: number): ChildProcess {
  return spawn("sleep", ["60"], { env: { PATH: "/usr/bin:/bin", [markVariable]: String(mark) }, stdio: "ignore" });
}

describe("the record of a run", options, () => {
  test("is written when it begins, for this user only, and removed when it ends", async () => {
    using folder = tempFolder();
    const directory = join(folder.path, "new/functions");
    const containment = open(directory);
    const { run } = containment;
    assert.deepEqual(readRecord(directory), {
      ...{ first: run.first, since: ownStart(), uid: process.getuid?.(), boot: bootId(), pid: process.pid },
    });
    assert.equal(statSync(recordIn(directory)).mode & 0o777, 0o600);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    assert.equal(await containment.leftovers, 0);
    containment.close();
    assert.equal(existsSync(recordIn(directory)), false);
    containment.close();
  });

  test("of a later run stays when an earlier one ends", () => {
    using folder = tempFolder();
    const [earlier, later] = [open(folder.path), open(folder.path)];
    earlier.close();
    assert.equal(readRecord(folder.path)["first"], later.run.first);
    later.close();
  });

  test("that cannot be written does not fail the run", async () => {
    using folder = tempFolder({ file: "" });
    const containment = open(join(folder.path, "file/functions"));
    assert.equal(await containment.leftovers, 0);
    containment.close();
  });
});

describe("processes of a former run", options, () => {
  test("are ended, and those of other runs are not", async () => {
    using folder = tempFolder();
    const [marks, others] = [createMarks(), createMarks()];
    const [ours, other] = [leftover(marks.next()), leftover(others.next())];
    await Promise.all([once(ours, "spawn"), once(other, "spawn")]);
    const ended = once(ours, "exit");
    writeFileSync(recordIn(folder.path), former(marks.first));
    const containment = open(folder.path);
    assert.equal(await containment.leftovers, 1);
    assert.deepEqual((await ended)[1], "SIGKILL");
    assert.equal(other.exitCode ?? other.signalCode, null);
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    containment.close();
  });

  const kept: Readonly<Record<string, object>> = {
    "of another start of the machine": { boot: "another" },
    "of another user": { uid: 2 ** 30 },
    "that still runs": { pid: process.pid },
    "that began later than the process": { since: 2 ** 50 },
  };
  for (const [name, more] of Object.entries(kept)) {
    test(`stay where the record is one ${name}`, async () => {
      using folder = tempFolder();
      const marks = createMarks();
      const child = leftover(marks.next());
      await once(child, "spawn");
      writeFileSync(recordIn(folder.path), former(marks.first, more));
      const containment = open(folder.path);
      assert.equal(await containment.leftovers, 0);
      assert.equal(child.exitCode ?? child.signalCode, null);
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      containment.close();
    });
  }

  test("are not looked for by a record that is damaged", async () => {
    const first = createMarks().first;
    for (const text of [
      ...["", "{", "null", "[]", "{}"],
      former(first, { pid: "1" }),
      former(first, { since: 1.5 }),
      former(first, { boot: 5 }),
      former(first, { groups: 5 }),
    ]) {
      using folder = tempFolder();
      writeFileSync(recordIn(folder.path), text);
      const containment = open(folder.path);
      assert.equal(await containment.leftovers, 0, text);
      containment.close();
    }
  });
});

describe("what a process of a function is held together by", options, () => {
  test("is a mark of its own, in its limits and its environment", () => {
    using folder = tempFolder();
    const containment = open(folder.path);
    const [one, other] = [containment.enclose(), containment.enclose()];
    assert.deepEqual([one.mark, other.mark], [containment.run.first, containment.run.first + 1]);
    assert.deepEqual(one.env, { PURLIN_FUNCTION_MARK: String(one.mark) });
    assert.match(one.setup, new RegExp(`^:\\nulimit -m ${one.mark} `));
    assert.match(one.teardown, new RegExp(`" ${one.mark} "`));
    assert.deepEqual([one.group, containment.groups, containment.namespace], [undefined, undefined, undefined]);
    containment.close();
  });

  test("ends everything with its mark, and several at once", async () => {
    using folder = tempFolder();
    const containment = open(folder.path);
    const enclosures = [containment.enclose(), containment.enclose(), containment.enclose()];
    const children = enclosures.map(({ mark }) => leftover(mark));
    await Promise.all(children.map((child) => once(child, "spawn")));
    const [first, second, third] = children.map((child) => once(child, "exit"));
    enclosures[0]?.kill();
    await Promise.all([enclosures[0]?.end(), enclosures[1]?.end()]);
    assert.deepEqual([(await first)?.[1], (await second)?.[1]], ["SIGKILL", "SIGKILL"]);
    assert.equal(children[2]?.exitCode ?? children[2]?.signalCode, null, "it was not asked for");
    await enclosures[2]?.end();
    assert.equal((await third)?.[1], "SIGKILL");
    assert.equal(enclosures[0]?.isOutOfMemory(), false);
    containment.close();
  });
});
