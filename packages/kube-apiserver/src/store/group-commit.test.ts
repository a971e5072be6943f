// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupCommit } from "./group-commit.ts";

interface Recorder {
  readonly groups: number[][];
  readonly abandoned: number[][];
  readonly commits: GroupCommit<number>;
}

/** The item 13 cannot be committed; items are as large as their number. */
function recorder(): Recorder {
  const groups: number[][] = [];
  const abandoned: number[][] = [];
  const commits = new GroupCommit<number>({
    commit: (items) => {
      if (items.includes(13)) throw unlucky;
      groups.push([...items]);
    },
    abandon: (items) => abandoned.push([...items]),
    sizeOf: (item) => item,
  });
  return { groups, abandoned, commits };
}

const unlucky = new Error("unlucky");

/** Adds this many items in each of several turns of the event loop, after a commit that took some milliseconds, and returns the groups. */
async function groupsOverTurns(took: number, perTurn: readonly number[]): Promise<number[]> {
  let time = 0;
  const groups: number[] = [];
  const commits = new GroupCommit<number>({
    commit: (items) => {
      groups.push(items.length);
      time += took;
    },
    abandon: () => {},
    sizeOf: () => 1,
    now: () => time,
  });
  await commits.add(0);
  const all: Promise<void>[] = [];
  for (const count of perTurn) {
    all.push(...Array.from({ length: count }, () => commits.add(1)));
    await new Promise((resolve) => setImmediate(resolve));
    time += 1;
  }
  await Promise.all(all);
  return groups.slice(1);
}

test("a group waits while every turn adds to it, for no longer than the last commit took", async () => {
  assert.deepEqual(await groupsOverTurns(10, [2, 2, 2, 2]), [8]);
  const [first = 0, ...others] = await groupsOverTurns(2, [2, 2, 2, 2, 2, 2]);
  assert.ok(first < 12 && others.length > 0, "a fast disk is not kept waiting");
  assert.deepEqual(await groupsOverTurns(10, [2, 0, 2]), [2, 2], "a turn without a write ends the group");
  assert.deepEqual(await groupsOverTurns(10, [1, 1]), [1, 1], "a single write does not wait");
});

test("what is added in one turn is committed together, in order, and nothing before the turn ends", async () => {
  const { groups, commits } = recorder();
  const all = Promise.all([1, 2, 3].map((item) => commits.add(item)));
  await Promise.resolve();
  assert.deepEqual(groups, [], "still the same turn");
  await all;
  await commits.add(4);
  assert.deepEqual(groups, [[1, 2, 3], [4]]);
});

test("a turn that adds too much is committed in several groups", async () => {
  const { groups, commits } = recorder();
  const half = 2 * 1024 * 1024;
  await Promise.all([half, half, half, 9 * half, 1].map((item) => commits.add(item)));
  assert.deepEqual(groups, [[half, half], [half], [9 * half], [1]]);
  await Promise.all(Array.from({ length: 1030 }, () => commits.add(0)));
  assert.deepEqual(
    groups.slice(4).map((group) => group.length),
    [512, 512, 6],
  );
});

test("a failed commit fails everything behind it, which may rest on it, and nothing after", async () => {
  const { groups, abandoned, commits } = recorder();
  const large = 5 * 1024 * 1024;
  const results = await Promise.allSettled([commits.add(large), commits.add(13), commits.add(2), commits.settled()]);
  assert.deepEqual(
    results.map((result) => result.status),
    ["fulfilled", "rejected", "rejected", "rejected"],
  );
  assert.equal((results[3] as PromiseRejectedResult).reason, unlucky);
  assert.deepEqual(abandoned, [[13, 2]]);
  await commits.add(7);
  assert.deepEqual(groups, [[large], [7]]);
});

test("a failed commit fails the groups behind it too, and none of them is committed", async () => {
  const { groups, abandoned, commits } = recorder();
  const large = 5 * 1024 * 1024;
  const items = [13, large, large, 2];
  const results = await Promise.allSettled(items.map((item) => commits.add(item)));
  assert.deepEqual(
    results.map((result) => result.status === "rejected" && result.reason),
    items.map(() => unlucky),
  );
  assert.deepEqual(abandoned, [items]);
  await commits.add(7);
  assert.deepEqual(groups, [[7]]);
});

test("settled waits for earlier items, and for nothing when there are none", async () => {
  const { groups, commits } = recorder();
  await commits.settled();
  void commits.add(1);
  const waiting = commits.settled().then(() => groups.length);
  assert.equal(await waiting, 1);
});

test("flush commits at once", () => {
  const { groups, commits } = recorder();
  void commits.add(1);
  commits.flush();
  assert.deepEqual(groups, [[1]]);
});
