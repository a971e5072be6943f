// SPDX-License-Identifier: Apache-2.0
import type { RunFunctionResponse } from "@purlin/function-protocol";
import { longestMessage } from "@purlin/kube-objects/object";
import { type AnswerLimits, defaultAnswerLimits, limitAdvice, limitText } from "../answer/answer-limits.ts";
import type { RunTrace } from "../function-runner.ts";
import { RunnerError } from "../runner-error.ts";
import type { RunStep } from "./function-resolver.ts";

/**
 * Runs steps whose conditions together are as large as one object at most: those of all steps of a pipeline are stored in one. What one
 * answer may hold is checked when it is read.
 */
export function limitPipelines(runStep: RunStep, limits: Partial<AnswerLimits> = {}): RunStep {
  const all = { ...defaultAnswerLimits, ...limits };
  /** The characters of the conditions so far; there is one trace for each run of a pipeline. */
  const characters = new WeakMap<RunTrace, number>();
  return async (reference, request, call) => {
    const run = await runStep(reference, request, call);
    const size = conditionsSize(run.response);
    if (call.trace === undefined || size === 0) return run;
    const total = size + (characters.get(call.trace) ?? 0);
    characters.set(call.trace, total);
    if (total <= all.objectBytes) return run;
    const finding = `the conditions of all steps up to "${reference.step}" have more than ${all.objectBytes} characters`;
    const text = `${finding} ${limitText("objectBytes", all)}: ${limitAdvice}`;
    throw new RunnerError("RPC", text, { status: "ResourceExhausted" });
  };
}

/** A longer message is cut when it is stored. */
function conditionsSize({ conditions }: RunFunctionResponse): number {
  return conditions.reduce(
    (sum, { type, reason, message = "" }) =>
      sum + type.length + reason.length + Math.min(message.length, longestMessage),
    0,
  );
}
