// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Condition, create, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import { longestMessage } from "@purlin/kube-objects/object";
import { isRunnerError, type RunTrace } from "../function-runner.ts";
import { limitPipelines, type RunStep } from "./function-resolver.ts";

const target = { functionName: "f", revisionName: "f-1", packageRef: "", endpoint: "memory", revision: 1 };
const request = create(RunFunctionRequest, {});

/** A step that answers with one condition, whose message has as many characters as the name of the step says. */
const answering: RunStep = async ({ step }) => {
  const condition = create(Condition, { type: "T", reason: "R", message: "x".repeat(Number(step)) });
  return { target, response: create(RunFunctionResponse, { conditions: [condition] }) };
};

/** The outcomes of the steps of one pipeline. */
async function pipeline(runStep: RunStep, steps: readonly number[], trace?: RunTrace): Promise<readonly string[]> {
  const outcomes: string[] = [];
  for (const step of steps) {
    const call = { deadline: Date.now() + 1000, trace };
    const outcome = runStep({ step: String(step), functionName: "f" }, request, call).then(
      () => "ok",
      (error: unknown) => `${isRunnerError(error) ? error.status : ""}: ${(error as Error).message}`,
    );
    outcomes.push(await outcome);
  }
  return outcomes;
}

const text = (step: number): string =>
  `ResourceExhausted: the conditions of all steps up to "${step}" have more than 100 characters (limit objectBytes=100): correct the function, or raise the limit with --function-limit`;

test("conditions of several steps together are as large as one object at most", async () => {
  const limited = limitPipelines(answering, { objectBytes: 100 });
  assert.deepEqual(
    await pipeline(limited, [31, 31, 32], { traceId: "a" }),
    ["ok", "ok", "ok"],
    "2 characters each are names",
  );
  assert.deepEqual(await pipeline(limited, [31, 31, 33], { traceId: "a" }), ["ok", "ok", text(33)], "another pipeline");
  assert.deepEqual(await pipeline(limited, [98], { traceId: "b" }), ["ok"]);
  assert.deepEqual(await pipeline(limited, [99], { traceId: "c" }), [text(99)], "type and reason count");
  assert.deepEqual(await pipeline(limited, [98, 98]), ["ok", "ok"], "without a trace there is no pipeline");
});

test("a message counts as it is stored, and the default limit holds unless another is given", async () => {
  const steps = Array.from({ length: 300 }, () => longestMessage * 2);
  const outcomes = await pipeline(limitPipelines(answering), steps, { traceId: "d" });
  const first = outcomes.findIndex((one) => one !== "ok");
  assert.equal(first, Math.floor((8 * 2 ** 20) / (longestMessage + 2)));
});
