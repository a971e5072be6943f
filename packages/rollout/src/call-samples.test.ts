// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { FunctionRunner, FunctionTarget, RunCall } from "@purlin/function-runner";
import { createCallSamples, sampledRunner } from "./call-samples.ts";

const clock = { now: () => 1_000_000 };
const request = create(RunFunctionRequest, {});
const call: RunCall = { deadline: clock.now() + 1000 };
const target = (isRolledOut: boolean): FunctionTarget => ({
  functionName: "f",
  revisionName: "f-1",
  packageRef: "",
  endpoint: "memory",
  revision: 1,
  isRolledOut,
});

test("without a rollout a call is passed on as it is, and nothing is kept of it", async () => {
  const seen: unknown[] = [];
  const next: FunctionRunner = {
    async run(...args) {
      seen.push(...args);
      return create(RunFunctionResponse, {});
    },
  };
  const samples = createCallSamples(clock.now);
  const plain = target(false);
  await sampledRunner(next, samples, clock).run(plain, request, call);
  assert.ok(seen[0] === plain && seen[1] === request && seen[2] === call);
  assert.equal(samples.numbers(["f-1"], 0).calls, 0);
  await sampledRunner(next, samples, clock).run(target(true), request, call);
  assert.equal(samples.numbers(["f-1"], 0).calls, 1);
});

test("after the clock went back, calls from before that are not taken for calls of a later step", () => {
  let now = 5000;
  const samples = createCallSamples(() => now);
  const ok = { result: "ok", ms: 1, functionName: "f", composite: "x" } as const;
  samples.record("f-1", { ...ok, at: now });
  now = 1000;
  samples.record("f-1", { ...ok, at: now });
  assert.equal(samples.numbers(["f-1"], 500).calls, 1);
});

test("an answer of the cache is not a measure of the function's duration", async () => {
  const samples = createCallSamples(clock.now);
  const cached: FunctionRunner = {
    async run(_, __, { observer }) {
      observer?.cached();
      return create(RunFunctionResponse, {});
    },
  };
  await sampledRunner(cached, samples, clock).run(target(true), request, call);
  const { calls, p95Ms } = samples.numbers(["f-1"], 0);
  assert.deepEqual([calls, p95Ms], [1, undefined]);
});
