// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { LaunchEvents } from "../spawn/supervision.ts";
import { type RestartPolicy, Supervisor } from "./supervisor.ts";

/** A supervisor whose processes are played by the test, and everything that happens, in words. */
interface Stage {
  readonly supervisor: Supervisor;
  readonly log: string[];
  readonly clock: ManualClock;
  /** The process that was started as the nth. */
  process(number: number): LaunchEvents;
  /** Says that the process at an address answers. */
  answer(address: string): Promise<void>;
  /** Reports that no call uses an address. */
  release(address: string): Promise<void>;
}

const restart: RestartPolicy = { baseMs: 100, maxMs: 500, healthyMs: 0 };

function stage(options: { readonly restart?: RestartPolicy } = { restart }): Stage {
  const log: string[] = [];
  const clock = manualClock();
  const started: LaunchEvents[] = [];
  const waiting = new Map<string, () => void>();
  const wait = (what: string): Promise<void> => new Promise((resolve) => void waiting.set(what, resolve));
  const wake = async (what: string): Promise<void> => {
    waiting.get(what)?.();
    await setImmediate();
  };
  const supervisor = new Supervisor({
    launch(events) {
      const number = started.push(events);
      log.push(`start ${number}`);
      return {
        kill: () => void log.push(`kill ${number}`),
        async stop() {
          log.push(`stop ${number}`);
        },
      };
    },
    answers: (address) => wait(`answer ${address}`),
    released: (address) => wait(`release ${address}`),
    startLimitMs: 60_000,
    ...options,
    clock,
    observer: {
      serving: ({ address }) => void log.push(`serving ${address}`),
      failed: ({ text, lastGood }) => void log.push(`failed: ${text}${lastGood ? " (last good serves)" : ""}`),
      died: (text) => void log.push(`died: ${text}`),
      output: (stream, text) => void log.push(`${stream}: ${text}`),
    },
  });
  return {
    supervisor,
    log,
    clock,
    process: (number) => started[number - 1] ?? assert.fail(`no process ${number}`),
    answer: (address) => wake(`answer ${address}`),
    release: (address) => wake(`release ${address}`),
  };
}

async function serving(): Promise<Stage> {
  const on = stage();
  on.process(1).message({ type: "serving", address: "one" });
  await on.answer("one");
  on.log.length = 0;
  return on;
}

test("a process is announced when it answers, not when it says that it listens", async () => {
  const { log, process, answer } = stage();
  process(1).message({ type: "serving", address: "one" });
  await setImmediate();
  assert.deepEqual(log, ["start 1"]);
  await answer("one");
  assert.deepEqual(log, ["start 1", "serving one"]);
});

test("the new version serves before the old one stops, and the old one stays while it is used", async () => {
  const { log, supervisor, process, answer, release } = await serving();
  supervisor.reload();
  process(2).message({ type: "serving", address: "two" });
  await answer("two");
  assert.deepEqual(log, ["start 2", "serving two"]);
  await release("one");
  assert.deepEqual(log, ["start 2", "serving two", "stop 1"]);
  process(1).ended("exit code 0");
  assert.equal(log.length, 3, "the end of a replaced process is not reported");
});

test("a new version that fails leaves the old one serving, is reported once and retried later", async () => {
  const { log, supervisor, process, clock } = await serving();
  supervisor.reload();
  process(2).message({ type: "failed", text: "fn.ts:3:1: no", reason: "code" });
  process(2).ended("exit code 1");
  assert.deepEqual(log, ["start 2", "failed: fn.ts:3:1: no (last good serves)"]);
  clock.advance(100);
  assert.equal(log.at(-1), "start 3");
});

test("a version that is saved over while it starts never serves", async () => {
  const { log, supervisor, process, answer } = await serving();
  supervisor.reload();
  process(2).message({ type: "serving", address: "two" });
  supervisor.reload();
  await answer("two");
  process(2).ended("SIGKILL");
  process(3).message({ type: "serving", address: "three" });
  await answer("three");
  assert.deepEqual(log, ["start 2", "kill 2", "start 3", "serving three"]);
});

test("a function that dies is restarted with exponential backoff", () => {
  const { log, process, clock } = stage();
  const waits: number[] = [];
  for (let number = 1; number <= 5; number++) {
    process(number).ended("exit code 1");
    const wait = Math.min(...clock.delays);
    waits.push(wait);
    clock.advance(wait);
  }
  assert.deepEqual(waits, [100, 200, 400, 500, 500]);
  assert.equal(log.filter((line) => line.startsWith("failed: the function ended before it served")).length, 5);
});

test("a function that served long enough counts as healthy: its next failure restarts it at once", async () => {
  const { log, process, clock } = await serving();
  process(1).ended("SIGKILL");
  assert.deepEqual(log, ["died: the function ended by itself (SIGKILL)"]);
  assert.deepEqual(Math.min(...clock.delays), 100);
});

test("a version that never answers is given up", async () => {
  const { log, process, clock, answer } = stage();
  process(1).message({ type: "serving", address: "one" });
  clock.advance(60_000);
  assert.deepEqual(log, ["start 1", "failed: the function did not answer within 60 s", "kill 1"]);
  await answer("one");
  assert.equal(log.length, 3, "it comes too late");
});

test("a function whose port was taken moves to another one at once, and fails when that does not help", async () => {
  const { log, process, clock, answer } = stage();
  const taken = { type: "failed", text: "cannot listen on 127.0.0.1:1", reason: "port taken" } as const;
  const fail = (number: number): void => {
    process(number).message(taken);
    process(number).ended("exit code 1");
  };
  fail(1);
  process(2).message({ type: "serving", address: "two" });
  await answer("two");
  assert.deepEqual(log, ["start 1", "kill 1", "start 2", "serving two"]);
  log.length = 0;
  process(2).ended("exit code 1");
  clock.advance(100);
  for (const number of [3, 4, 5, 6]) fail(number);
  const starts = ["start 3", "kill 3", "start 4", "kill 4", "start 5", "kill 5", "start 6"];
  assert.deepEqual(log, ["died: the function ended by itself (exit code 1)", ...starts, `failed: ${taken.text}`]);
});

test("without a restart policy, a failed version waits for the next save", () => {
  const { log, process, clock, supervisor } = stage({});
  process(1).ended("exit code 1");
  clock.advance(1e9);
  assert.equal(log.filter((line) => line.startsWith("start")).length, 1);
  supervisor.reload();
  assert.equal(log.at(-1), "start 2");
});

test("after stop, nothing is started, announced or reported", async () => {
  const { log, process, supervisor, clock, answer } = await serving();
  supervisor.reload();
  process(2).message({ type: "serving", address: "two" });
  await supervisor.stop();
  await answer("two");
  process(1).ended("exit code 0");
  process(2).ended("exit code 0");
  clock.advance(1e9);
  supervisor.reload();
  assert.deepEqual(log, ["start 2", "stop 1", "stop 2"]);
});
