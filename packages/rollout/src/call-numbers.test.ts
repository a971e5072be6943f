// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { create, RunFunctionRequest, RunFunctionResponse, Severity } from "@purlin/function-protocol";
import type { FunctionRunner, FunctionTarget } from "@purlin/function-runner";
import { createCallSamples, sampledRunner } from "./call-samples.ts";

const call = (at: number, more: object = {}) => ({
  at,
  result: "ok" as const,
  ms: 0,
  functionName: "f",
  composite: "x",
  ...more,
});

describe("numbers of calls", () => {
  test("are those of the revisions since a moment", () => {
    const samples = createCallSamples(() => 1000);
    for (const at of [100, 200, 300]) samples.record("f-1", call(at));
    samples.record("f-2", call(300, { result: "error" }));
    samples.record("f-3", call(300, { result: "fatal" }));
    assert.deepEqual(samples.numbers(["f-1"], 200), { calls: 2, errors: 0, fatals: 0, p95Ms: 0 });
    assert.deepEqual(samples.numbers(["f-1", "f-2", "f-3"], 0), { calls: 5, errors: 1, fatals: 1, p95Ms: 0 });
    assert.deepEqual(samples.numbers(["unknown"], 0), { calls: 0, errors: 0, fatals: 0, p95Ms: undefined });
  });

  test("do not have calls that began before", () => {
    const samples = createCallSamples(() => 1000);
    samples.record("f-1", call(300, { ms: 101 }));
    samples.record("f-1", call(300, { ms: 100 }));
    assert.equal(samples.numbers(["f-1"], 200).calls, 1);
  });

  test("have the duration that 95 of 100 calls do not exceed", () => {
    const p95 = (count: number): number | undefined => {
      const samples = createCallSamples(() => 1e9);
      for (let ms = count; ms >= 1; ms--) samples.record("f-1", call(1e6, { ms }));
      return samples.numbers(["f-1"], 0).p95Ms;
    };
    assert.deepEqual([p95(1), p95(2), p95(19), p95(20), p95(21), p95(100)], [1, 2, 19, 19, 20, 95]);
  });

  test("of calls that found no function count as errors", () => {
    const samples = createCallSamples(() => 700);
    samples.unresolved("f-2");
    assert.deepEqual(samples.numbers(["f-2"], 700), { calls: 1, errors: 1, fatals: 0, p95Ms: 0 });
  });

  test("are of the last 5000 calls at least, and less than 10000", () => {
    const samples = createCallSamples(() => 1e9);
    for (let at = 1; at <= 25_000; at++) samples.record("f-1", call(at));
    const { calls } = samples.numbers(["f-1"], 0);
    assert.ok(calls >= 5000 && calls < 10_000, String(calls));
    assert.equal(samples.numbers(["f-1"], 25_000).calls, 1);
  });

  test("are of the last 64 revisions", () => {
    const samples = createCallSamples(() => 1000);
    for (let number = 1; number <= 65; number++) {
      samples.record(`f-${number}`, call(1));
      samples.record("f-1", call(1));
    }
    assert.equal(samples.numbers(["f-2"], 0).calls, 0);
    assert.equal(samples.numbers(["f-3"], 0).calls, 1);
    assert.equal(samples.numbers(["f-1"], 0).calls, 66);
  });
});

describe("the revision that last ran for a composite resource", () => {
  test("is that of the last call that had a response", () => {
    const samples = createCallSamples(() => 1000);
    samples.record("f-1", call(1));
    samples.record("f-2", call(2, { result: "error" }));
    assert.equal(samples.lastRevision("f", "x"), "f-1");
    samples.record("f-2", call(3, { result: "fatal" }));
    assert.equal(samples.lastRevision("f", "x"), "f-2");
    assert.equal(samples.lastRevision("g", "x"), undefined);
    assert.equal(samples.lastRevision("f", "y"), undefined);
  });
});

describe("a runner", () => {
  const target: FunctionTarget = {
    functionName: "f",
    revisionName: "f-1",
    packageRef: "",
    endpoint: "memory",
    revision: 1,
    isRolledOut: true,
  };
  const clock = { now: () => 1_000_000 };
  const run = async (next: FunctionRunner["run"]) => {
    const samples = createCallSamples(clock.now);
    const outcome = await sampledRunner({ run: next }, samples, clock)
      .run(target, create(RunFunctionRequest, {}), { deadline: clock.now() + 1000 })
      .then(
        () => "ok",
        (error: unknown) => (error as Error).message,
      );
    const { calls, errors, fatals } = samples.numbers(["f-1"], 0);
    return { outcome, numbers: [calls, errors, fatals] };
  };
  const severity = (one: Severity) => async () =>
    create(RunFunctionResponse, { results: [{ severity: one, message: "m" }] });

  test("fatal results, other results and errors are counted apart", async () => {
    assert.deepEqual((await run(severity(Severity.SEVERITY_WARNING))).numbers, [1, 0, 0]);
    assert.deepEqual((await run(severity(Severity.SEVERITY_FATAL))).numbers, [1, 0, 1]);
    const failed = await run(() => Promise.reject(new Error("unreachable")));
    assert.deepEqual([failed.outcome, failed.numbers], ["unreachable", [1, 1, 0]]);
  });
});
