// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { TurnBudget } from "./turn-budget.ts";

test("requests that arrive together are spread over turns, a few milliseconds of work in each", async () => {
  let now = 0;
  let turn = 0;
  const budget = new TurnBudget(() => now);
  const workByTurn: number[] = [];
  let isOver = false;
  const countTurns = (): void => {
    turn += 1;
    if (!isOver) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const request = async (): Promise<void> => {
    if (budget.isSpent()) await budget.turn();
    workByTurn[turn] = (workByTurn[turn] ?? 0) + 5;
    now += 5;
  };
  await Promise.all(Array.from({ length: 100 }, request));
  isOver = true;
  const worked = workByTurn.filter((ms) => ms > 0);
  assert.equal(
    worked.reduce((sum, ms) => sum + ms, 0),
    500,
    "every request was answered",
  );
  assert.ok(Math.max(...worked) <= 40, `at most two budgets fall into one turn: ${Math.max(...worked)} ms`);
  assert.ok(worked.length >= 10);
});
