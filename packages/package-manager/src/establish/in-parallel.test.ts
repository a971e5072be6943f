// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { inParallel } from "./establish.ts";

test("results come in the order of the items, and no more run than are allowed", async () => {
  const scene = fc.record({
    turns: fc.array(fc.nat({ max: 4 }), { maxLength: 40 }),
    workers: fc.integer({ min: 1, max: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(scene, async ({ turns, workers }) => {
      let running = 0;
      let most = 0;
      const results = await inParallel([...turns.entries()], workers, async ([at, count]) => {
        most = Math.max(most, ++running);
        for (let done = 0; done < count; done++) await turn();
        running--;
        return at;
      });
      assert.deepEqual(results, [...turns.keys()]);
      assert.ok(most <= workers, `${most} ran at once`);
    }),
    { numRuns: 50 },
  );
});

test("after a failure nothing new is begun, and what runs ends first", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const release = Promise.withResolvers<void>();
  const working = inParallel([0, 1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item);
    if (item === 1) throw new Error("boom");
    await release.promise;
    ended.push(item);
  });
  let isSettled = false;
  const settled = working.catch(() => {}).finally(() => (isSettled = true));
  await turn();
  assert.deepEqual([begun, isSettled], [[0, 1], false], "the first item still runs");
  release.resolve();
  await settled;
  await assert.rejects(working, /boom/);
  assert.deepEqual([begun, ended], [[0, 1], [0]]);
});

test("nothing to do is done at once", async () => {
  assert.deepEqual(await inParallel([], 10, async () => assert.fail("there is nothing to do")), []);
});
