// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogFields } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { conflict, internalError } from "@purlin/kube-objects/errors";
import { noEngineMetrics } from "../metrics.ts";
import { Controller, type ControllerOptions, type Reconcile } from "./controller.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn();
}

function start(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const clock = manualClock();
  const logged: LogFields[] = [];
  const log = { debug() {}, info() {}, error: (_: string, fields: LogFields = {}) => void logged.push(fields) };
  const controller = new Controller({
    name: "test",
    reconcile,
    concurrency: 2,
    backoff: { baseMs: 1000, maxMs: 4000 },
    clock,
    log,
    metrics: noEngineMetrics.controller("test"),
    stopGraceMs: 10_000,
    ...options,
  });
  return { controller, clock, logged };
}

test("what a reconcile answers decides when it runs again", async () => {
  const rows = [
    { why: "an empty answer: when something changes", answer: async () => ({}), again: undefined },
    { why: "a time: then", answer: async () => ({ requeueAfterMs: 700 }), again: 700 },
    { why: "requeue: through the backoff", answer: async () => ({ requeue: true }), again: 1000 },
    { why: "a time wins over requeue", answer: async () => ({ requeue: true, requeueAfterMs: 300 }), again: 300 },
    { why: "a failure: through the backoff", answer: () => Promise.reject(new Error("boom")), again: 1000 },
    {
      why: "a failure before the first await is one like any other",
      answer: () => {
        throw new Error("boom");
      },
      again: 1000,
    },
    {
      why: "a conflict: quietly, and soon",
      answer: () =>
        Promise.reject(new Error("cannot x", { cause: conflict({ group: "", resource: "x" }, "a", "old") })),
      again: 20,
    },
  ];
  for (const { why, answer, again } of rows) {
    let runs = 0;
    const { controller, clock } = start(() => {
      runs++;
      return answer();
    });
    controller.enqueue({ name: "a" });
    await turns();
    assert.equal(runs, 1, why);
    if (again !== undefined) {
      clock.advance(again - 1);
      await turns();
      assert.equal(runs, 1, why);
      clock.advance(1);
      await turns();
      assert.equal(runs, 2, why);
    } else {
      clock.advance(1_000_000);
      await turns();
      assert.equal(runs, 1, why);
    }
    await controller.stop();
  }
});

test("failures are logged with controller and object, conflicts are not", async () => {
  const failures = [internalError("boom"), conflict({ group: "", resource: "widgets" }, "a", "old")];
  const { controller, logged } = start(() => Promise.reject(failures.shift()));
  controller.enqueue({ name: "a", namespace: "ns" });
  await turns();
  controller.enqueue({ name: "a", namespace: "ns" });
  await turns();
  assert.equal(failures.length, 0);
  assert.equal(logged.length, 1);
  assert.deepEqual(logged[0], {
    controller: "test",
    object: "ns/a",
    error: "Internal error occurred: boom",
  });
  await controller.stop();
});

test("a conflict that returns again and again is logged as a failure, and retried later and later", async () => {
  let runs = 0;
  const { controller, clock, logged } = start(() => {
    runs++;
    return Promise.reject(conflict({ group: "", resource: "widgets" }, "a", "the uid is wrong"));
  });
  controller.enqueue({ name: "a" });
  await turns();
  for (const [index, delay] of [20, 40, 80, 160, 320, 640, 1280].entries()) {
    assert.deepEqual([runs, logged.length], [index + 1, 0]);
    clock.advance(delay);
    await turns();
  }
  assert.deepEqual([runs, logged.length], [8, 1]);
  assert.match(String(logged[0]?.["error"]), /the uid is wrong/);
  clock.advance(2559);
  await turns();
  assert.equal(runs, 8);
  clock.advance(1);
  await turns();
  assert.deepEqual([runs, logged.length], [9, 2]);
  await controller.stop();
});

test("a success ends a row of failures", async () => {
  const answers = [{ requeue: true }, { requeue: true }, {}, { requeue: true }, {}];
  let runs = 0;
  const { controller, clock } = start(async () => answers[runs++] ?? {});
  controller.enqueue({ name: "a" });
  await turns();
  clock.advance(1000);
  await turns();
  clock.advance(2000);
  await turns();
  assert.equal(runs, 3);
  controller.enqueue({ name: "a" });
  await turns();
  clock.advance(1000);
  await turns();
  assert.equal(runs, 5, "the fourth answer waited a second, not four");
  await controller.stop();
});

test("no more run at once than allowed, and one key never twice", async () => {
  const running = new Map<string, () => void>();
  let most = 0;
  const { controller } = start(async ({ name }) => {
    assert.ok(!running.has(name));
    await new Promise<void>((resolve) => running.set(name, resolve));
    most = Math.max(most, running.size);
    running.delete(name);
    return {};
  });
  for (const name of ["a", "b", "c", "d"]) controller.enqueue({ name });
  await turns();
  assert.deepEqual([...running.keys()], ["a", "b"]);
  controller.enqueue({ name: "a" });
  await turns();
  for (let left = 5; left > 0; left--) {
    [...running.values()][0]?.();
    await turns();
  }
  assert.equal(most, 2);
  assert.equal(running.size, 0);
  await controller.stop();
});

test("many reconciles that wait for nothing leave the event loop its turns", async () => {
  let runs = 0;
  let perTurn = 0;
  const { controller } = start(
    async () => {
      runs++;
      perTurn++;
      return {};
    },
    { concurrency: 1000 },
  );
  for (let i = 0; i < 1000; i++) controller.enqueue({ name: String(i) });
  let most = 0;
  while (runs < 1000) {
    perTurn = 0;
    await turn();
    most = Math.max(most, perTurn);
  }
  assert.ok(most <= 32, `${most} in one turn`);
  await controller.stop();
});

test("stopping waits for what runs, begins nothing more, and loses patience", async () => {
  const begun: string[] = [];
  let seen: AbortSignal | undefined;
  const { controller, clock, logged } = start(async ({ name }, signal) => {
    begun.push(name);
    seen = signal;
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return {};
  });
  for (const name of ["a", "b", "c"]) controller.enqueue({ name });
  await turns();
  let stopped = false;
  const stopping = controller.stop().then(() => {
    stopped = true;
  });
  await turns();
  assert.deepEqual([begun, stopped, seen?.aborted], [["a", "b"], false, false]);
  clock.advance(10_000);
  await stopping;
  assert.match(String(seen?.reason), /controller "test" is stopping/);
  controller.enqueue({ name: "d" });
  await turns();
  assert.deepEqual([begun, logged], [["a", "b"], []], "a reconcile that the stop ends is not a failure");
});
