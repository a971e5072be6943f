// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { forEachLimited, Turns } from "./turns.ts";

function burn(milliseconds: number): void {
  const start = performance.now();
  while (performance.now() - start < milliseconds);
}

test("a task that has just begun goes on", () => {
  assert.equal(new Turns().isOver, false);
});

test("a task that has run for a while is over until its next turn", async () => {
  const turns = new Turns();
  burn(20);
  assert.equal(turns.isOver, true);
  await turns.next();
  assert.equal(turns.isOver, false);
});

test("tasks that wait at the same time go on in different turns of the event loop", async () => {
  let turn = 0;
  let counting = true;
  const count = (): void => {
    turn++;
    if (counting) setImmediate(count);
  };
  count();
  const seen = await Promise.all(
    Array.from({ length: 20 }, async () => {
      await new Turns().next();
      return turn;
    }),
  );
  counting = false;
  assert.equal(new Set(seen).size, 20);
});

test("other work runs between the items of a long list", async () => {
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  await forEachLimited([...new Array(20).keys()], 4, async () => burn(10));
  clearInterval(ticking);
  assert.ok(ticks >= 5, `${ticks} ticks`);
});
