// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type CpuClock, cpusUsed, createThrottle, nextDuty } from "./throttle.ts";

const duties: readonly (readonly [duty: number, used: number, limit: number, expected: number])[] = [
  [1, 2, 1, 0.5],
  [0.5, 1, 1, 0.5],
  [0.5, 0.5, 1, 1],
  [0.5, 0, 1, 1],
  [1, 100, 0.1, 0.05],
];
for (const [duty, used, limit, expected] of duties) {
  test(`a function that used ${used} of ${limit} processors while it ran ${duty} of the time may run ${expected}`, () => {
    assert.equal(nextDuty(duty, used, limit), expected);
  });
}

test("processes are stopped and continued in turn, and continued at the end", async () => {
  const sent: string[] = [];
  const throttle = createThrottle(
    (_, signal) => sent.push(signal),
    () => [],
  );
  throttle.set(1, [{ pid: 1, start: 1 }]);
  throttle.set(0.5, []);
  assert.deepEqual(sent, [], "nothing to do");
  throttle.set(0.5, [{ pid: 1, start: 1 }]);
  while (sent.length < 3) await setTimeout(10);
  throttle.end();
  assert.deepEqual(sent.slice(0, 3), ["SIGSTOP", "SIGCONT", "SIGSTOP"]);
  assert.equal(sent.at(-1), "SIGCONT");
});

test("what processes have started is stopped after them, and continued with them", async () => {
  const sent: string[] = [];
  const throttle = createThrottle(
    (target, signal) => sent.push(`${target.pid} ${signal}`),
    (targets) => targets.map(({ pid }) => ({ pid: pid + 9, start: 1 })),
  );
  throttle.set(0.5, [
    { pid: 1, start: 1 },
    { pid: 2, start: 1 },
  ]);
  while (sent.length < 8) await setTimeout(10);
  throttle.end();
  const stop = [1, 2, 10, 11].map((one) => `${one} SIGSTOP`);
  const go = [1, 2, 10, 11].map((one) => `${one} SIGCONT`);
  assert.deepEqual(sent.slice(0, 8), [...stop, ...go]);
});

test("processor time counts since the last measurement", () => {
  const clock: CpuClock = new Map();
  const stat = { parent: 1, childTicks: 0, threads: 1, resident: 0, isZombie: false };
  assert.equal(cpusUsed([{ ...stat, pid: 2, start: 1, ticks: 200 }], clock, 1000), 2);
  assert.equal(cpusUsed([{ ...stat, pid: 2, start: 1, ticks: 250 }], clock, 1000), 0.5);
  assert.equal(
    cpusUsed([{ ...stat, pid: 2, start: 9, ticks: 10 }], clock, 1000),
    0.1,
    "its pid belongs to another one",
  );
  assert.equal(cpusUsed([], clock, 0), 0);
});
