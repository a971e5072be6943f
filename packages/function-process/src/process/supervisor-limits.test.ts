// SPDX-License-Identifier: Apache-2.0
// What a supervisor does at limits, and what it says of Functions and Providers that end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { LaunchEvents } from "../spawn/supervision.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";

interface Stage {
  readonly log: string[];
  readonly clock: ManualClock;
  readonly supervisor: Supervisor;
  process(number: number): LaunchEvents;
  /** Lets a process serve at an address, which answers. */
  serve(number: number, address: string): Promise<void>;
}

/** A supervisor whose processes answer at once; the log has what it does and reports. */
function stage(options: Partial<SupervisorOptions> = {}): Stage {
  const log: string[] = [];
  const clock = manualClock();
  const started: LaunchEvents[] = [];
  const supervisor = new Supervisor({
    launch(events, before) {
      const number = started.push(events);
      log.push(before === undefined ? `start ${number}` : `start ${number} at ${before}`);
      return { kill: () => void log.push(`kill ${number}`), stop: async () => void log.push(`stop ${number}`) };
    },
    answers: async () => {},
    released: async () => {},
    startLimitMs: 1500,
    clock,
    observer: {
      serving: ({ address }) => void log.push(`serving ${address}`),
      failed: ({ text, setup }) => void log.push(`failed: ${text}${setup ? " (setup)" : ""}`),
      died: (text) => void log.push(`died: ${text}`),
      output: (stream, text) => void log.push(`${stream}: ${text}`),
      exceeded: (text) => void log.push(`exceeded: ${text}`),
      held: (text) => void log.push(`held: ${text}`),
    },
    ...options,
  });
  const process = (number: number): LaunchEvents => started[number - 1] ?? assert.fail(`no process ${number}`);
  return {
    log,
    clock,
    supervisor,
    process,
    async serve(number, address) {
      process(number).message({ type: "serving", address });
      await setImmediate();
    },
  };
}

test("a version that exceeds a limit is killed, and the limit is why it died", async () => {
  const { log, process, serve } = stage();
  await serve(1, "one");
  process(1).exceeded("it used 300 MiB of memory");
  process(1).exceeded("it had 900 processes");
  process(1).ended("SIGKILL");
  process(1).exceeded("after its end");
  assert.deepEqual(log, [
    "start 1",
    "serving one",
    "exceeded: it used 300 MiB of memory",
    "kill 1",
    "died: it used 300 MiB of memory",
  ]);
});

test("a version that exceeds a limit before it serves has failed for that", () => {
  const { log, process } = stage();
  process(1).exceeded("it used 300 MiB of memory");
  process(1).ended("SIGKILL");
  assert.equal(log.at(-1), "failed: it used 300 MiB of memory");
});

test("output and limits that hold a version are reported, and it continues", async () => {
  const { log, process, serve } = stage();
  process(1).output("stderr", "hello\n");
  process(1).held("it is held to 1 CPU");
  await serve(1, "one");
  assert.deepEqual(log, ["start 1", "stderr: hello\n", "held: it is held to 1 CPU", "serving one"]);
});

test("messages name a provider as such", async () => {
  const { log, process, clock, serve } = stage({ noun: "provider", advice: "look at its output" });
  clock.advance(1499);
  assert.deepEqual(log, ["start 1"]);
  clock.advance(1);
  assert.equal(log[1], "failed: the provider did not answer within 1.5 s; look at its output");
  const other = stage({ noun: "provider" });
  other.process(1).ended("exit code 2");
  assert.equal(other.log.at(-1), "failed: the provider ended at once (exit code 2)");
  const third = stage({ noun: "provider" });
  await third.serve(1, "one");
  third.process(1).ended("exit code 0");
  assert.equal(third.log.at(-1), "died: the provider ended by itself (exit code 0)");
  process(1).ended("SIGKILL");
  await serve(1, "late");
  assert.equal(log.filter((line) => line.startsWith("failed") || line.startsWith("serving")).length, 1);
});

test("an error of the set-up is reported as one", () => {
  const { log, process } = stage();
  process(1).message({ type: "failed", text: "no image", reason: "setup" });
  assert.deepEqual(log, ["start 1", "failed: no image (setup)"]);
});

test("the first start tries the address before the restart, the next start another one", () => {
  const { log, supervisor } = stage({ before: "old" });
  supervisor.reload();
  assert.deepEqual(log, ["start 1 at old", "kill 1", "start 2"]);
});

test("a version that died is started at its address; one that starts beside it is not", async () => {
  const restart = { baseMs: 10, maxMs: 100, healthyMs: 0 };
  const { log, supervisor, process, serve, clock } = stage({ restart });
  await serve(1, "one");
  supervisor.reload();
  assert.equal(log.at(-1), "start 2");
  await serve(2, "two");
  process(2).ended("SIGSEGV");
  clock.advance(10);
  assert.equal(log.at(-1), "start 3 at two");
});

test("failures add up until a version has served long enough", async () => {
  const restart = { baseMs: 10, maxMs: 1000, healthyMs: Number.POSITIVE_INFINITY };
  const { process, serve, clock } = stage({ restart });
  const waits: number[] = [];
  for (let number = 1; number <= 3; number++) {
    await serve(number, "one");
    process(number).ended("exit code 1");
    const wait = Math.min(...clock.delays);
    waits.push(wait);
    clock.advance(wait);
  }
  assert.deepEqual(waits, [10, 20, 40]);
});

test("a second address of a version is ignored", async () => {
  const { log, serve } = stage();
  await serve(1, "one");
  await serve(1, "two");
  assert.deepEqual(log, ["start 1", "serving one"]);
});

test("while a new version starts, the death of the old one does not start a third", async () => {
  const restart = { baseMs: 10, maxMs: 100, healthyMs: 0 };
  const { log, supervisor, process, serve, clock } = stage({ restart });
  await serve(1, "one");
  supervisor.reload();
  process(1).ended("SIGKILL");
  clock.advance(100);
  await serve(2, "two");
  assert.deepEqual(log.slice(2), ["start 2", "died: the function ended by itself (SIGKILL)", "serving two"]);
});
