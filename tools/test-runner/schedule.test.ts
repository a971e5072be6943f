// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { runGroups } from "./schedule.ts";
import type { Group } from "./test-process.ts";

const groupOf = (title: string, inTurn = false): Group => ({ title, files: [title], silenceMs: 1, inTurn });

/** Runs groups, each for some turns of the event loop, and notes which ran at once. */
async function watch(
  suite: Parameters<typeof runGroups>[0],
): Promise<{ readonly seen: string[]; readonly ran: string[] }> {
  const running = new Set<string>();
  const seen: string[] = [];
  const ran: string[] = [];
  let open = 0;
  const run = async ({ title }: Group): Promise<void> => {
    running.add(title);
    seen.push([...running].join("+"));
    await delay(title.length);
    ran.push(title);
    running.delete(title);
  };
  await runGroups(suite, () => {
    open += 1;
    return {
      run,
      end: async () => {
        open -= 1;
      },
    };
  });
  assert.equal(open, 0, "every runner is ended");
  return { seen, ran };
}

test("groups run in their order, as many at once as allowed, and those that run alone at the end", async () => {
  const groups = ["aaaa", "b", "cc", "ddd"].map((title) => groupOf(title));
  const { seen, ran } = await watch({ groups, atOnce: 2, alone: [groupOf("e"), groupOf("f")] });
  assert.equal(ran.length, 6);
  assert.deepEqual(seen.slice(0, 2), ["aaaa", "aaaa+b"]);
  assert.ok(seen.every((titles) => titles.split("+").length <= 2));
  assert.deepEqual(seen.slice(-2), ["e", "f"]);
});

test("groups that run in turn never run beside each other, and every one of them runs", async () => {
  const groups = [groupOf("tt", true), groupOf("ttt", true), groupOf("a"), groupOf("bbb"), groupOf("tttt", true)];
  const { seen, ran } = await watch({ groups, atOnce: 3 });
  assert.deepEqual(ran.toSorted(), groups.map(({ title }) => title).toSorted());
  for (const titles of seen) assert.ok(titles.split("+").filter((title) => title.startsWith("t")).length <= 1, titles);
  assert.ok(
    seen.some((titles) => titles.includes("+")),
    "others run beside them",
  );
});
